package import FailureArtifactsBundle

/// The root directory of the package that a test belongs to.
///
/// Paths below it are shown relative to it.
package struct PackageRoot: Sendable {
    /// The path, with a slash at its end; nil if it is unknown or ambiguous.
    private let path: String?

    /// Reads the root that a bundle records.
    ///
    /// Bundles of earlier versions record none. It follows from a source file that a failure names by its absolute path,
    /// and a statement by its path in the package.
    ///
    /// - Parameters:
    ///   - metadata: The bundle's metadata.
    ///   - sources: The lines of the package's own sources that ran statements, as far as they are known.
    package init(_ metadata: BundleMetadata, sources: some Sequence<StatementRecord.Source> = []) {
        if let root = metadata.packageRoot, !root.isEmpty {
            path = root.hasSuffix("/") ? root : root + "/"
            return
        }
        let known = Set(sources.lazy.filter(\.isInPackage).map { "/" + $0.file })
        var roots: Set<String> = []
        for file in Set(metadata.failures.compactMap(\.file)) {
            for name in known where file.hasSuffix(name) {
                roots.insert(String(file.dropLast(name.count - 1)))
            }
        }
        path = roots.count == 1 ? roots.first : nil
    }

    /// Returns the path of a file relative to the root; the unchanged path if the package doesn't have the file.
    package func relativePath(of file: String) -> String {
        guard let path, file.hasPrefix(path) else { return file }
        let below = String(file.dropFirst(path.count))
        // Dependencies and generated code are no sources of the package.
        return below.hasPrefix(".build/") ? file : below
    }
}
