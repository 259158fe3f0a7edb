internal import FailureArtifactsSystem

/// The identifier that a linker computes from a file's content.
enum BuildID {
    /// Reads the identifier of an ELF file; nil if it has none or can't be read.
    static func ofFile(_ path: String) -> String? {
        guard let file = try? File(reading: path), let header = bytes(of: file, at: 0, count: 64),
            header.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1])
        else { return nil }
        // elf(5): the table of segments, and the segments with notes.
        let (size, count) = (Int(header.number(at: 54) as UInt16), Int(header.number(at: 56) as UInt16))
        guard size >= 56,
            let table = bytes(of: file, at: header.number(at: 32), count: size * count)
        else { return nil }
        for segment in stride(from: 0, to: table.count, by: size)
        where table.number(at: segment) as UInt32 == 4 {
            let length: UInt64 = table.number(at: segment + 32)
            guard length <= 1 << 16,
                let notes = bytes(of: file, at: table.number(at: segment + 8), count: Int(length))
            else { continue }
            if let identifier = identifier(in: notes) { return identifier }
        }
        return nil
    }

    /// Finds the note `NT_GNU_BUILD_ID`.
    private static func identifier(in notes: [UInt8]) -> String? {
        var position = 0
        while position + 12 <= notes.count {
            let name = Int(notes.number(at: position) as UInt32)
            let content = Int(notes.number(at: position + 4) as UInt32)
            let start = position + 12 + (name + 3) / 4 * 4
            guard start + content <= notes.count else { return nil }
            if notes.number(at: position + 8) as UInt32 == 3,
                notes[(position + 12)...].starts(with: Array("GNU\0".utf8))
            {
                return notes[start..<(start + content)].withUnsafeBytes(text)
            }
            position = start + (content + 3) / 4 * 4
        }
        return nil
    }

    /// Returns an identifier in hexadecimal.
    static func text(_ identifier: UnsafeRawBufferPointer) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: identifier.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Reads bytes; nil if there are fewer.
    private static func bytes(of file: borrowing File, at offset: UInt64, count: Int) -> [UInt8]? {
        guard offset <= UInt64(Int64.max), let bytes = try? file.bytes(count, at: offset) else {
            return nil
        }
        return bytes.count == count ? bytes : nil
    }
}

extension [UInt8] {
    /// Reads a little-endian number.
    fileprivate func number<Number: FixedWidthInteger>(at position: Int) -> Number {
        withUnsafeBytes {
            Number(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: Number.self))
        }
    }
}
