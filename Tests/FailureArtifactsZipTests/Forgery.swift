/// The bytes of an archive, and the offsets of its records.
///
/// The first entry has a name of four bytes.
struct Forgery: Sendable {
    var bytes: [UInt8]
    /// The offset of the central directory.
    let central: Int
    /// The offset of the directory's second header.
    let second: Int
    /// The offset of the end record, which has no comment.
    var end: Int
    /// The first entry's compressed size, in bytes.
    let compressedSize: UInt32

    init(_ archive: [UInt8]) {
        func get32(_ offset: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 | UInt32(archive[offset + $1]) << UInt32(8 * $1) }
        }
        bytes = archive
        end = archive.count - 22
        central = Int(get32(end + 16))
        second = central + 46 + 4 + 9
        compressedSize = get32(central + 20)
    }

    mutating func set16(_ offset: Int, _ value: UInt16) {
        for byte in 0..<2 { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt16(8 * byte)) }
    }

    mutating func set32(_ offset: Int, _ value: UInt32) {
        for byte in 0..<4 { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt32(8 * byte)) }
    }

    mutating func set64(_ offset: Int, _ value: UInt64) {
        for byte in 0..<8 { bytes[offset + byte] = UInt8(truncatingIfNeeded: value >> UInt64(8 * byte)) }
    }

    /// Sets the first entry's size in both headers.
    mutating func setSizes(_ size: UInt32) {
        set32(22, size)
        set32(central + 24, size)
    }

    /// Sets the first entry's compressed size in both headers.
    mutating func setCompressedSizes(_ size: UInt32) {
        set32(18, size)
        set32(central + 20, size)
    }

    /// Replaces the name in a central header by another name of four bytes.
    mutating func rename(_ header: Int, _ name: String) {
        bytes.replaceSubrange(header + 46..<header + 50, with: name.utf8)
    }
}
