internal import CFailureArtifactsZlib
package import FailureArtifactsSystem

/// A writer for a new archive, which adds one entry after the other.
///
/// It uses memory for a few blocks and some hundred bytes per entry. An archive is complete only after
/// ``finish()``. After an error, or without `finish`, the caller has to remove the file. It has less than 4 GiB and
/// 65,535 entries, so that no values need the records of ZIP64.
package struct ZipWriter: ~Copyable {
    /// A closure that fills a buffer with the content from an offset on.
    private typealias Source = (UnsafeMutableRawBufferPointer, _ offset: UInt64) throws -> Void

    private let path: String
    private let file: File
    private let level: Int
    private let deflater: Deflater
    /// The offset of the next entry.
    private var offset: UInt64 = 0
    private var headers: [EntryHeader] = []
    private var names: Set<String> = []

    /// Creates an archive, which must not exist and only its owner may read.
    ///
    /// The compression level is from 1 (fastest) to 9 (smallest); 0 stores everything.
    package init(creating path: String, level: Int = 1) throws(ZipError) {
        do {
            // Everything that may fail precedes the first assignment, because a noncopyable value can't be
            // destroyed in part.
            let deflater = try Deflater(level: level)
            let file = try File(creating: path)
            self.path = path
            self.level = level
            self.deflater = deflater
            self.file = file
        } catch {
            throw ZipError(archive: path, error)
        }
    }

    /// Adds a file whose content is in memory.
    ///
    /// The name is a relative path with slashes. The fraction of a second of the time is dropped.
    package mutating func addEntry(
        named name: String, bytes: [UInt8], modified: Timestamp
    ) throws(ZipError) {
        do {
            try bytes.withUnsafeBytes { content in
                try add(name, size: UInt64(content.count), modified) { block, offset in
                    let start = Int(offset)
                    block.copyMemory(
                        from: UnsafeRawBufferPointer(rebasing: content[start..<start + block.count]))
                }
            }
        } catch {
            throw ZipError(archive: path, entry: name, error)
        }
    }

    /// Adds a file with the content of an open file, which is read in blocks and must not change in the meantime.
    ///
    /// Content that doesn't shrink is read twice.
    package mutating func addEntry(
        named name: String, contentsOf file: borrowing File, modified: Timestamp
    ) throws(ZipError) {
        do {
            let size = try file.size()
            try add(name, size: size, modified) { block, offset in
                guard try file.read(into: block, at: offset) == block.count else {
                    throw ZipError.Reason.inputChanged
                }
            }
            // The file has grown if there is more.
            guard try file.bytes(1, at: size).isEmpty else { throw ZipError.Reason.inputChanged }
        } catch {
            throw ZipError(archive: path, entry: name, error)
        }
    }

    /// Completes the archive: writes the central directory, synchronizes the file with the disk and closes it.
    package consuming func finish() throws(ZipError) {
        let path = path
        do {
            try writeDirectory()
            try file.synchronize()
            try file.close()
        } catch {
            throw ZipError(archive: path, error)
        }
    }

    // MARK: Entries

    /// Writes an entry's content, and then the header before it, whose length is known.
    private mutating func add(
        _ name: String, size: UInt64, _ modified: Timestamp, _ source: Source
    ) throws {
        guard EntryName.isWritable(name) else { throw ZipError.Reason.unsafeName }
        guard !names.contains(name) else { throw ZipError.Reason.duplicateName }
        guard headers.count + 1 < ZipFormat.sentinel16 else {
            throw ZipError.Reason.tooLarge(limit: UInt64(ZipFormat.sentinel16))
        }
        let headerLength = EntryHeader.localHeaderLength(
            nameLength: name.utf8.count, modified: modified)
        let start = offset + UInt64(headerLength)
        let contentSize = try Self.field(size)
        var checksum = Checksum()
        var compressedSize = try deflate(size: size, at: start, &checksum, source)
        let isDeflated = compressedSize < size
        if !isDeflated {
            checksum = Checksum()
            try forEachBlock(of: size, source) { block, offset in
                checksum.update(block)
                try file.write(block, at: start + offset)
            }
            compressedSize = size
        }
        let header = try EntryHeader(
            name: Array(name.utf8), modified: modified,
            method: isDeflated ? ZipFormat.Method.deflated : ZipFormat.Method.stored,
            crc32: checksum.value, compressedSize: Self.field(compressedSize), size: contentSize,
            localHeaderOffset: Self.field(offset))
        var writer = LittleEndianWriter()
        header.appendLocalHeader(to: &writer)
        try file.write(writer.bytes, at: offset)
        offset = start + compressedSize
        names.insert(name)
        headers.append(header)
    }

    /// Returns a size or an offset as a field of a record; the largest value stands for one in a ZIP64 record.
    private static func field(_ value: UInt64) throws(ZipError.Reason) -> UInt32 {
        guard let field = UInt32(exactly: value), field != ZipFormat.sentinel32 else {
            throw .tooLarge(limit: UInt64(ZipFormat.sentinel32))
        }
        return field
    }

    /// Compresses content, writes it as long as it is smaller than the content, and returns its compressed size.
    private func deflate(
        size: UInt64, at start: UInt64, _ checksum: inout Checksum, _ source: Source
    ) throws -> UInt64 {
        guard size > 0, level > 0 else { return size }
        deflater.restart()
        var compressedSize: UInt64 = 0
        try forEachBlock(of: size, source) { block, offset in
            guard compressedSize < size else { return }
            checksum.update(block)
            let isLast = offset + UInt64(block.count) == size
            try deflater.compress(block, isLast: isLast) { output in
                if compressedSize + UInt64(output.count) < size {
                    try file.write(output, at: start + compressedSize)
                }
                compressedSize += UInt64(output.count)
            }
        }
        return compressedSize
    }

    private func forEachBlock(
        of size: UInt64, _ source: Source,
        _ body: (UnsafeRawBufferPointer, _ offset: UInt64) throws -> Void
    ) throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(size, UInt64(blockSize))), alignment: 16)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        while offset < size {
            let count = Int(min(UInt64(buffer.count), size - offset))
            let block = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            try source(block, offset)
            try body(UnsafeRawBufferPointer(block), offset)
            offset += UInt64(count)
        }
    }

    // MARK: The end of the archive

    private mutating func writeDirectory() throws {
        let directoryOffset = offset
        var writer = LittleEndianWriter()
        for header in headers {
            header.appendCentralHeader(to: &writer)
            if writer.bytes.count >= blockSize { try flush(&writer) }
        }
        let directorySize = offset + UInt64(writer.bytes.count) - directoryOffset
        try ArchiveEnd(
            entries: UInt16(headers.count), directorySize: Self.field(directorySize),
            directoryOffset: Self.field(directoryOffset)
        ).append(to: &writer)
        try flush(&writer)
    }

    private mutating func flush(_ writer: inout LittleEndianWriter) throws {
        try file.write(writer.bytes, at: offset)
        offset += UInt64(writer.bytes.count)
        writer = LittleEndianWriter()
    }
}

