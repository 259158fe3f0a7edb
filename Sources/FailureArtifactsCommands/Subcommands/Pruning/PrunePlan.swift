internal import FailureArtifactsSystem

/// Divides bundles into those that stay and those that go.
///
/// The newest stay, as many as are within the limits.
struct PrunePlan {
    private(set) var kept: [PruneCandidate] = []
    /// The oldest first.
    private(set) var removed: [PruneCandidate] = []

    /// - Parameters:
    ///   - candidates: All bundles there are.
    ///   - limits: What may stay.
    ///   - now: In milliseconds since 1970.
    init(_ candidates: [PruneCandidate], within limits: PruneLimits, now: Int64) {
        // Of one date the last by name counts as the newest, whatever the order of the directory.
        let bundles = candidates.sorted { ($0.date, $0.path) < ($1.date, $1.path) }
        let start = limits.start(at: now)
        var (count, bytes) = (0, UInt64(0))
        for bundle in bundles.reversed() {
            let (sum, overflow) = bytes.addingReportingOverflow(bundle.bytes)
            (count, bytes) = (count + 1, overflow ? .max : sum)
            guard bundle.date >= start, limits.allow(bundles: count, bytes: bytes) else {
                count -= 1
                break
            }
        }
        kept = bundles.suffix(count)
        removed = bundles.dropLast(count)
    }
}
