internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Bundles that refer to what others hold, when they leave these.
enum StandaloneBundle {
    /// Writes a bundle with all that it refers to: the same whenever it is done.
    ///
    /// - Parameters:
    ///   - bundle: The bundle.
    ///   - path: A file that does not exist.
    ///   - scratch: An existing directory, used where the other bundle is inside another zip.
    /// - Returns: What the new one says.
    /// - Throws: That another bundle is missing, or a failure to read or write; then there is no file.
    static func write(
        _ bundle: BundleReader, to path: String, scratch: String
    ) throws -> BundleMetadata {
        try bundle.checkTotalSize()
        let contents = try bundle.metadata.sharedEntries?.map { shared in
            (shared.entry, try bundle.content(ofEntry: shared.entry, scratchDirectory: scratch))
        }
        var metadata = bundle.metadata
        metadata.sharedEntries = nil
        do {
            var zip = try ZipWriter(creating: path)
            let date = bundle.archive.entry(named: BundleMetadata.entryName)?.modified ?? .now
            try zip.addEntry(named: BundleMetadata.entryName, bytes: metadata.json(), modified: date)
            for (name, content) in contents ?? [] {
                // One that several stores have in common is there once.
                guard bundle.archive.entry(named: name) == nil else { continue }
                try zip.addEntry(copying: content.entry, of: content.archive, as: name)
            }
            for entry in bundle.archive.entries
            where !replaced.contains(entry.name) && !entry.isDirectory {
                try zip.addEntry(copying: entry, of: bundle.archive)
            }
            try zip.addEntry(
                named: readMe, bytes: Array(BundlePacker.readMe(metadata).utf8), modified: date)
            try zip.finish()
            return metadata
        } catch {
            try? FileSystem.remove(path)
            throw error
        }
    }

    private static let readMe = "README.txt"
    private static let replaced: Set<String> = [BundleMetadata.entryName, readMe]
}
