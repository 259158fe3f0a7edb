internal import FailureArtifactsZip

/// Values that are in a ZIP64 block because they don't fit in their field (APPNOTE 4.4.1.4).
enum Zip64 {
    /// Returns the value of a 32-bit field, from the ZIP64 block if the field is the sentinel.
    ///
    /// The block has values only for such fields, so the caller has to ask in the fixed order: size, compressed size,
    /// offset (APPNOTE 4.5.3). Zero is an ordinary value.
    static func value(
        _ field: UInt32, _ block: inout LittleEndianReader?
    ) throws(ZipError.Reason) -> UInt64 {
        guard field == ZipFormat.sentinel32 else { return UInt64(field) }
        guard let value = try? block?.readUInt64() else {
            throw .inconsistent("a ZIP64 value that its header refers to is missing")
        }
        return value
    }
}