/// A compressor for raw deflate data (RFC 1951), the form that ZIP uses.
struct Deflater: ~Copyable {
    // zlib keeps the structure's address, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private let output: UnsafeMutableRawBufferPointer

    /// Creates a compressor with a level from 1 (fastest) to 9 (smallest).
    init(level: Int) throws(SystemError) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        output = .allocate(byteCount: blockSize, alignment: 16)
        let clamped = CInt(min(max(level, 1), 9))
        // Negative window bits mean no zlib header or trailer. 8 is zlib's default memory level.
        let result = failure_artifacts_deflate_init(stream, clamped, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY)
        guard result == Z_OK else { throw SystemError("compress", "", code: ENOMEM) }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        output.deallocate()
    }

    /// Discards all earlier input and begins a new stream.
    borrowing func restart() {
        deflateReset(stream)
    }

    /// Compresses a block of less than 4 GiB, and passes the available compressed data in pieces to `body`.
    borrowing func compress(
        _ input: UnsafeRawBufferPointer, isLast: Bool,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        // zlib's interface lacks a `const`. It doesn't write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        var result = Z_OK
        repeat {
            stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
            stream.pointee.avail_out = CUnsignedInt(output.count)
            // The only possible error is Z_BUF_ERROR, which means that there is nothing to do.
            result = deflate(stream, isLast ? Z_FINISH : Z_NO_FLUSH)
            let count = output.count - Int(stream.pointee.avail_out)
            if count > 0 { try body(UnsafeRawBufferPointer(rebasing: output[..<count])) }
        } while isLast ? result == Z_OK : stream.pointee.avail_out == 0
    }
}

/// The number of bytes to read, compress and write at a time.
package let blockSize = 256 << 10
