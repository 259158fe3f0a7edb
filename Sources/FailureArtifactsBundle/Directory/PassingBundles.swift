internal import FailureArtifactsSystem

// Bundles of tests that passed, in the directory that they share with those of failures.

extension BundleMetadata.Outcome {
    /// What the names of its bundles say besides the test; nil where they say nothing.
    var nameSuffix: String? { self == .passed ? Self.passed.rawValue : nil }
}

extension BundleName {
    /// What a bundle's name ends in: a dash, eight hexadecimal digits and `.zip`.
    private static let randomCount = 13

    /// What the names of all bundles of a test begin with, up to the dash before the random part.
    static func stem(of test: BundleMetadata.Test, suffix: String? = nil) -> String {
        String(BundleName(test: test, suffix: suffix).description.dropLast(randomCount))
    }

    /// Whether a name is that of a bundle with that stem, which may be in other bytes on the disk.
    static func isName(_ name: String, with stem: String) -> Bool {
        name.count == stem.count + randomCount && name.hasPrefix(stem + "-") && name.hasSuffix(".zip")
    }

    /// Whether a bundle's name says that the test passed.
    static func isOfPassingTest(_ name: String) -> Bool {
        name.hasSuffix(".zip")
            && name.dropLast(randomCount).hasSuffix("-\(BundleMetadata.Outcome.passed.rawValue)")
    }
}

extension ArtifactsDirectory {
    /// What a bundle of a test that passes may take, in bytes; nil where there is to be none.
    ///
    /// All bundles of such tests together take half of the directory at most, so that there is room for failures,
    /// and none takes more than what is left.
    ///
    /// - Parameter limits: What the directory may hold.
    /// - Returns: The room; all there may be where there is no such directory yet.
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
