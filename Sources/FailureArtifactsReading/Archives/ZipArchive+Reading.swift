package import FailureArtifactsSystem
package import FailureArtifactsZip

extension ZipArchive {
    /// The error that a consumer of content may throw. The compiler doesn't count a type in a `throws` clause as a
    /// use of its module. Without this alias, it reports that the import is needlessly `package`.
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
            case .stored: try readStored(content, deliver)
            case .deflated: try Self.inflate(content, deliver)
            case .other(let number): throw .unsupported("compression method \(number)")
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
        guard header.method == entry.method.number else {
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

    /// Decompresses content. Throws `inconsistent` or `truncated` for invalid data; the errors that the closure
    /// throws.
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
