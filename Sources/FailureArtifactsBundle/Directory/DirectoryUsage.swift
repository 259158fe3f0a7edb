package import FailureArtifactsSystem

/// The bundles in an artifacts directory.
package struct DirectoryUsage: Sendable {
    private struct BundleFile {
        let path: String
        let status: FileStatus
    }

    /// Oldest first.
    private var files: [BundleFile] = []

    package var bundles: Int { files.count }
    /// The total size of the bundle files, in bytes.
    package var bytes: UInt64 { files.reduce(0) { $0.saturatingAdd($1.status.size) } }

    /// Lists a directory; a missing directory is empty.
    package init(
        of directory: String, where isIncluded: (String) -> Bool = { _ in true }
    ) throws(SystemError) {
        do throws(SystemError) {
            let names = try FileSystem.contents(ofDirectory: directory).sorted()
            files = names.filter { $0.hasSuffix(".zip") && isIncluded($0) }.compactMap { name in
                let path = Path.join(directory, name)
                // Another process may just have removed it.
                return FileSystem.regularFile(path).map { BundleFile(path: path, status: $0) }
            }.sorted { $0.status.modified < $1.status.modified }
        } catch {
            guard error.isNotFound else { throw error }
        }
    }

    /// Removes the oldest bundle that can be removed, and no other file; returns false if no bundle can be.
    mutating func removeOldest() -> Bool {
        let oldest = files.firstIndex { file in
            BundleName.isName(Path.name(of: file.path)) && BundlePacker.isBundle(file.path)
                && (try? FileSystem.removeFile(file.path)) != nil
        }
        oldest.map { _ = files.remove(at: $0) }
        return oldest != nil
    }
}
