import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsAnalysis

/// Compares the parser with the output of Python's `plistlib` and of Foundation.
@Suite struct PropertyListTests {
    private static let program = """
        import datetime, plistlib, sys
        sys.stdout.write(plistlib.dumps({
            "hashes": {"果物": bytes(range(32)), "Fruit": b""},
            "names": ["", "V2", "é", "x" * 300], "yes": True, "no": False,
            "numbers": [0, 255, 65535, 1 << 40, -1, -(1 << 63)], "half": 0.5,
            "day": datetime.datetime(2001, 1, 1, 0, 1), "many": list(range(300)),
        }, fmt=plistlib.FMT_BINARY).hex())
        """

    private static func sample() throws -> [UInt8] {
        let text = try Program.python(program, "")
        let digits = Array(text.utf8)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
    }

    @Test func allThatPythonWrites() throws {
        let list = try #require(PropertyList(Self.sample()))
        #expect(list["hashes"]?["果物"] == .data(Array(0..<32)))
        #expect(list["hashes"]?["Fruit"] == .data([]))
        #expect(
            list["names"]
                == .array([
                    .string(""), .string("V2"), .string("é"),
                    .string(String(repeating: "x", count: 300)),
                ]))
        #expect(list["yes"] == .boolean(true))
        #expect(list["no"] == .boolean(false))
        let numbers = [0, 255, 65535, 1 << 40, -1, Int64.min]
        #expect(list["numbers"] == .array(numbers.map { .integer($0) }))
        #expect(list["half"] == .real(0.5))
        #expect(list["day"] == .date(60))
        #expect(list["many"] == .array((0..<300).map { .integer($0) }))
        #expect(list["none"] == nil)
        #expect(list["half"]?["x"] == nil)
    }

    @Test func foundationReadsTheSame() throws {
        let value: [String: Any] = ["a": ["b", Data([1, 2])], "ü": 7]
        let data = try PropertyListSerialization.data(
            fromPropertyList: value, format: .binary, options: 0)
        #expect(
            PropertyList(Array(data))
                == .dictionary(["a": .array([.string("b"), .data([1, 2])]), "ü": .integer(7)]))
    }

    @Test func aListThatIsTooLargeIsNone() throws {
        for (size, isRead) in [(1 << 19, true), (1 << 20, false)] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: Data(count: size), format: .binary, options: 0)
            #expect((PropertyList(Array(data)) != nil) == isRead)
        }
    }

    /// A damaged list is read as another list or rejected, without delay.
    @Test func damage() throws {
        let sample = try Self.sample()
        for length in 0..<sample.count { #expect(PropertyList(Array(sample[..<length])) == nil) }
        let seed = UInt64.random(in: 0 ... .max)
        var generator = Seeded(state: seed)
        var read = 0
        for _ in 0..<3000 {
            var bytes = sample
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                // The trailer locates everything else, so it is changed as often as the rest.
                let isTrailer = Bool.random(using: &generator)
                let range = isTrailer ? bytes.count - 32..<bytes.count : 8..<bytes.count
                bytes[Int.random(in: range, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            if PropertyList(bytes) != nil { read += 1 }
        }
        #expect(read < 3000, "seed \(seed)")
    }

    /// Nested arrays that reference an array twice at each level, and an array that contains itself.
    @Test func referencesThatGrow() {
        func list(_ objects: [[UInt8]]) -> [UInt8] {
            var bytes = Array("bplist00".utf8)
            var offsets: [UInt8] = []
            for object in objects {
                offsets.append(UInt8(bytes.count))
                bytes += object
            }
            let table = UInt8(bytes.count)
            bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
            return bytes + [0, 0, 0, 0, 0, 0, 0, UInt8(objects.count)] + [0, 0, 0, 0, 0, 0, 0, 0]
                + [0, 0, 0, 0, 0, 0, 0, table]
        }
        #expect(PropertyList(list([[0xA1, 1], [0x08]])) == .array([.boolean(false)]))
        #expect(PropertyList(list([[0xA1, 0]])) == nil)
        let shallow = (0..<14).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] } + [[UInt8(0x08)]]
        #expect(PropertyList(list(shallow)) == nil)
        let few = (0..<5).map { [0xA2, UInt8($0 + 1), UInt8($0 + 1)] } + [[UInt8(0x08)]]
        #expect(PropertyList(list(few)) != nil)
        let deep = (0..<20).map { [0xA1, UInt8($0 + 1)] } + [[UInt8(0x08)]]
        #expect(PropertyList(list(deep)) == nil)
    }

    private struct Seeded: RandomNumberGenerator {
        var state: UInt64

        // https://prng.di.unimi.it/splitmix64.c
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var z = state
            z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
            z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
            return z ^ (z >> 31)
        }
    }
}
