/// An archive's bytes, and where the numbers in it are.
///
/// The first entry has a name of four bytes.
struct Forgery: Sendable {
    var bytes: [UInt8]
    /// Where the central directory starts.
    let central: Int
    /// Where its second header starts.
    let second: Int
    /// Where the end record starts; there is no comment.
    var end: Int
    /// Of the first entry.
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

    /// Gives the entry of a central header another name of four bytes.
    mutating func rename(_ header: Int, _ name: String) {
        bytes.replaceSubrange(header + 46..<header + 50, with: name.utf8)
    }
}
