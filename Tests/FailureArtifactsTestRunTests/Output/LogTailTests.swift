import FailureArtifactsSystem
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsTestRun

@Suite struct LogTailTests {
    /// Compares the tail with a simple implementation, with pieces of all sizes.
    @Test(arguments: 0..<40) func theEndAndTheLinesOfRandomText(_ seed: UInt64) {
        var numbers = SplitMix(seed: seed)
        let limit = Int(numbers.next(below: 300)) + 1
        let lines = Lock<[[UInt8]]>([])
        let tail = LogTail(limit: limit) { line in lines.withLock { $0.append(line) } }
        var all: [UInt8] = []
        for _ in 0..<numbers.next(below: 40) {
            let piece = (0..<numbers.next(below: 500)).map { _ in
                numbers.next(below: 20) == 0 ? UInt8(ascii: "\n") : UInt8(numbers.next(below: 256))
            }
            all += piece
            piece.withUnsafeBytes { tail.append($0) }
            #expect(tail.bytes == all.suffix(limit), "seed \(seed)")
        }
        tail.finish()
        var expected = all.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if expected.last?.isEmpty == true { expected.removeLast() }
        #expect(lines.withLock(\.self) == expected.map(Array.init), "seed \(seed)")
    }

    @Test func linesOfTheTail() {
        let tail = LogTail(limit: 10)
        func append(_ text: String) { Array(text.utf8).withUnsafeBytes { tail.append($0) } }
        append("ab\ncd")
        #expect(tail.lines == ["ab", "cd"])
        append("\r\n\nf")
        #expect(tail.lines == ["ab", "cd", "", "f"])
        // The start of the first line was dropped.
        append("ghi")
        #expect(tail.lines == ["cd", "", "fghi"])
        append("\n\u{FF}é")
        #expect(tail.lines == ["fghi", "\u{FF}é"])
    }

    @Test func aLongLineIsCut() {
        let lines = Lock<[Int]>([])
        let tail = LogTail { line in lines.withLock { $0.append(line.count) } }
        let text = Array(repeating: UInt8(ascii: "x"), count: 100_000)
        for piece in [text, text, [10, 97, 10]] { piece.withUnsafeBytes { tail.append($0) } }
        #expect(lines.withLock(\.self) == [LogTail.lineLimit, 1])
        #expect(tail.bytes.count == 64 << 10)
        #expect(tail.lines == ["a"])
    }

    @Test(arguments: [
        ("Shop/Cart.swift:42: Fatal error: Index out of range", "Shop/Cart.swift", 42),
        ("Fatal error: Index out of range", nil, nil), ("Fatal error", nil, nil),
        ("a: b/c d.swift:7: Assertion failed: x: y", "a: b/c d.swift", 7),
        ("x.swift:1: Precondition failed\r", "x.swift", 1),
    ])
    func fatalMessages(_ line: String, _ file: String?, _ number: Int?) throws {
        let message = try #require(FatalMessage(line: line))
        #expect(message.file == file && message.line == number)
        #expect(line.contains(message.message) && !message.message.hasSuffix("\r"))
        #expect(["Fatal", "Asser", "Preco"].contains(message.message.prefix(5)))
    }

    @Test(arguments: [
        "", "Fatal errors", "a Fatal error: b", "x.swift: Fatal error: y", "log: Fatal error: z",
        ":3: Fatal error",
    ])
    func otherLines(_ line: String) {
        #expect(FatalMessage(line: line) == nil)
    }

    /// Messages that the runtime really prints.
    @Test func theRuntimesOwnMessages() async throws {
        let fatal = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { fatalError("the money is gone") }
        let broken = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { precondition(CommandLine.argc < 0, "no arguments") }
        for (result, text) in [
            (fatal, "Fatal error: the money is gone"), (broken, ": no arguments"),
        ] {
            let tail = LogTail()
            try #require(result).standardErrorContent.withUnsafeBytes { tail.append($0) }
            let messages = FatalMessage.all(in: tail.lines)
            #expect(messages.count == 1)
            #expect(messages.first?.message.hasSuffix(text) == true)
            #expect(messages.first?.file?.hasSuffix("LogTailTests.swift") == true)
            #expect(messages.first?.line ?? 0 > 70)
        }
    }
}
