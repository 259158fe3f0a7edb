extension Array where Element == UInt8 {
    /// `withUnsafeBytes` that passes on the type of the error.
    package func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeBytes { buffer in
            Swift.Result { () throws(Failure) in try body(buffer) }
        }.get()
    }

    /// `withUnsafeMutableBytes` that passes on the type of the error.
    package mutating func withMutableBytes<Result, Failure>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUnsafeMutableBytes { buffer in
            Swift.Result { () throws(Failure) in try body(buffer) }
        }.get()
    }
}

extension String {
    /// `withUTF8` that passes on the type of the error.
    package mutating func withBytes<Result, Failure>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try withUTF8 { buffer in
            Swift.Result { () throws(Failure) in try body(UnsafeRawBufferPointer(buffer)) }
        }.get()
    }
}
