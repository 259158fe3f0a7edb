internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The bytes and the processor time that are left for the tables of one cause.
///
/// It is an object, because all functions that read a part share it. Only one thread uses it.
final class ReadingBudget {
    let limits: ReportLimits
    /// The bytes of values that are left.
    var bytes: Int
    private let end: Instant

    init(_ limits: ReportLimits, bytes: Int) {
        self.limits = limits
        self.bytes = bytes
        end = Instant.threadTime.advanced(bySeconds: limits.seconds)
    }

    /// The limits of a store; the parts that are missing when the time is up are noted.
    var store: UntrustedLimits {
        var limits = UntrustedLimits.standard
        limits.seconds = Instant.threadTime.seconds(until: end)
        return limits
    }
}
