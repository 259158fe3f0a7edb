import FailureArtifactsSystem
import Testing

/// Numbers as text and the standard library's generic shifts serve as the reference.
@Suite struct IntegersTests {
    /// The limits of the types, and their neighbors.
    @Test(arguments: [
        "-9223372036854775808", "-2147483649", "-2147483648", "-2147483647", "-129", "-1", "0", "1",
        "127", "128", "255", "256", "32767", "32768", "65535", "65536", "2147483647", "2147483648",
        "4294967295", "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551615",
    ])
    func conversions(_ text: String) {
        if let source = Int32(text) {
            #expect(String(Int(source)) == text)
            #expect(String(Int64(source)) == text)
        }
        if let source = Int64(text) { #expect(String(Int(source)) == text) }
        if let source = UInt8(text) {
            #expect(String(Int(source)) == text)
            #expect(String(UInt64(source)) == text)
        }
        if let source = UInt16(text) {
            #expect(String(Int(source)) == text)
            #expect(String(Int64(source)) == text)
            #expect(String(UInt32(source)) == text)
            #expect(String(UInt64(source)) == text)
        }
        if let source = UInt32(text) {
            #expect(String(Int(source)) == text)
            #expect(String(UInt(source)) == text)
            #expect(String(UInt64(source)) == text)
        }
        if let source = UInt(text) { #expect(String(UInt64(source)) == text) }
        if let source = UInt64(text) {
            #expect(String(UInt(source)) == text)
            if Int(text) != nil { #expect(String(Int(source)) == text) }
            if UInt32(text) != nil { #expect(String(UInt32(source)) == text) }
        }
        if let source = Int(text) {
            #expect(String(Int64(source)) == text)
            if Int32(text) != nil { #expect(String(Int32(source)) == text) }
            if UInt32(text) != nil { #expect(String(UInt32(source)) == text) }
            if UInt64(text) != nil { #expect(String(UInt64(source)) == text) }
        }
    }

    @Test(arguments: [-65, -64, -63, -17, -1, 0, 1, 8, 15, 16, 31, 32, 63, 64, 65] as [Int])
    func shifts(_ count: Int) {
        // With another type, the compiler chooses the standard library's operators.
        let same = Int16(count)
        for value in [0, 1, -1, 42, .min, .max] as [Int] {
            #expect(value << count == value << same)
            #expect(value >> count == value >> same)
            let (long, short) = (UInt64(bitPattern: Int64(value)), UInt16(truncatingIfNeeded: value))
            #expect(long << count == long << same)
            #expect(long >> count == long >> same)
            #expect(short << count == short << same)
            #expect(short >> count == short >> same)
            let word = UInt32(truncatingIfNeeded: value)
            #expect(word << count == word << same)
            #expect(word >> count == word >> same)
            #expect(Int64(value) << count == Int64(value) << same)
        }
    }

    @Test func largestValues() {
        #expect(UInt64.max == 0xFFFF_FFFF_FFFF_FFFF)
        #expect(UInt32.max == 0xFFFF_FFFF)
        #expect(UInt16.max == 0xFFFF)
    }

    @Test func valuesThatDoNotFitTrap() async {
        await #expect(processExitsWith: .failure) { _ = UInt64(Int(-1)) }
        await #expect(processExitsWith: .failure) { _ = UInt32(Int(-1)) }
        await #expect(processExitsWith: .failure) { _ = UInt32(Int(0x1_0000_0000)) }
        await #expect(processExitsWith: .failure) { _ = UInt32(UInt64(0x1_0000_0000)) }
        await #expect(processExitsWith: .failure) { _ = Int(UInt64(0x8000_0000_0000_0000)) }
        await #expect(processExitsWith: .failure) { _ = Int32(Int(0x8000_0000)) }
        await #expect(processExitsWith: .failure) { _ = Int32(Int(-0x8000_0001)) }
    }
}
