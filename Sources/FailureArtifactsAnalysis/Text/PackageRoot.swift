internal import FailureArtifactsBundle

/// The root directory of the package that a test belongs to.
///
/// A bundle doesn't record it. It follows from a source file that a failure names by its absolute path, and a
/// statement by its path in the package.
package struct PackageRoot: Sendable {
    /// The path, with a slash at its end; nil if it is unknown or ambiguous.
    private let path: String?

    /// Derives the root from a bundle's paths.
    ///
    /// - Parameters:
    ///   - files: The source files of the failures.
    ///   - sources: The lines of the package's own sources that ran statements.
    init(files: some Sequence<String>, sources: some Sequence<StatementRecord.Source>) {
        let known = Set(sources.lazy.filter(\.isInPackage).map { "/" + $0.file })
        var roots: Set<String> = []
        for file in Set(files) {
            for name in known where file.hasSuffix(name) {
                roots.insert(String(file.dropLast(name.count - 1)))
            }
        }
        path = roots.count == 1 ? roots.first : nil
    }

    /// Returns the path of a source file relative to the root; the unchanged path if the package doesn't have the file.
    func relativePath(of file: String) -> String {
        guard let path, file.hasPrefix(path) else { return file }
        let below = String(file.dropFirst(path.count))
        // Dependencies and generated code are no sources of the package.
        return below.hasPrefix(".build/") ? file : below
    }
}
