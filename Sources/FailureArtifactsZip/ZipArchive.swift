internal import FailureArtifactsSystem

/// An archive that is read.
///
/// What is in the file is treated as possibly made by an adversary: whatever it holds, reading it either
/// works, with sizes and checksums as recorded, or throws. An archive with a name that could lead out of a
/// directory, a duplicate name, a link, overlapping entries or encryption is refused as a whole.
///
/// Copies share the open file, which is closed with the last of them, and may be used from several threads.
package struct ZipArchive: Sendable {
    /// The archive's path.
    ///
    /// For an archive inside another it is the outer one's path, a slash and the entry's
    /// name, for messages.
    package let path: String
    /// In the order of the central directory.
    package let entries: [ZipEntry]
    /// How much content is read; an archive inside this one has the same limits.
    package let limits: ZipLimits
    let source: ArchiveSource
    /// Indices into `entries`.
    private let indices: [String: Int]

    /// Opens an archive and reads its central directory.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - limits: How much content is read.
    /// - Throws: A ``ZipError`` that names the archive and, where one is to blame, the entry.
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

    /// Reads an archive that is part of a file.
    init(_ source: ArchiveSource, path: String, limits: ZipLimits) throws(ZipError) {
        self.source = source
        self.limits = limits
        self.path = path
        (entries, indices) = try CentralDirectory.read(from: source, path: path)
    }

    /// Makes sure that all content together is within the limits.
    ///
    /// - Throws: `overLimit` where it is not.
    package func checkTotalSize() throws(ZipError) {
        guard let problem = limits.problem(ofAll: entries) else { return }
        throw ZipError(archive: path, reason: .overLimit(problem))
    }

    /// The entry of a name.
    ///
    /// Names that differ only in how Unicode composes their characters are one name.
    package func entry(named name: String) -> ZipEntry? {
        indices[name].map { entries[$0] }
    }

    /// All of an entry's content.
    ///
    /// - Parameters:
    ///   - entry: A file of this archive.
    ///   - limit: The greatest size in bytes that is read.
    /// - Returns: The content, its size and CRC-32 verified.
    /// - Throws: `tooLarge` beyond the limit; otherwise as ``read(_:_:)``.
    package func contents(of entry: ZipEntry, limit: Int) throws(ZipError) -> [UInt8] {
        guard entry.size <= UInt64(max(0, limit)) else {
            let reason = ZipError.Reason.tooLarge(limit: UInt64(max(0, limit)))
            throw ZipError(archive: path, entry: entry.name, reason: reason)
        }
        // Grows with what is there, not with what the archive says is there.
        var bytes: [UInt8] = []
        try read(entry) { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// Writes an entry's content to a file, which is removed again where that fails.
    ///
    /// - Parameters:
    ///   - entry: A file of this archive.
    ///   - destination: The file to create; there may be none of that name.
    /// - Throws: `system` where it cannot be created or written; otherwise as ``read(_:_:)``.
    package func extract(_ entry: ZipEntry, toNewFile destination: String) throws(ZipError) {
        let file = try ZipError.naming(path, entry: entry.name) { () throws(ZipError.Reason) in
            try SystemError.asReason { () throws(SystemError) in try File(creating: destination) }
        }
        do throws(ZipError) {
            try copy(entry, to: file)
        } catch {
            // The first failure is the one to report.
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

    /// Opens an archive inside this one.
    ///
    /// A stored archive is read in place; its own CRC-32 is not verified, those of its entries are when they
    /// are read. A compressed one is first extracted into a file that has lost its name by the time this
    /// returns, so nothing is left behind; see `entry.size` for the room it takes.
    ///
    /// - Parameters:
    ///   - entry: A file of this archive.
    ///   - scratchDirectory: An existing directory on a disk with room.
    /// - Returns: The inner archive; it may outlive this one.
    /// - Throws: As ``init(path:)`` and ``read(_:_:)``.
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
        // An open file does not need its name.
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
