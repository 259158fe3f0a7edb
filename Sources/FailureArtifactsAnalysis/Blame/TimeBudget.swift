internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The processor time that remains for work on all states of a store.
struct TimeBudget {
    private let limits: UntrustedLimits
    private let end: Instant?

    init(_ limits: UntrustedLimits) {
        self.limits = limits
        end = limits.seconds.map { Instant.processorTime.advanced(bySeconds: $0) }
    }

    var isUsedUp: Bool { end.map { Instant.processorTime > $0 } ?? false }

    func remaining() -> UntrustedLimits {
        var limits = limits
        limits.seconds = end.map { Instant.processorTime.seconds(until: $0) }
        return limits
    }
}
