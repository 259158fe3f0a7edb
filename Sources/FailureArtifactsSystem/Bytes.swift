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

extension String {
    /// Calls `withUTF8` with a typed error.
    package mutating func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUTF8 { buffer in
            Swift.Result { () throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
        }.get()
    }
}
