package import FailureArtifactsSystem

extension ArtifactsDirectory {
    /// A bundle's file, as it was when it was looked at.
    package struct BundleFile: Sendable {
        package let name: String
        package let identity: FileStatus.Identity

        package init(name: String, identity: FileStatus.Identity) {
            self.name = name
            self.identity = identity
        }
    }

    /// The result of removing a bundle.
    package enum Removal: Equatable, Sendable {
        /// The bundle was removed. It had this size in bytes.
        case removed(UInt64)
        /// Another process has removed it, or put another file in its place.
        case gone
        /// The process that made it is not done with it.
        case inUse
        case failed(SystemError)
    }

    /// Removes bundles, and takes them off the directory's usage.
    ///
    /// - Parameter files: The bundles.
    /// - Returns: The result for each bundle.
    /// - Throws: The failure to look into the directory; then all bundles are still there.
    package func removeBundles(_ files: [BundleFile]) throws(SystemError) -> [Removal] {
        // If the bundle of a staging directory were gone, crash recovery would make another one.
        let unfinished = Set(try allStagingDirectories().compactMap(\.bundleName))
        var removals: [Removal] = []
        try withRemovals {
            removals = files.map { unfinished.contains($0.name) ? .inUse : remove($0) }
            return zip(files, removals).compactMap { file, removal in
                // Others, such as A.ZIP, do not count.
                guard case .removed(let size) = removal, file.name.hasSuffix(".zip") else { return nil }
                return size
            }
        }
        return removals
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
