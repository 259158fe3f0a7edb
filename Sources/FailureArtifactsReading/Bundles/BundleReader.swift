package import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// An open bundle.
package struct BundleReader: Sendable {
    package let location: BundleLocation
    package let archive: ZipArchive
    package let metadata: BundleMetadata

    /// Opens a bundle and reads its metadata.
    package init(
        _ location: BundleLocation, scratchDirectory: String, limits: ZipLimits = .standard
    ) throws(BundleError) {
        try self.init(
            location,
            archive: try location.openArchive(scratchDirectory: scratchDirectory, limits: limits))
    }

    /// Reads the metadata of an archive that is already open.
    package init(
        _ location: BundleLocation, archive: ZipArchive
    ) throws(BundleError) {
        metadata = try BundleMetadata(in: archive, of: location.description)
        self.location = location
        self.archive = archive
    }

    /// Finds an entry.
    ///
    /// Its content is not read yet.
    package func entry(named name: String) throws(BundleError) -> ZipEntry {
        if let entry = archive.entry(named: name) { return entry }
        throw BundleError(
            location.description,
            metadata.sharedEntry(named: name).map { .sharedEntry($0) } ?? .missingEntry(name))
    }

    /// The size of an entry's content in bytes, not compressed; nil if there is no such entry.
    package func size(ofEntry name: String) -> UInt64? { archive.entry(named: name)?.size }

    /// Copies an entry to a new file.
    ///
    /// - `path`: the path of the new file, which must not exist.
    package func extract(entryNamed name: String, toNewFile path: String) throws(BundleError) {
        let entry = try entry(named: name)
        do {
            try archive.extract(entry, toNewFile: path)
        } catch {
            throw BundleError(location.description, zip: error)
        }
    }

    /// Copies a store to a new file.
    ///
    /// Its name is the one in the bundle.
    ///
    /// - `directory`: an existing directory. The file goes to a new directory in it, because copies of one
    ///   store at several failures have the same name.
    package func extract(
        _ store: StoreChoice, below directory: String
    ) throws(BundleError) -> String {
        let folder: String
        do {
            folder = try FileSystem.createUniqueDirectory(in: directory, prefix: "store-")
        } catch {
            throw BundleError(location.description, .system(error))
        }
        let path = Path.join(folder, store.fileName)
        try extract(entryNamed: store.entry, toNewFile: path)
        return path
    }
}
