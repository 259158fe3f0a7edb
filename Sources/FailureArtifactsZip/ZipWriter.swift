package import FailureArtifactsSystem

/// Writes a new archive, one entry after the other.
///
/// Memory is bounded by a few blocks and some hundred bytes per entry. An archive is complete only after
/// ``finish()``; after an error, or without `finish`, the file is left as it is for the caller to remove.
package struct ZipWriter: ~Copyable {
    private let path: String
    let file: File
    let level: Int
    /// How many threads compress large content; nil for one a core.
    let threads: Int?
    var deflater: Deflater
    /// Where the next entry starts.
    private var offset: UInt64
    private var headers: [CentralDirectoryHeader] = []
    private var names: Set<String> = []

    /// Creates the file; there may be none of that name.
    ///
    /// - Parameters:
    ///   - path: The archive to create; only the owner may read it.
    ///   - level: 1, the fastest, to 9, the smallest; 0 stores everything as it is.
    ///   - threads: How many compress large content; nil for one a core. They exist only while an entry is
    ///     being added.
    /// - Throws: `system` where the file cannot be created.
    package init(
        creating path: String, level: Int = 1, threads: Int? = nil
    ) throws(ZipError) {
        try self.init(creating: path, level: level, threads: threads, startingAt: 0)
    }

    /// Creates the file and leaves room before the archive, as in a self-extracting one.
    ///
    /// - Parameters:
    ///   - path: The archive to create.
    ///   - level: As in ``init(creating:level:threads:)``.
    ///   - threads: As there.
    ///   - offset: How many bytes are left; offsets in the archive count from the start of the file.
    /// - Throws: `system` where the file cannot be created.
    init(
        creating path: String, level: Int = 1, threads: Int? = nil, startingAt offset: UInt64
    ) throws(ZipError) {
        // Everything that may fail comes before the first property: a handle has to be made whole or not at all.
        let deflater = try ZipError.naming(path) { () throws(ZipError.Reason) in
            try Deflater(level: level)
        }
        let file = try ZipError.naming(path) { () throws(ZipError.Reason) in
            try SystemError.asReason { () throws(SystemError) in try File(creating: path) }
        }
        self.path = path
        self.level = level
        self.threads = threads
        self.offset = offset
        self.deflater = deflater
        self.file = file
    }

    /// Adds a file whose content is in memory.
    ///
    /// - Parameters:
    ///   - name: A relative path with slashes.
    ///   - bytes: The content.
    ///   - modified: When it was last changed; kept to the second.
    /// - Throws: `unsafeName`, `duplicateName`, or `system` where writing fails.
    package mutating func addEntry(
        named name: String, bytes: [UInt8], modified: Timestamp
    ) throws(ZipError) {
        do throws(ZipError.Reason) {
            try bytes.withBytes { (buffer) throws(ZipError.Reason) in
                try add(name, size: UInt64(buffer.count), modified) {
                    (block, offset) throws(ZipError.Reason) in
                    let start = Int(offset)
                    block.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: buffer[start..<start + block.count]))
                }
            }
        } catch {
            throw ZipError(archive: path, entry: name, reason: error)
        }
    }

    /// Adds a file with the content of an open one, which is read in blocks.
    ///
    /// Content that deflate does not shrink is read twice.
    ///
    /// - Parameters:
    ///   - name: A relative path with slashes.
    ///   - file: The content; it may not change meanwhile.
    ///   - modified: When it was last changed; kept to the second.
    /// - Throws: `unsafeName`, `duplicateName`, `inputChanged` where the file grows or shrinks, or `system` where
    ///   reading or writing fails.
    package mutating func addEntry(
        named name: String, contentsOf file: borrowing File, modified: Timestamp
    ) throws(ZipError) {
        do throws(ZipError.Reason) {
            let size = try SystemError.asReason { () throws(SystemError) in try file.size() }
            try add(name, size: size, modified) { (block, offset) throws(ZipError.Reason) in
                let count = try SystemError.asReason { () throws(SystemError) in
                    try file.read(into: block, at: offset)
                }
                guard count == block.count else { throw .inputChanged }
            }
            // A byte past the size that the file had at first?
            var excess: [UInt8] = [0]
            let count = try excess.withMutableBytes { (buffer) throws(ZipError.Reason) in
                try SystemError.asReason { () throws(SystemError) in
                    try file.read(into: buffer, at: size)
                }
            }
            guard count == 0 else { throw .inputChanged }
        } catch {
            throw ZipError(archive: path, entry: name, reason: error)
        }
    }

    /// Completes the archive: writes the central directory, has the system put it on the disk and closes it.
    ///
    /// - Throws: `system` where that fails.
    package consuming func finish() throws(ZipError) {
        do throws(ZipError.Reason) {
            try writeDirectory()
            try SystemError.asReason { () throws(SystemError) in try file.synchronize() }
        } catch {
            throw ZipError(archive: path, reason: error)
        }
        let path = path
        do throws(SystemError) {
            try file.close()
        } catch {
            throw ZipError(archive: path, reason: .system(error))
        }
    }

    // MARK: Entries

    private mutating func add(
        _ name: String, size: UInt64, _ modified: Timestamp, _ source: ContentSource
    ) throws(ZipError.Reason) {
        let start = try contentStart(ofEntryNamed: name, size: size, modified)
        var content: Content?
        if level > 0, size > 0 {
            // On one core the blocks would only cost their joints.
            let threads = size < ParallelDeflater.minimumSize ? 1 : threads ?? Threads.cores
            content =
                threads > 1
                ? try deflate(size: size, at: start, source, threads: threads)
                : try deflate(size: size, at: start, source)
        }
        if content == nil { content = try store(size: size, at: start, source) }
        if let content { try complete(name, size: size, modified, content, at: start) }
    }

    /// How the content of an entry was written.
    struct Content {
        let method: ZipEntry.Method
        let crc32: UInt32
        let compressedSize: UInt64
    }

    /// Where the content of the next entry goes: behind its header, whose length is known before the content.
    private func contentStart(
        ofEntryNamed name: String, size: UInt64, _ modified: Timestamp
    ) throws(ZipError.Reason) -> UInt64 {
        guard EntryName.isWritable(name) else { throw .unsafeName }
        guard !names.contains(name) else { throw .duplicateName }
        let headerLength = LocalFileHeader.length(
            nameLength: name.utf8.count, size: size, modifiedSeconds: modified.seconds)
        return offset + UInt64(headerLength)
    }

    /// Writes the header of an entry, with the real numbers, once its content is there.
    private mutating func complete(
        _ name: String, size: UInt64, _ modified: Timestamp, _ content: Content, at start: UInt64
    ) throws(ZipError.Reason) {
        let header = CentralDirectoryHeader(
            name: Array(name.utf8), modified: modified, method: content.method, crc32: content.crc32,
            compressedSize: content.compressedSize, size: size, localHeaderOffset: offset)
        var writer = LittleEndianWriter()
        LocalFileHeader.append(header, to: &writer)
        try write(writer.bytes, at: offset)
        offset = start + content.compressedSize
        names.insert(name)
        headers.append(header)
    }

    // MARK: The end of the archive

    private mutating func writeDirectory() throws(ZipError.Reason) {
        let directoryOffset = offset
        var writer = LittleEndianWriter()
        for header in headers {
            header.append(to: &writer)
            guard writer.bytes.count >= blockSize else { continue }
            try flush(&writer)
        }
        let directorySize = offset + UInt64(writer.bytes.count) - directoryOffset
        let count = UInt64(headers.count)
        let end = EndOfCentralDirectory(
            entries: count, directorySize: directorySize, directoryOffset: directoryOffset)
        if end.needsZip64 {
            let endRecordOffset = directoryOffset + directorySize
            Zip64EndRecord(
                entries: count, directorySize: directorySize, directoryOffset: directoryOffset
            ).append(to: &writer)
            Zip64Locator(endRecordOffset: endRecordOffset).append(to: &writer)
        }
        end.append(to: &writer)
        try flush(&writer)
    }

    private mutating func flush(_ writer: inout LittleEndianWriter) throws(ZipError.Reason) {
        try write(writer.bytes, at: offset)
        offset += UInt64(writer.bytes.count)
        writer.removeAll()
    }

    private func write(_ bytes: [UInt8], at offset: UInt64) throws(ZipError.Reason) {
        try SystemError.asReason { () throws(SystemError) in
            try bytes.withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: offset) }
        }
    }
}
