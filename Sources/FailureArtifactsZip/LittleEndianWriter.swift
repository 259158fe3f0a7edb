/// Collects the bytes of records; the counterpart of ``LittleEndianReader``.
struct LittleEndianWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ value: UInt8) {
        bytes.append(value)
    }

    mutating func append(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value))
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
    }

    mutating func append(_ value: UInt32) {
        append(UInt16(truncatingIfNeeded: value))
        append(UInt16(truncatingIfNeeded: value >> 16))
    }

    mutating func append(_ value: UInt64) {
        append(UInt32(truncatingIfNeeded: value))
        append(UInt32(truncatingIfNeeded: value >> 32))
    }

    mutating func append(_ value: [UInt8]) {
        bytes.append(contentsOf: value)
    }

    /// Forgets what was collected, once it is written.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
    }
}
