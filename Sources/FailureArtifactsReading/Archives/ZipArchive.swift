internal import CFailureArtifactsZlib
package import FailureArtifactsSystem
package import FailureArtifactsZip

/// An archive opened for reading.
///
/// The file is untrusted: reading it either succeeds, with the recorded sizes and checksums, or throws an
/// error. An archive is refused as a whole if it has a name that could lead out of a directory, a duplicate
/// name, a link, overlapping entries or encryption.
///
/// Copies share the open file, which is closed with the last one. They may be used from several threads.
package struct ZipArchive: Sendable {
    /// The archive's path, for error messages; for a nested archive, it is the outer archive's path, a slash and the
    /// entry's name.
    package let path: String
    package let entries: [ZipEntry]
    /// The limits for content; nested archives inherit them.
    package let limits: ZipLimits
    let source: ArchiveSource
    /// The indices into `entries`, by name.
    private let indices: [String: Int]

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

    /// Returns the entry with a name; names that are canonically equivalent in Unicode are equal.
    package func entry(named name: String) -> ZipEntry? {
        indices[name].map { entries[$0] }
    }

    /// Returns the whole content of an entry.
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

    /// Writes an entry's content to a new file; if that fails, removes the file.
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

    /// Opens an archive inside this one.
    ///
    /// A stored archive is read in place. Its own CRC-32 is not verified; those of its entries are, when they are read.
    /// A compressed archive is extracted to a file of `entry.size` bytes. That file is already unlinked when this
    /// function returns, so none is left behind. It may outlive this one.
    package func nested(
        _ entry: ZipEntry, scratchDirectory: String
    ) throws(ZipError) -> ZipArchive {
        let innerPath = Path.join(path, entry.name)
        if entry.method == ZipFormat.Method.stored {
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

extension ZipArchive {
    /// The error that a consumer of content may throw.
    ///
    /// The compiler doesn't count a type in a `throws` clause as a use of its module. Without this alias, it reports
    /// that the import is needlessly `package`.
    package typealias ConsumerError = SystemError

    /// Reads an entry's content in pieces.
    ///
    /// Size and CRC-32 are verified only when this function returns. After an error, discard the pieces that
    /// `body` has received.
    ///
    /// Throws `noSuchEntry` for a directory; `unsupported` for methods other than deflate; `inconsistent`,
    /// `truncated`, `badSize` or `badChecksum` for a damaged archive; `overLimit` for too much content;
    /// `system` if reading or `body` fails.
    package func read(
        _ entry: ZipEntry, _ body: (UnsafeRawBufferPointer) throws(ConsumerError) -> Void
    ) throws(ZipError) {
        do throws(ZipError.Reason) {
            if let problem = limits.problem(size: entry.size, compressedSize: entry.compressedSize) {
                throw .overLimit(problem)
            }
            let content = try source.part(try contentRange(of: entry))
            var checksum = Checksum()
            var size: UInt64 = 0
            let deliver = { (piece: UnsafeRawBufferPointer) throws(ZipError.Reason) in
                size += UInt64(piece.count)
                guard size <= entry.size else { throw .badSize }
                checksum.update(piece)
                try SystemError.asReason { () throws(SystemError) in try body(piece) }
            }
            switch entry.method {
            case ZipFormat.Method.stored: try readStored(content, deliver)
            case ZipFormat.Method.deflated: try Self.inflate(content, deliver)
            default: throw .unsupported("compression method \(entry.method)")
            }
            guard size == entry.size else { throw .badSize }
            guard checksum.value == entry.crc32 else { throw .badChecksum }
        } catch {
            throw ZipError(archive: path, entry: entry.name, reason: error)
        }
    }

    /// Returns the range of an entry's content in the source, after comparing the local header with the directory.
    func contentRange(of entry: ZipEntry) throws(ZipError.Reason) -> Range<UInt64> {
        guard !entry.isDirectory else { throw .noSuchEntry }
        let offset = entry.localHeaderOffset
        var reader = LittleEndianReader(try source.bytes(ZipFormat.Length.localHeader, at: offset))
        let header = try LocalFileHeader(&reader)
        let variableOffset = offset + UInt64(ZipFormat.Length.localHeader)
        let variableLength = Int(header.nameLength) + Int(header.extraLength)
        reader = LittleEndianReader(try source.bytes(variableLength, at: variableOffset))

        let encrypted = ZipFormat.Flag.isEncrypted | ZipFormat.Flag.isMasked
        guard header.flags & encrypted == 0 else { throw .unsupported("encryption") }
        guard try reader.readBytes(Int(header.nameLength)) == entry.nameBytes else {
            throw .inconsistent("its own header and the central directory have different names")
        }
        guard header.method == entry.method else {
            throw .inconsistent("its own header and the central directory have different methods")
        }
        // With a data descriptor, the local header was written before the sizes were known.
        if (header.flags | entry.flags) & ZipFormat.Flag.hasDataDescriptor == 0 {
            var zip64: LittleEndianReader?
            if header.size == ZipFormat.sentinel32 || header.compressedSize == ZipFormat.sentinel32 {
                zip64 = try ExtraFields(try reader.readPart(Int(header.extraLength))).zip64
            }
            guard try Zip64.value(header.size, &zip64) == entry.size,
                try Zip64.value(header.compressedSize, &zip64) == entry.compressedSize,
                header.crc32 == entry.crc32
            else {
                throw .inconsistent(
                    "its own header and the central directory have different sizes or checksums")
            }
        }
        let start = variableOffset + UInt64(variableLength)
        guard start <= entry.limit, entry.compressedSize <= entry.limit - start else {
            throw .inconsistent("it overlaps another entry or the central directory")
        }
        return start..<start + entry.compressedSize
    }

    typealias Delivery = (UnsafeRawBufferPointer) throws(ZipError.Reason) -> Void

    private func readStored(
        _ content: ArchiveSource, _ deliver: Delivery
    ) throws(ZipError.Reason) {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        defer { block.deallocate() }
        var position: UInt64 = 0
        while position < content.size {
            let count = Int(min(content.size - position, UInt64(blockSize)))
            let piece = UnsafeMutableRawBufferPointer(rebasing: block[..<count])
            try content.read(into: piece, at: position)
            try deliver(UnsafeRawBufferPointer(piece))
            position += UInt64(count)
        }
    }

    /// Decompresses content; throws `inconsistent` or `truncated` for invalid data; the errors that the closure throws.
    static func inflate(_ content: ArchiveSource, _ deliver: Delivery) throws(ZipError.Reason) {
        let block = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        let output = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 16)
        defer {
            block.deallocate()
            output.deallocate()
        }
        var inflater = try Inflater()
        var input = UnsafeRawBufferPointer(rebasing: block[..<0])
        var position: UInt64 = 0
        var isFinished = false
        while !isFinished {
            var produced = 0
            while !isFinished, produced < output.count {
                if input.isEmpty, position < content.size {
                    let count = Int(min(content.size - position, UInt64(blockSize)))
                    let piece = UnsafeMutableRawBufferPointer(rebasing: block[..<count])
                    try content.read(into: piece, at: position)
                    input = UnsafeRawBufferPointer(piece)
                    position += UInt64(count)
                }
                let step = try inflater.step(
                    input, into: UnsafeMutableRawBufferPointer(rebasing: output[produced...]))
                // As the output has space left, zlib stops only if it has no input.
                if step.consumed == 0, step.produced == 0, !step.isFinished { throw .truncated }
                input = UnsafeRawBufferPointer(rebasing: input[step.consumed...])
                isFinished = step.isFinished
                produced += step.produced
            }
            if produced > 0 { try deliver(UnsafeRawBufferPointer(rebasing: output[..<produced])) }
        }
        guard input.isEmpty, position == content.size else {
            throw .inconsistent("its compressed data ends before its recorded size")
        }
    }
}

/// A decompressor for raw deflate data (RFC 1951), the form that ZIP uses.
struct Inflater: ~Copyable {
    struct Step {
        let consumed: Int
        /// The number of bytes written to the start of the output.
        let produced: Int
        let isFinished: Bool
    }

    // zlib keeps the structure's address, so it must not move.
    private let stream: UnsafeMutablePointer<z_stream>

    init() throws(ZipError.Reason) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard failure_artifacts_inflate_init(stream, -MAX_WBITS) == Z_OK else { throw Self.noMemory }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Decompresses as much as input and output allow.
    ///
    /// A step that neither consumes nor produces anything is not an error here. Only the caller knows if there is more
    /// input. Throws `inconsistent` if the data is not valid deflate data; `system` with `ENOMEM`.
    mutating func step(
        _ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ZipError.Reason) -> Step {
        // zlib's interface lacks a `const`. It doesn't write to its input.
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.bindMemory(to: Bytef.self).baseAddress)
        stream.pointee.avail_in = CUnsignedInt(input.count)
        stream.pointee.next_out = output.bindMemory(to: Bytef.self).baseAddress
        stream.pointee.avail_out = CUnsignedInt(output.count)
        let result = inflate(stream, Z_NO_FLUSH)
        switch result {
        case Z_OK, Z_BUF_ERROR, Z_STREAM_END: break
        case Z_MEM_ERROR: throw Self.noMemory
        default: throw .inconsistent("its compressed data is not valid")
        }
        return Step(
            consumed: input.count - Int(stream.pointee.avail_in),
            produced: output.count - Int(stream.pointee.avail_out), isFinished: result == Z_STREAM_END)
    }

    private static var noMemory: ZipError.Reason {
        .system(SystemError("decompress", "", code: ENOMEM))
    }
}
