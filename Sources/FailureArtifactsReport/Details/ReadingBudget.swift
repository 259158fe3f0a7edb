internal import FailureArtifactsSystem

/// The bytes and the time that are left for the tables of one cause.
///
/// It is an object, because all functions that read a part share it. Only one thread uses it.
final class ReadingBudget {
    let limits: ReportLimits
    /// The bytes of values that are left.
    var bytes: Int
    /// The time at which reading stops; the parts that are missing then are noted.
    var deadline: Instant

    init(_ limits: ReportLimits, bytes: Int) {
        self.limits = limits
        self.bytes = bytes
        deadline = Instant.now.advanced(bySeconds: limits.seconds)
    }
}
