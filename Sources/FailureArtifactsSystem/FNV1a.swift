/// The hash FNV-1a with 64 bits (draft-eastlake-fnv).
///
/// It tells a few hundred thousand values apart, and is no protection against forged ones.
package struct FNV1a {
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }
}
