package import FailureArtifactsBundle

/// The root directory of the package that a test belongs to; paths below it are shown relative to it.
package struct PackageRoot: Sendable {
    /// The path, with a slash at its end; nil if it is unknown.
    private let path: String?

    package init(_ metadata: BundleMetadata) {
        path = metadata.packageRoot.flatMap { root in
            root.isEmpty ? nil : root.hasSuffix("/") ? root : root + "/"
        }
    }

    /// Returns the path of a file relative to the root; the unchanged path if the package doesn't have the file.
    package func relativePath(of file: String) -> String {
        guard let path, file.hasPrefix(path) else { return file }
        let below = String(file.dropFirst(path.count))
        // Dependencies and generated code are no sources of the package.
        return below.hasPrefix(".build/") ? file : below
    }
}
