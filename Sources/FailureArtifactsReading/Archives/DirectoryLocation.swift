internal import FailureArtifactsZip

/// The central directory's position, from the records at the end of an archive.
///
/// All arithmetic uses 64-bit values and can't overflow: an archive has at most `Int64.max` bytes, and every value of a
/// record is compared before it is added to anything.
struct DirectoryLocation: Equatable {
    static let maximumEntries: UInt64 = 100_000
    static let maximumSize: UInt64 = 256 << 20

    let offset: UInt64
    let size: Int
    let entries: Int

    /// Finds the directory and checks that it ends where the end records start.
    static func find(in source: ArchiveSource) throws(ZipError.Reason) -> DirectoryLocation {
        var (end, limit) = try findEnd(in: source)
        if let (zip64, zip64Offset) = try findZip64End(in: source, before: limit) {
            guard end.agrees(with: zip64) else {
                throw .inconsistent("its two end records contradict each other")
            }
            (end, limit) = (zip64, zip64Offset)
        }
        let (directorySize, directoryOffset, count) = (end.size, end.offset, end.entries)

        guard directorySize <= limit, directoryOffset <= limit - directorySize else {
            throw .inconsistent("the central directory reaches beyond the end record")
        }
        guard directoryOffset == limit - directorySize else {
            throw .inconsistent(
                "\(limit - directorySize - directoryOffset) bytes precede or follow the central directory "
                    + "that the end record does not account for")
        }
        guard count <= maximumEntries else { throw .tooLarge(limit: maximumEntries) }
        guard directorySize <= maximumSize else { throw .tooLarge(limit: maximumSize) }
        guard count * UInt64(ZipFormat.Length.centralHeader) <= directorySize else {
            throw .inconsistent("the central directory is too small for the number of entries")
        }
        return DirectoryLocation(
            offset: directoryOffset, size: Int(directorySize), entries: Int(count))
    }

    /// Returns the end record and its position; its comment has to end exactly where the file ends.
    private static func findEnd(
        in source: ArchiveSource
    ) throws(ZipError.Reason) -> (EndRecord, UInt64) {
        let searchLength = ZipFormat.Length.end + Int(UInt16.max)
        let tailLength = Int(min(source.size, UInt64(searchLength)))
        let tailOffset = source.size - UInt64(tailLength)
        let tail = try source.bytes(tailLength, at: tailOffset)
        var hasSignature = false
        var start = tailLength - ZipFormat.Length.end
        while start >= 0 {
            if tail[start] == 0x50, tail[start + 1] == 0x4b, tail[start + 2] == 5, tail[start + 3] == 6 {
                hasSignature = true
                var reader = try LittleEndianReader(tail, start..<tailLength)
                let (end, isOnlyPart) = try EndRecord.read(&reader)
                if Int(try reader.readUInt16()) == reader.remaining {
                    guard isOnlyPart else { throw several }
                    return (end, tailOffset + UInt64(start))
                }
            }
            start -= 1
        }
        if hasSignature {
            throw .inconsistent("the comment after the end record does not reach the end of the file")
        }
        let head = try source.bytes(Int(min(source.size, 4)), at: 0)
        throw head == [0x50, 0x4b, 3, 4] ? .truncated : .notAnArchive
    }

    /// Returns the ZIP64 end record and its position; nil if the archive has no locator.
    ///
    /// Without a locator, the maximum values in the other record are real values.
    private static func findZip64End(
        in source: ArchiveSource, before endOffset: UInt64
    ) throws(ZipError.Reason) -> (EndRecord, UInt64)? {
        guard endOffset >= UInt64(ZipFormat.Length.zip64Locator) else { return nil }
        let locatorOffset = endOffset - UInt64(ZipFormat.Length.zip64Locator)
        var reader = LittleEndianReader(
            try source.bytes(ZipFormat.Length.zip64Locator, at: locatorOffset))
        // The locator (APPNOTE 4.3.15).
        guard try reader.readUInt32() == ZipFormat.Signature.zip64Locator else { return nil }
        let disk = try reader.readUInt32()
        let offset = try reader.readUInt64()
        // Some tools write a disk count of 0.
        guard disk == 0, try reader.readUInt32() <= 1 else { throw several }
        guard locatorOffset >= UInt64(ZipFormat.Length.zip64End),
            offset <= locatorOffset - UInt64(ZipFormat.Length.zip64End)
        else {
            throw .inconsistent("the ZIP64 locator points outside the archive")
        }
        reader = LittleEndianReader(try source.bytes(ZipFormat.Length.zip64End, at: offset))
        let (record, length, isOnlyPart) = try EndRecord.readZip64(&reader)
        guard isOnlyPart else { throw several }
        guard length == locatorOffset - offset else {
            throw .inconsistent("the ZIP64 end record does not end where its locator starts")
        }
        return (record, offset)
    }

    private static let several = ZipError.Reason.unsupported("several parts (a multi-disk archive)")
}

/// The position of the central directory according to one of the two records at the end of an archive.
private struct EndRecord {
    let entries: UInt64
    let size: UInt64
    let offset: UInt64

    /// Reads an end of central directory record (APPNOTE 4.3.16), whose signature the caller has checked, up to the
    /// length of the comment.
    static func read(
        _ reader: inout LittleEndianReader
    ) throws(ZipError.Reason) -> (record: EndRecord, isOnlyPart: Bool) {
        try reader.skip(4)
        let disks = (try reader.readUInt16(), try reader.readUInt16())
        let entries = (try reader.readUInt16(), try reader.readUInt16())
        let record = EndRecord(
            entries: UInt64(entries.1), size: UInt64(try reader.readUInt32()),
            offset: UInt64(try reader.readUInt32()))
        return (record, disks == (0, 0) && entries.0 == entries.1)
    }

