package import FailureArtifactsSystem

/// A writer for a new archive, which adds one entry after the other.
///
/// It uses memory for a few blocks and some hundred bytes per entry. An archive is complete only after
/// ``finish()``. After an error, or without `finish`, the caller has to remove the file.
package struct ZipWriter: ~Copyable {
    private let path: String
    let file: File
    let level: Int
    /// The number of threads for compressing large content; nil for one per core.
    let threads: Int?
    var deflater: Deflater
    /// The offset of the next entry.
    private var offset: UInt64
    private var headers: [EntryHeader] = []
    private var names: Set<String> = []

    /// Creates an archive, which must not exist and only its owner may read.
    ///
    /// The compression level is from 1 (fastest) to 9 (smallest); 0 stores everything. Large content is compressed on
    /// `threads` threads, by default one per core, which exist only while an entry is being added. There may be
    /// free space before the archive, as in a self-extracting one. Offsets count from the start of the file.
    package init(
        creating path: String, level: Int = 1, threads: Int? = nil, startingAt offset: UInt64 = 0
    ) throws(ZipError) {
        // Everything that may fail precedes the first assignment, because a noncopyable value can't be
        // destroyed in part.
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
    /// The name is a relative path with slashes. The fraction of a second of the time is dropped.
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

    /// Adds a file with the content of an open file, which is read in blocks and must not change in the meantime.
    ///
    /// Incompressible content is read twice.
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
            // Check if the file has grown.
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

    /// Completes the archive: writes the central directory, synchronizes the file with the disk and closes it.
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
            // On one core, separate blocks would only make the result larger.
            let threads = size < ParallelDeflater.minimumSize ? 1 : threads ?? Threads.cores
            content =
                threads > 1
                ? try deflate(size: size, at: start, source, threads: threads)
                : try deflate(size: size, at: start, source)
        }
        if content == nil { content = try store(size: size, at: start, source) }
        if let content { try complete(name, size: size, modified, content, at: start) }
    }

    /// The properties of an entry's written content.
    struct Content {
        /// The method's number, of ``ZipFormat/Method``.
        let method: UInt16
        let crc32: UInt32
        let compressedSize: UInt64
    }

    /// Returns the offset of the next entry's content.
    ///
    /// Its header precedes it and has a known length.
    private func contentStart(
        ofEntryNamed name: String, size: UInt64, _ modified: Timestamp
    ) throws(ZipError.Reason) -> UInt64 {
        guard EntryName.isWritable(name) else { throw .unsafeName }
        guard !names.contains(name) else { throw .duplicateName }
        let headerLength = EntryHeader.localHeaderLength(
            nameLength: name.utf8.count, size: size, modified: modified)
        return offset + UInt64(headerLength)
    }

    /// Writes an entry's header, after its content was written.
    private mutating func complete(
        _ name: String, size: UInt64, _ modified: Timestamp, _ content: Content, at start: UInt64
    ) throws(ZipError.Reason) {
        let header = EntryHeader(
            name: Array(name.utf8), modified: modified, method: content.method, crc32: content.crc32,
            compressedSize: content.compressedSize, size: size, localHeaderOffset: offset)
        var writer = LittleEndianWriter()
        header.appendLocalHeader(to: &writer)
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
            header.appendCentralHeader(to: &writer)
            guard writer.bytes.count >= blockSize else { continue }
            try flush(&writer)
        }
        let directorySize = offset + UInt64(writer.bytes.count) - directoryOffset
        ArchiveEnd(
            entries: UInt64(headers.count), directorySize: directorySize,
            directoryOffset: directoryOffset
        ).append(to: &writer)
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
