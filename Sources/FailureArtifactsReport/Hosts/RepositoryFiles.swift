internal import FailureArtifactsSystem

/// The source files of a checkout, for the paths that a code host expects.
///
/// Tests name files by absolute paths, statements by paths relative to their package, and fatal errors by the module
/// and the file's name (`#fileID`). A package may be in a subdirectory of its repository.
package struct RepositoryFiles {
    /// The checkout's directory, with a slash at its end; nil if it is unknown.
    private let root: String?
    /// The directories that may have a package.
    private let packages: [String]

    package init(root: String?, package: String? = nil) {
        let root = root.flatMap { $0.isEmpty ? nil : $0.hasSuffix("/") ? $0 : $0 + "/" }
        self.root = root
        var packages = [package, root].compactMap(\.self)
        // The directories between both, such as for a command that runs in a directory of the package.
        if let package, let root, package.hasPrefix(root) {
            var directory = Path.directory(of: package)
            while directory.utf8.count >= root.utf8.count {
                packages.append(directory)
                directory = Path.directory(of: directory)
            }
        }
        self.packages = packages
    }

    /// Returns the path of a file in the repository; nil if an absolute path is outside of it, or if no package has the
    /// file.
    package func path(of file: String) -> String? {
        guard let root, file != "<EXPR>" else { return nil }
        if file.hasPrefix("/") { return below(root, file) }
        for package in packages {
            let place = Path.join(package, file)
            if exists(place) { return below(root, place) }
        }
        let parts = file.split(separator: "/")
        guard parts.count == 2, parts[1].hasSuffix(".swift") else { return nil }
        for package in packages {
            for folder in ["Sources", "Tests"] {
                let target = Path.join(package, folder + "/" + parts[0])
                let found = Self.files(named: String(parts[1]), below: target)
                // A file's name is unique in its module.
                if found.count == 1 { return below(root, found[0]) }
            }
        }
        return nil
    }

    private func below(_ root: String, _ path: String) -> String? {
        guard path.hasPrefix(root) else { return nil }
        let path = String(path.dropFirst(root.count))
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.contains { $0.isEmpty || $0 == "." || $0 == ".." } ? nil : path
    }

    private func exists(_ path: String) -> Bool { FileSystem.regularFile(path) != nil }

    /// The maximum number of files and directories of a target to look at.
    private static let searchLimit = 5000

    private static func files(named name: String, below directory: String) -> [String] {
        var found: [String] = []
        var directories = [directory]
        var count = 0
        while let directory = directories.popLast(), count < searchLimit {
            for entry in (try? FileSystem.contents(ofDirectory: directory)) ?? [] {
                count += 1
                let path = directory + "/" + entry
                guard let status = try? FileSystem.statusWithoutFollowing(path) else { continue }
                if status.kind == .directory {
                    directories.append(path)
                } else if entry == name {
                    found.append(path)
                }
            }
        }
        return found
    }
}
