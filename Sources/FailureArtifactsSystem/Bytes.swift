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

/// The hash function FNV-1a with 64 bits (draft-eastlake-fnv), which defends against no attacker.
package struct FNV1a {
    /// The hash of all bytes so far.
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    /// Adds bytes.
    package mutating func combine(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
}
