internal import FailureArtifactsSystem

/// Which bundles stay and which go.
///
/// The newest stay: the longest row of them, from the last one on, that is within the limits. A bundle whose stores
/// are in another one, see ``SharedStores``, stays with that, which counts too, however old it is.
struct PrunePlan {
    private(set) var kept: [PruneCandidate] = []
    /// The oldest first.
    private(set) var removed: [PruneCandidate] = []
    /// Whether the newest bundle alone is within the limits, but is not with those that hold its stores.
    private(set) var isOverLimits = false

    /// - Parameters:
    ///   - candidates: All bundles there are.
    ///   - limits: What may stay.
    ///   - now: In milliseconds since 1970.
    init(_ candidates: [PruneCandidate], within limits: PruneLimits, now: Int64) {
        // Of one date the last by name counts as the newest, whatever the order of the directory.
        let bundles = candidates.sorted { ($0.date, $0.path) > ($1.date, $1.path) }
        var places: [String: Int] = [:]
        for (place, bundle) in bundles.enumerated() { places[bundle.path] = place }
        let start = limits.start(at: now)
        var stays = [Bool](repeating: false, count: bundles.count)
        var (count, bytes) = (0, UInt64(0))
        for place in bundles.indices where !stays[place] {
            guard bundles[place].date >= start else { break }
            let group = Self.group(of: place, bundles, places) { stays[$0] }
            let groupBytes = group.reduce(bytes) { sum, place in
                let (sum, overflow) = sum.addingReportingOverflow(bundles[place].bytes)
                return overflow ? .max : sum
            }
            if !limits.allow(bundles: count + group.count, bytes: groupBytes) {
                // What failed last is not given up for the sake of how it is stored.
                guard count == 0, limits.allow(bundles: 1, bytes: bundles[place].bytes) else { break }
                isOverLimits = true
            }
            for place in group { stays[place] = true }
            (count, bytes) = (count + group.count, groupBytes)
        }
        for place in bundles.indices.reversed() {
            if stays[place] { kept.append(bundles[place]) } else { removed.append(bundles[place]) }
        }
    }

    /// A bundle and all that it needs, without those that stay anyway.
    private static func group(
        of place: Int, _ bundles: [PruneCandidate], _ places: [String: Int], stays: (Int) -> Bool
    ) -> [Int] {
        var group = [place]
        var seen: Set<Int> = [place]
        var next = 0
        while next < group.count {
            let bundle = bundles[group[next]]
            next += 1
            for name in bundle.holders {
                guard let holder = places[Path.join(bundle.directory, name)], !stays(holder),
                    seen.insert(holder).inserted
                else { continue }
                group.append(holder)
            }
        }
        return group
    }
}
