internal import FailureArtifactsSystem

// Bundles of tests that passed, in the same directory as those of failures.

extension BundleMetadata.Outcome {
    /// The suffix in the names of its bundles; nil if they have none.
    var nameSuffix: String? { self == .passed ? Self.passed.rawValue : nil }
}

extension ArtifactsDirectory {
    /// Computes the greatest size of a passing test's bundle.
    ///
    /// All bundles of such tests together take half of the directory at most, so that there is room for failures.
    ///
    /// - Parameter limits: What the directory may hold.
    /// - Returns: The size in bytes; nil if there is no room.
    package func roomForPassingTest(within limits: DirectoryLimits) -> UInt64? {
        var (all, passing) = (DirectoryUsage(), DirectoryUsage())
        for name in bundleNames {
            guard let size = FileSystem.regularFile(Path.join(path, name))?.size else { continue }
            all.add(bundle: size)
            if BundleName.isOfPassingTest(name) { passing.add(bundle: size) }
        }
        guard all.bundles < limits.bundles, passing.bundles < limits.bundles - limits.bundles / 2
        else { return nil }
        let room = min(
            limits.totalBytes - min(all.bytes, limits.totalBytes),
            limits.totalBytes / 2 - min(passing.bytes, limits.totalBytes / 2))
        return room > 0 ? room : nil
    }

    /// The bundles that may be of a test, by their names: those of its other arguments are among them.
    ///
    /// - Parameter test: The test, of whatever attempt.
    /// - Returns: The paths.
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
