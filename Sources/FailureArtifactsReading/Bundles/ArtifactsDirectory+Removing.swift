package import FailureArtifactsBundle
package import FailureArtifactsSystem

extension ArtifactsDirectory {
    /// A bundle's file and its identity when it was listed.
    package struct BundleFile: Sendable {
        package let name: String
        package let identity: FileStatus.Identity

        package init(name: String, identity: FileStatus.Identity) {
            self.name = name
            self.identity = identity
        }
    }

    package enum Removal: Equatable, Sendable {
        /// The bundle was removed; the value is its size in bytes.
        case removed(UInt64)
        /// Another process has removed the bundle, or put another file in its place.
        case gone
        /// The process that made the bundle still needs it.
        case inUse
        case failed(SystemError)
    }

    package func removeBundles(_ files: [BundleFile]) throws(SystemError) -> [Removal] {
        // If such a bundle were removed, crash recovery would make it again from its staging directory.
        var unfinished: Set<String> = []
        do throws(SystemError) {
            unfinished = Set(try allStagingDirectories().compactMap(\.bundleName))
        } catch {
            // Only the user of these directories could make such a bundle again.
            guard error.code == EACCES else { throw error }
        }
        return files.map { unfinished.contains($0.name) ? .inUse : remove($0) }
    }

    private func remove(_ file: BundleFile) -> Removal {
        let path = Path.join(path, file.name)
        do throws(SystemError) {
            guard let status = try FileSystem.statusWithoutFollowing(path), status.kind == .regular,
                status.identity == file.identity
            else { return .gone }
            try FileSystem.removeFile(path)
            return .removed(status.size)
        } catch {
            return error.isNotFound ? .gone : .failed(error)
        }
    }
}
