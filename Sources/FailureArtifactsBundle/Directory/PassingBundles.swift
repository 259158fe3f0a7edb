internal import FailureArtifactsSystem

// Bundles of tests that passed, in the same directory as those of failures.

extension BundleMetadata.Outcome {
    /// The suffix in the names of bundles with this outcome; nil for no suffix.
    var nameSuffix: String? { self == .passed ? Self.passed.rawValue : nil }
}

extension ArtifactsDirectory {
    /// Computes the maximum size of a passing test's bundle, in bytes; nil if there is no space left.
    ///
    /// All bundles of passing tests together take at most half of the directory, so that space is left for failures.
    package func roomForPassingTest(within limits: DirectoryLimits) -> UInt64? {
        guard let all = try? DirectoryUsage(of: path),
            let passing = try? DirectoryUsage(of: path, where: BundleName.isOfPassingTest),
            all.bundles < limits.bundles, passing.bundles < limits.bundles / 2
        else { return nil }
        let room = min(
            limits.totalBytes - min(all.bytes, limits.totalBytes),
            limits.totalBytes / 2 - min(passing.bytes, limits.totalBytes / 2))
        return room > 0 ? room : nil
    }

    /// Finds the bundles that may belong to a test, in any attempt, by their names.
    ///
    /// Bundles of the same test with other arguments are included.
    package func bundlePaths(of test: BundleMetadata.Test) -> [String] {
        let stems = [nil, BundleMetadata.Outcome.passed.rawValue].map {
            BundleName.stem(of: test, suffix: $0)
        }
        return bundleNames.filter { name in stems.contains { BundleName.isName(name, with: $0) } }
            .map { Path.join(path, $0) }
    }

    private var bundleNames: [String] {
        ((try? FileSystem.contents(ofDirectory: path)) ?? []).filter { $0.hasSuffix(".zip") }
    }
}
