internal import FailureArtifactsZip

/// A cursor over bytes of an archive.
///
/// All numbers of an archive are read through it. ZIP stores all numbers in little-endian order (APPNOTE 4.4.1.1).
/// Every read is checked against the end of the bytes and throws ``ZipError/Reason/truncated`` beyond it.
struct LittleEndianReader {
    private let bytes: [UInt8]
    private let end: Int
    private(set) var position: Int

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        position = 0
        end = bytes.count
    }

    /// Creates a cursor over a part of the bytes.
    init(_ bytes: [UInt8], _ range: Range<Int>) throws(ZipError.Reason) {
        guard range.lowerBound >= 0, range.upperBound <= bytes.count else { throw .truncated }
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    var remaining: Int { end - position }

    mutating func readByte() throws(ZipError.Reason) -> UInt8 {
        guard remaining >= 1 else { throw .truncated }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func readUInt16() throws(ZipError.Reason) -> UInt16 {
        guard remaining >= 2 else { throw .truncated }
        defer { position += 2 }
        return UInt16(bytes[position]) | UInt16(bytes[position + 1]) << 8
    }

    mutating func readUInt32() throws(ZipError.Reason) -> UInt32 {
        guard remaining >= 4 else { throw .truncated }
        let low = UInt32(try readUInt16())
        return UInt32(try readUInt16()) << 16 | low
    }

    mutating func readUInt64() throws(ZipError.Reason) -> UInt64 {
        guard remaining >= 8 else { throw .truncated }
        let low = UInt64(try readUInt32())
        return UInt64(try readUInt32()) << 32 | low
    }

    mutating func readBytes(_ count: Int) throws(ZipError.Reason) -> [UInt8] {
        let start = position
        try skip(count)
        return Array(bytes[start..<position])
    }

    /// Returns a cursor over the next `count` bytes, and skips them.
    mutating func readPart(_ count: Int) throws(ZipError.Reason) -> LittleEndianReader {
        let start = position
        try skip(count)
        return try LittleEndianReader(bytes, start..<position)
    }

    mutating func skip(_ count: Int) throws(ZipError.Reason) {
        guard count >= 0, count <= remaining else { throw .truncated }
        position += count
    }
}
