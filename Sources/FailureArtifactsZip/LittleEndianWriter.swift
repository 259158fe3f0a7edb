/// A builder for the bytes of records.
///
/// ZIP stores all numbers in little-endian order (APPNOTE 4.4.1.1).
struct LittleEndianWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ value: UInt8) {
        bytes.append(value)
    }

    mutating func append(_ value: UInt16) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: [UInt8]) {
        bytes.append(contentsOf: value)
    }

    /// Discards the bytes, once they are written.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }
}
