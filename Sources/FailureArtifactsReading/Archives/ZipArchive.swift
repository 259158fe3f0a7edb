internal import FailureArtifactsSystem
package import FailureArtifactsZip

/// An archive opened for reading.
///
/// The file is untrusted: reading it either succeeds, with the recorded sizes and checksums, or throws an
/// error. An archive is refused as a whole if it has a name that could lead out of a directory, a duplicate
/// name, a link, overlapping entries or encryption.
///
/// Copies share the open file, which is closed with the last one. They may be used from several threads.
package struct ZipArchive: Sendable {
    /// The archive's path, for error messages. For a nested archive, it is the outer archive's path, a slash and the
    /// entry's name.
    package let path: String
    /// The entries in the order of the central directory.
    package let entries: [ZipEntry]
    /// The limits for content. Nested archives inherit them.
    package let limits: ZipLimits
    let source: ArchiveSource
    /// The indices into `entries`, by name.
    private let indices: [String: Int]

    /// Opens an archive and reads its central directory.
    package init(path: String, limits: ZipLimits = .standard) throws(ZipError) {
        do throws(ZipError.Reason) {
            source = try ArchiveSource(path: path)
        } catch {
            throw ZipError(archive: path, reason: error)
        }
        self.path = path
        self.limits = limits
        (entries, indices) = try CentralDirectory.read(from: source, path: path)
    }

    /// Reads an archive from a part of a file.
    init(_ source: ArchiveSource, path: String, limits: ZipLimits) throws(ZipError) {
        self.source = source
        self.limits = limits
        self.path = path
        (entries, indices) = try CentralDirectory.read(from: source, path: path)
    }

    /// Checks that the total size of all content is within the limits.
    package func checkTotalSize() throws(ZipError) {
        guard let problem = limits.problem(ofAll: entries) else { return }
        throw ZipError(archive: path, reason: .overLimit(problem))
    }

    /// Returns the entry with a name. Names that are canonically equivalent in Unicode are equal.
    package func entry(named name: String) -> ZipEntry? {
        indices[name].map { entries[$0] }
    }

    /// Returns the whole content of an entry.
    ///
    /// - `limit`: the maximum size, in bytes.
    package func contents(of entry: ZipEntry, limit: Int) throws(ZipError) -> [UInt8] {
        guard entry.size <= UInt64(max(0, limit)) else {
            let reason = ZipError.Reason.tooLarge(limit: UInt64(max(0, limit)))
            throw ZipError(archive: path, entry: entry.name, reason: reason)
        }
        // Grow with the actual content; the size that the archive claims may be wrong.
        var bytes: [UInt8] = []
        try read(entry) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Writes an entry's content to a new file. If that fails, removes the file.
    ///
    /// - `destination`: the path of the file, which must not exist.
    package func extract(_ entry: ZipEntry, toNewFile destination: String) throws(ZipError) {
        let file: File
        do {
            file = try File(creating: destination)
        } catch {
            throw ZipError(archive: path, entry: entry.name, reason: .system(error))
        }
        do throws(ZipError) {
            try copy(entry, to: file)
        } catch {
            // Report the first failure only.
            try? FileSystem.remove(destination)
            throw error
        }
        do throws(SystemError) {
            try file.close()
        } catch {
            try? FileSystem.remove(destination)
            throw ZipError(archive: path, entry: entry.name, reason: .system(error))
        }
    }

    private func copy(_ entry: ZipEntry, to file: borrowing File) throws(ZipError) {
        var offset: UInt64 = 0
        try read(entry) { (bytes) throws(SystemError) in
            try file.write(bytes, at: offset)
            offset += UInt64(bytes.count)
        }
    }

    /// Opens an archive inside this one. A stored archive is read in place. Its own CRC-32 is not verified; those of
    /// its entries are, when they are read. A compressed archive is extracted to a file of `entry.size` bytes. That
    /// file is already unlinked when this function returns, so none is left behind. It may outlive this one.
    package func nested(
        _ entry: ZipEntry, scratchDirectory: String
    ) throws(ZipError) -> ZipArchive {
        let innerPath = Path.join(path, entry.name)
        if entry.method == .stored {
            let inner: ArchiveSource
            do throws(ZipError.Reason) {
                inner = try source.part(try contentRange(of: entry))
            } catch {
                throw ZipError(archive: path, entry: entry.name, reason: error)
            }
            return try ZipArchive(inner, path: innerPath, limits: limits)
        }
        let directory: String
        do throws(SystemError) {
            directory = try FileSystem.createUniqueDirectory(in: scratchDirectory, prefix: "nested-")
        } catch {
            throw ZipError(archive: path, entry: entry.name, reason: .system(error))
        }
        // The file stays usable while it is open.
        defer { try? FileSystem.remove(directory) }
        let file = Path.join(directory, "archive.zip")
        try extract(entry, toNewFile: file)
        let inner: ArchiveSource
        do throws(ZipError.Reason) {
            inner = try ArchiveSource(path: file)
        } catch {
            throw ZipError(archive: path, entry: entry.name, reason: error)
        }
        return try ZipArchive(inner, path: innerPath, limits: limits)
    }
}
