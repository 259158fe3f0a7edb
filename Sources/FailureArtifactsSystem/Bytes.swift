extension Array where Element == UInt8 {
    /// Calls `withUnsafeBytes` with a typed error.
    package func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes { buffer in
            Swift.Result { () throws(Failure) in try body(buffer) }
        }.get()
    }

    /// Calls `withUnsafeMutableBytes` with a typed error.
    package mutating func withMutableBytes<Result, Failure>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBytes { buffer in
            Swift.Result { () throws(Failure) in try body(buffer) }
        }.get()
    }
}

// The C library's headers have it only with a macro that Swift does not define.
@_silgen_name("memmem")
private func memmem(
    _ bytes: UnsafeRawPointer, _ count: Int, _ needle: UnsafeRawPointer, _ needleCount: Int
) -> UnsafeMutableRawPointer?

extension UnsafeRawBufferPointer {
    /// True if these bytes have `needle` in one piece somewhere.
    package func holds(_ needle: UnsafeRawBufferPointer) -> Bool {
        guard let start = needle.baseAddress, needle.count > 0 else { return true }
        return baseAddress.map { memmem($0, count, start, needle.count) != nil } ?? false
    }

    /// True if these bytes have the UTF-8 of `text` in one piece somewhere.
    package func holds(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { holds(UnsafeRawBufferPointer($0)) }
    }
}

extension Array {
    package var nonEmpty: Self? { isEmpty ? nil : self }
}
