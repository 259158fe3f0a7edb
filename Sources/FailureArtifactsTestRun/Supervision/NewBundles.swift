package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The bundles that a run adds to a directory.
package struct NewBundles {
    /// The maximum number of bundles whose metadata is read.
    private static let limit = 5000

    /// The identifier of the run, which its bundles have in their metadata.
    package let run: String
    private let directory: String
    private let before: Set<String>

    /// Records the bundles that exist now, and gives the run an identifier.
    ///
    /// - `directory`: the artifacts directory; it need not exist.
    /// - `outer`: the identifier of the run that has started this one; nil without one.
    package init(in directory: String, within outer: String? = nil) {
        let number = String(UInt64.random(in: 0 ... .max), radix: 16)
        run = outer.map { "\($0).\(number)" } ?? number
        self.directory = directory
        before = Set(Self.names(in: directory))
    }

    /// Returns true if the run, or another one that it has started, made a bundle. Other processes may use the same
    /// directory at the same time.
    private func isOwn(_ bundle: (path: String, metadata: BundleMetadata?)) -> Bool {
        guard let other = bundle.metadata?.environment.run else { return false }
        return other == run || other.hasPrefix(run + ".")
    }

    /// Returns the bundles that were added, except for those of other runs. A process that doesn't know its run, such
    /// as one in a container, may belong to it.
    package func bundles(and others: [String] = []) -> [(path: String, metadata: BundleMetadata?)] {
        var paths = Self.names(in: directory).filter { !before.contains($0) }
            .map { Path.join(directory, $0) }
        for path in others where !paths.contains(path) { paths.append(path) }
        let bundles = paths.enumerated().map { index, path in
            let location = BundleLocation(path: path)
            let bundle = index < Self.limit ? try? BundleReader(location, scratchDirectory: "") : nil
            return (path: path, metadata: bundle?.metadata)
        }.filter { $0.metadata?.environment.run == nil || isOwn($0) || others.contains($0.path) }
        // Sort by time in UTC. Bundles without metadata come last.
        func pointInTime(_ metadata: BundleMetadata?) -> String {
            metadata.map { $0.failures.first?.at ?? $0.capture.at } ?? "~"
        }
        return bundles.sorted { left, right in
            (pointInTime(left.metadata), left.path) < (pointInTime(right.metadata), right.path)
        }
    }

    private static func names(in directory: String) -> [String] {
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.filter { $0.hasSuffix(".zip") && !$0.hasPrefix(".") }
    }
}
