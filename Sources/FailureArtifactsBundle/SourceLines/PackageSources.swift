internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

/// The source files of a package, without those of its dependencies.
package struct PackageSources {
    /// The absolute path of the directory with `Package.swift`.
    let root: String
    /// The results for the files that were asked for.
    private var known: [String: String?] = [:]

    /// Finds the package around a directory; nil if neither it nor a directory above it has a `Package.swift`.
    init?(around path: String) {
        guard let root = Self.root(around: path) else { return nil }
        self.root = root
    }

    /// Finds the package of a test, whose process has a working directory; nil if the test isn't in one.
    ///
    /// It is the package around the working directory, unless the failure is in another one that is no dependency.
    init?(ofFailureIn file: String?, workingDirectory directory: String) {
        var package = PackageSources(around: directory)
        if let file, package?.relativePath(of: file) == nil, !file.contains("/.build/"),
            let other = PackageSources(around: Path.directory(of: file))
        {
            package = other
        }
        guard let package else { return nil }
        self = package
    }

    /// Returns the root of a test's package, with the spelling of the failure's file; nil if the test isn't in one.
    package static func root(ofFailureIn file: String?, workingDirectory: String) -> String? {
        guard var package = Self(ofFailureIn: file, workingDirectory: workingDirectory) else {
            return nil
        }
        // The compiler may have been given a path with symbolic links.
        guard let file, let path = package.relativePath(of: file), file.hasSuffix("/" + path) else {
            return package.root
        }
        let root = file.dropLast(path.count + 1)
        return root.isEmpty ? "/" : String(root)
    }

    /// Returns the directory with `Package.swift` among an absolute path and those above it; nil without one.
    package static func root(around path: String) -> String? {
        guard path.hasPrefix("/") else { return nil }
        if FileSystem.regularFile(Path.join(path, "Package.swift")) != nil { return path }
        return path == "/" ? nil : root(around: Path.directory(of: path))
    }

    /// Returns the path of a file relative to the root; nil for a file that isn't one of the package's own sources.
    mutating func relativePath(of file: String) -> String? {
        if let known = known[file] { return known }
        // The compiler may have been given a path with symbolic links.
        let path = below(file) ?? FileSystem.realPath(of: file).flatMap(below)
        known[file] = .some(path)
        return path
    }

    private func below(_ file: String) -> String? {
        let prefix = root == "/" ? root : root + "/"
        guard file.hasPrefix(prefix), Self.root(around: Path.directory(of: file)) == root else {
            return nil
        }
        let path = String(file.dropFirst(prefix.count))
        // Generated code, copies of dependencies, and this product.
        let others = [".build/", "Sources/FailureArtifacts", "Sources/CFailureArtifacts"]
        return others.contains { path.hasPrefix($0) } ? nil : path
    }
}
