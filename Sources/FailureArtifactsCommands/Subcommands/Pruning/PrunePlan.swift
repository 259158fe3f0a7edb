internal import FailureArtifactsSystem

/// Divides bundles into those to keep and those to remove.
///
/// Keeps as many of the newest bundles as the limits allow.
struct PrunePlan {
    private(set) var kept: [PruneCandidate] = []
    /// The bundles to remove, oldest first.
    private(set) var removed: [PruneCandidate] = []

    /// Creates a plan.
    ///
    /// - Parameters:
    ///   - candidates: All bundles in the directory.
    ///   - limits: The limits on kept bundles.
    ///   - now: The current time, in milliseconds since 1970.
    init(_ candidates: [PruneCandidate], within limits: PruneLimits, now: Int64) {
        // Sorting by path too makes the result independent of the directory's order. The last path counts as the
        // newest.
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
