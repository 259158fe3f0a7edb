internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Removes the bundles that a plan has no place for.
struct Pruning {
    /// How many go while others wait.
    private static let step = 64

    private let limits: ZipLimits
    /// The paths of those that are not there any more: removed here, or by somebody else.
    private(set) var removed: Set<String> = []
    private(set) var gone: Set<String> = []
    /// Why others are there still, as full sentences.
    private(set) var warnings: [String] = []
    private(set) var errors: [String] = []

    /// - Parameters:
    ///   - plan: What goes.
    ///   - limits: How much is read of bundles that come meanwhile.
    init(_ plan: PrunePlan, limits: ZipLimits) {
        self.limits = limits
        let kept = Dictionary(grouping: plan.kept, by: \.directory)
        for (directory, bundles) in Dictionary(grouping: plan.removed, by: \.directory).sorted(by: {
            $0.key < $1.key
        }) {
            remove(bundles, beside: kept[directory] ?? [], in: ArtifactsDirectory(path: directory))
        }
    }

    /// Removes bundles of one directory, each before those that hold its stores: what can't be removed, or isn't
    /// because the process ends, stays whole.
    private mutating func remove(
        _ bundles: [PruneCandidate], beside kept: [PruneCandidate], in directory: ArtifactsDirectory
    ) {
        var present = (kept + bundles).reduce(into: [:]) { $0[$1.name] = $1.holders }
        let known = Set(present.keys)
        var pending = bundles
        while !pending.isEmpty {
            let needed = present.values.reduce(into: Set<String>()) { $0.formUnion($1) }
            var ready = pending.filter { !needed.contains($0.name) }
            if ready.isEmpty {
                // They refer to each other, or somebody else's to them.
                let others = Set(present.keys).subtracting(pending.map(\.name))
                let kept = Self.closure(of: others, present)
                ready = pending.filter { !kept.contains($0.name) }
                if ready.isEmpty { break }
            }
            let handled = Set(ready.map(\.name))
            pending.removeAll { handled.contains($0.name) }
            for start in stride(from: 0, to: ready.count, by: Self.step) {
                let part = Array(ready[start..<min(start + Self.step, ready.count)])
                for name in remove(part, known: known, in: directory) { present[name] = nil }
            }
        }
        directory.removeStaleNotes()
    }

    /// Removes some at once; gives the names of those that are not there any more.
    private mutating func remove(
        _ bundles: [PruneCandidate], known: Set<String>, in directory: ArtifactsDirectory
    ) -> [String] {
        let results: [ArtifactsDirectory.Removal]
        do throws(SystemError) {
            let limits = limits
            results = try directory.removeBundles(bundles.map(\.file)) { names in
                PruneScan.holders(
                    of: names.filter { !known.contains($0) }, in: directory.path, limits: limits)
            }
        } catch {
            results = bundles.map { _ in .failed(error) }
        }
        var names: [String] = []
        for (bundle, result) in zip(bundles, results) {
            switch result {
            case .removed:
                names.append(bundle.name)
                removed.insert(bundle.path)
            case .gone:
                names.append(bundle.name)
                gone.insert(bundle.path)
            case .inUse:
                warnings.append("'\(bundle.path)' stays: whoever makes it is not done with it.")
            case .needed:
                warnings.append(
                    "'\(bundle.path)' stays: it holds stores of a bundle that has come meanwhile.")
            case .failed(let error):
                errors.append("'\(bundle.path)' is not removed: \(error).")
            }
        }
        return names
    }

    /// Some bundles and all that they need.
    private static func closure(
        of names: Set<String>, _ holders: [String: Set<String>]
    ) -> Set<String> {
        var (all, rest) = (names, Array(names))
        while let name = rest.popLast() {
            for holder in holders[name] ?? [] where all.insert(holder).inserted { rest.append(holder) }
        }
        return all
    }
}
