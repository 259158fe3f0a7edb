package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The bundles that have come to a directory since a moment.
package struct NewBundles {
    /// Of so many bundles at most the descriptions are read.
    private static let limit = 5000

    private let directory: String
    private let before: Set<String>

    /// Remembers what is there now.
    ///
    /// - Parameter directory: Need not exist.
    package init(in directory: String) {
        self.directory = directory
        before = Set(Self.names(in: directory))
    }

    /// What is there now and was not.
    ///
    /// - Parameter others: Further paths of new bundles.
    /// - Returns: In the order of the tests' failures; without a description where it cannot be read.
    package func bundles(and others: [String] = []) -> [(path: String, metadata: BundleMetadata?)] {
        var paths = Self.names(in: directory).filter { !before.contains($0) }
            .map { Path.join(directory, $0) }
        for path in others where !paths.contains(path) { paths.append(path) }
        let bundles = paths.enumerated().map { index, path in
            let location = BundleLocation(path: path)
            let bundle = index < Self.limit ? try? BundleReader(location, scratchDirectory: "") : nil
            return (path: path, metadata: bundle?.metadata)
        }
        // By the time in UTC; what cannot be read comes last.
        func pointInTime(_ metadata: BundleMetadata?) -> String {
            metadata.map { $0.failures.first?.at ?? $0.capture.at } ?? "~"
        }
        return bundles.sorted { left, right in
            (pointInTime(left.metadata), left.path) < (pointInTime(right.metadata), right.path)
        }
    }

    /// The earlier attempts of tests that have passed now: bundles of failures that were there before.
    ///
    /// - Parameter bundles: What has come.
    /// - Returns: Their paths; none where no test that passed has left a bundle.
    package func earlierAttempts(of bundles: [(path: String, metadata: BundleMetadata?)]) -> [String] {
        func test(_ metadata: BundleMetadata) -> BundleMetadata.Test {
            var test = metadata.test
            test.attempt = 1
            return test
        }
        let passed = bundles.compactMap(\.metadata).filter { $0.outcome == .passed }
        guard !passed.isEmpty else { return [] }
        let tests = Set(passed.map(test))
        return before.sorted().prefix(Self.limit).map { Path.join(directory, $0) }.filter { path in
            let bundle = try? BundleReader(BundleLocation(path: path), scratchDirectory: "")
            return bundle.map { $0.metadata.outcome != .passed && tests.contains(test($0.metadata)) }
                ?? false
        }
    }

    private static func names(in directory: String) -> [String] {
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.filter { $0.hasSuffix(".zip") && !$0.hasPrefix(".") }
    }
}
