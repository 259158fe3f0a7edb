/// The running checksum of a WAL (<https://www.sqlite.org/fileformat2.html#checksum_algorithm>).
///
/// It covers pairs of 32-bit words and continues from frame to frame. The loops are fast without the optimizer
/// too, because an integer's operators and a pointer's subscript are inlined anyway.
struct WriteAheadLogChecksum: Equatable {
    private(set) var first: UInt32 = 0
    private(set) var second: UInt32 = 0
    private let isSwapped: Bool

    /// Creates the checksum of no words, which are big-endian if the WAL's magic number says so.
    init(isBigEndian: Bool) {
        isSwapped = isBigEndian != (UInt32(1).bigEndian == 1)
    }

    /// Continues over `bytes`; bytes after the last multiple of 8 are ignored.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        if UInt(bitPattern: base) % 4 == 0 {
            let words = base.assumingMemoryBound(to: UInt32.self)
            isSwapped ? updateSwapped(words, bytes.count / 8) : update(words, bytes.count / 8)
        } else {
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
            defer { copy.deallocate() }
            copy.copyMemory(from: bytes)
            update(UnsafeRawBufferPointer(copy))
        }
    }

    private mutating func update(_ words: UnsafePointer<UInt32>, _ pairs: Int) {
        var sum0 = first
        var sum1 = second
        var index = 0
        while index < pairs &* 2 {
            sum0 = sum0 &+ words[index] &+ sum1
            sum1 = sum1 &+ words[index &+ 1] &+ sum0
            index = index &+ 2
        }
        first = sum0
        second = sum1
    }

    private mutating func updateSwapped(_ words: UnsafePointer<UInt32>, _ pairs: Int) {
        var sum0 = first
        var sum1 = second
        var index = 0
        while index < pairs &* 2 {
            sum0 = sum0 &+ words[index].byteSwapped &+ sum1
            sum1 = sum1 &+ words[index &+ 1].byteSwapped &+ sum0
            index = index &+ 2
        }
        first = sum0
        second = sum1
    }

    /// Returns true if two big-endian words, as a WAL stores them, equal this checksum.
    func isStored(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        bytes.bigEndianUInt32(at: offset) == first && bytes.bigEndianUInt32(at: offset + 4) == second
    }
}

extension UnsafeRawBufferPointer {
    /// Returns the number at an offset, in the byte order of SQLite's files; the offset must be within bounds.
    package func bigEndianUInt32(at offset: Int) -> UInt32 {
        UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    package func bigEndianUInt16(at offset: Int) -> UInt16 {
        UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self))
    }
}