    /// Reads a ZIP64 end of central directory record, version 1 (APPNOTE 4.3.14), up to its extensible data sector.
    static func readZip64(
        _ reader: inout LittleEndianReader
    ) throws(ZipError.Reason) -> (record: EndRecord, length: UInt64, isOnlyPart: Bool) {
        guard try reader.readUInt32() == ZipFormat.Signature.zip64End else {
            throw .inconsistent("there is no ZIP64 end record where the locator says it is")
        }
        let counted = try reader.readUInt64()
        let (length, overflow) = counted.addingReportingOverflow(
            UInt64(ZipFormat.Length.uncountedOfZip64End))
        guard !overflow, length >= UInt64(ZipFormat.Length.zip64End) else {
            throw .inconsistent("the length of the ZIP64 end record is impossible")
        }
        try reader.skip(4)  // The versions "made by" and "needed to extract".
        let disks = (try reader.readUInt32(), try reader.readUInt32())
        let entries = (try reader.readUInt64(), try reader.readUInt64())
        let record = EndRecord(
            entries: entries.1, size: try reader.readUInt64(), offset: try reader.readUInt64())
        return (record, length, disks == (0, 0) && entries.0 == entries.1)
    }

    /// Returns true if all fields that aren't sentinels match the ZIP64 record.
    func agrees(with zip64: EndRecord) -> Bool {
        (entries == UInt64(ZipFormat.sentinel16) || entries == zip64.entries)
            && (size == UInt64(ZipFormat.sentinel32) || size == zip64.size)
            && (offset == UInt64(ZipFormat.sentinel32) || offset == zip64.offset)
    }
}

/// Reads the list of entries and checks everything that can be checked without their content.
enum CentralDirectory {
    static func read(
        from source: ArchiveSource, path: String
    ) throws(ZipError) -> (entries: [ZipEntry], indices: [String: Int]) {
        let location: DirectoryLocation
        var headers: [CentralDirectoryHeader] = []
        do throws(ZipError.Reason) {
            location = try DirectoryLocation.find(in: source)
            var reader = LittleEndianReader(try source.bytes(location.size, at: location.offset))
            headers.reserveCapacity(location.entries)
            while headers.count < location.entries {
                headers.append(try CentralDirectoryHeader(&reader))
            }
            guard reader.remaining == 0 else {
                throw .inconsistent("the central directory is longer than the end record says")
            }
        } catch {
            throw ZipError(archive: path, reason: error)
        }

        let limits = try limits(of: headers, directoryOffset: location.offset, path: path)
        var entries: [ZipEntry] = []
        var indices: [String: Int] = [:]
        entries.reserveCapacity(headers.count)
        indices.reserveCapacity(headers.count)
        for (index, header) in headers.enumerated() {
            let name: String
            do throws(ZipError.Reason) {
                name = try EntryName.decode(header)
            } catch {
                let text = String(decoding: header.unicodeName ?? header.name, as: UTF8.self)
                throw ZipError(archive: path, entry: text, reason: error)
            }
            let entry = ZipEntry(header, name: name, limit: limits[index])
            if let reason = problem(with: header, entry) {
                throw ZipError(archive: path, entry: name, reason: reason)
            }
            guard indices.updateValue(index, forKey: name) == nil else {
                throw ZipError(archive: path, entry: name, reason: .duplicateName)
            }
            entries.append(entry)
        }
        return (entries, indices)
    }

    /// Returns the reason to refuse an entry; nil if it is acceptable.
    private static func problem(
        with header: CentralDirectoryHeader, _ entry: ZipEntry
    ) -> ZipError.Reason? {
        if header.disk != 0 { return .unsupported("several parts (a multi-disk archive)") }
        if header.flags & (ZipFormat.Flag.isEncrypted | ZipFormat.Flag.isMasked) != 0 {
            return .unsupported("encryption")
        }
        if header.isLink { return .symbolicLink }
        if entry.isDirectory, entry.size != 0 {
            return .inconsistent("it is a directory but has content")
        }
        if entry.method == ZipFormat.Method.stored, entry.size != entry.compressedSize {
            return .inconsistent("it is not compressed but has two different sizes")
        }
        return nil
    }

    /// Returns for each entry the offset at which the next entry or the directory starts.
    private static func limits(
        of headers: [CentralDirectoryHeader], directoryOffset: UInt64, path: String
    ) throws(ZipError) -> [UInt64] {
        var limits = [UInt64](repeating: 0, count: headers.count)
        let order = headers.indices.sorted {
            headers[$0].localHeaderOffset > headers[$1].localHeaderOffset
        }
        var limit = directoryOffset
        for index in order {
            let header = headers[index]
            let headerLength = UInt64(ZipFormat.Length.localHeader + header.name.count)
            let start = header.localHeaderOffset
            guard start <= limit, headerLength <= limit - start,
                header.compressedSize <= limit - start - headerLength
            else {
                let name = String(decoding: header.name, as: UTF8.self)
                let reason = ZipError.Reason.inconsistent(
                    "it overlaps another entry or the central directory")
                throw ZipError(archive: path, entry: name, reason: reason)
            }
            limits[index] = limit
            limit = start
        }
        return limits
    }
}
