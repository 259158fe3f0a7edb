internal import FailureArtifactsBundle
internal import FailureArtifactsReading
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
    /// - `now`: the current time, in milliseconds since 1970.
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

/// Removes the bundles that a plan doesn't keep.
struct BundleRemoval {
    /// The maximum number of bundles that are removed while other processes wait.
    private static let step = 64

    /// The paths of the removed bundles.
    private(set) var removed: Set<String> = []
    /// The paths of bundles that another process removed or replaced.
    private(set) var gone: Set<String> = []
    /// Full sentences about bundles that are kept for now.
    private(set) var warnings: [String] = []
    /// Full sentences about bundles that couldn't be removed.
    private(set) var errors: [String] = []

    init(_ plan: PrunePlan) {
        let directories = Dictionary(grouping: plan.removed, by: \.directory)
        for (directory, bundles) in directories.sorted(by: { $0.key < $1.key }) {
            for start in stride(from: 0, to: bundles.count, by: Self.step) {
                let part = Array(bundles[start..<min(start + Self.step, bundles.count)])
                remove(part, in: ArtifactsDirectory(path: directory))
            }
        }
    }

    private mutating func remove(_ bundles: [PruneCandidate], in directory: ArtifactsDirectory) {
        let results: [ArtifactsDirectory.Removal]
        do throws(SystemError) {
            results = try directory.removeBundles(bundles.map(\.file))
        } catch {
            results = bundles.map { _ in .failed(error) }
        }
        for (bundle, result) in zip(bundles, results) {
            switch result {
            case .removed: removed.insert(bundle.path)
            case .gone: gone.insert(bundle.path)
            case .inUse:
                warnings.append("'\(bundle.path)' stays: the process that made it is not done with it.")
            case .failed(let error):
                errors.append("'\(bundle.path)' is not removed: \(error).")
            }
        }
    }
}
