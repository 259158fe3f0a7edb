import FailureArtifactsBundle
import FailureArtifactsSystem
@testable import FailureArtifactsTestRun
import FailureArtifactsTestStores
import Testing

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

/// The backtrace that Swift prints of a crash.
@Suite struct CrashBacktraceTests {
    private static let log = """
        Swift/ContiguousArrayBuffer.swift:705: Fatal error: Index out of range

        Thread 0 "PackageTests":

          0      0x00007f58e3a92301 sigsuspend + 65 in libc.so.6
        ...

        Thread 2 "oot.default-qos" crashed:

          0      0x00007f58e516df7f _assertionFailure(_:_:file:line:flags:) + 623 in libswiftCore.so
          1 [ra] 0x00005571f5d3a000 isolated<A>(_:) + 1 in PackageTests.xctest at /p/.build/checkouts/DB/DB.swift:7:1
          2 [ra] 0x00005571f647db81 Log.week(of:) + 768 in PackageTests.xctest at /p/Sources/Log/Log.swift:53:9
          3 [ra] 0x00005571f5d42113 LogTests.weeks() + 3042 in PackageTests.xctest at /p/Tests/LogTests/A.swift:20:29
        ...

        Thread 3 "-qos.overcommit":

          0      0x00007f58e3b5ef36 epoll_wait + 86 in libc.so.6

        """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)

    private func cause(_ file: String?, frames: [String]) -> CrashRecovery.Cause {
        var cause = CrashRecovery.Cause.unknown
        (cause.file, cause.line, cause.frames) = (file, 705, frames)
        CrashSources(root: "/p") { $0 == "Log/Log.swift" ? "Sources/Log/Log.swift" : nil }
            .resolvePlace(of: &cause)
        return cause
    }

    @Test func theFramesOfTheThreadThatCrashed() throws {
        let frames = try #require(CrashBacktrace.all(in: Self.log).last).frames
        #expect(frames.count == 5 && frames[0].contains("_assertionFailure"))
        #expect(frames[3].contains("LogTests.weeks()") && frames[4] == "...")
        #expect(CrashBacktrace.all(in: Self.log.filter { !$0.hasSuffix("crashed:") }) == [])
    }

    private static func log(of function: String, _ message: String?) -> [String] {
        (message.map { ["A/A.swift:7: Fatal error: \($0)"] } ?? [])
            + [
                "Thread 0 crashed:", "0 0x7f _assertionFailure(_:) + 1 in a",
                "1 0x7f \(function) + 1 in a", "Registers:",
            ]
    }

    /// Which of several processes wrote a message is told by the test in the backtrace behind it.
    @Test func theCrashOfEachOfSeveralProcesses() throws {
        func test(_ name: String) -> BundleMetadata.Test {
            .init(framework: "XCTest", suite: "LogTests", name: name)
        }
        let processes = (1...4).map { ProcessIdentity(number: $0, start: 1) }
        let (a, b) = (Self.log(of: "LogTests.testA()", "a"), Self.log(of: "LogTests.testB()", "b"))
        func found(_ lines: [String], _ names: [String]) -> [String?] {
            let tests = Dictionary(uniqueKeysWithValues: zip(processes, names.map { [test($0)] }))
            // Both streams may go to the same log.
            return [[], lines].flatMap { output in
                let log = CrashLog(standardError: lines, standardOutput: output, tests: tests)
                return names.indices.map { log.backtrace(of: processes[$0])?.fatal?.message }
            }
        }
        func twice(_ values: [String?]) -> [String?] { values + values }
        #expect(
            found(a + b, ["testA", "testB", "testC"])
                == twice(["Fatal error: a", "Fatal error: b", nil]))
        // The same test in two processes, and two crashes of the same test.
        #expect(found(a + b, ["testA", "testA", "testB"]) == twice([nil, nil, "Fatal error: b"]))
        let again = Self.log(of: "LogTests.testA()", "c")
        #expect(found(a + again, ["testA", "testB"]) == twice([nil, nil]))
        // Mixed lines, or a crash by a signal.
        #expect(found([a[0]] + b + a[1...], ["testA", "testB"]) == twice([nil, nil]))
        let signal = Self.log(of: "LogTests.testA()", nil)
        #expect(found(signal + b, ["testA", "testB"]) == twice([nil, "Fatal error: b"]))
    }

    @Test func aCheckInTheStandardLibraryHasThePlaceOfItsCaller() throws {
        let frames = try #require(CrashBacktrace.all(in: Self.log).last).frames
        let found = cause("Swift/ContiguousArrayBuffer.swift", frames: frames)
        #expect(found.file == "/p/Sources/Log/Log.swift" && found.line == 53)
        // The line of a caller further out is not the place.
        let unknown = frames.map { $0.replacing("Log.swift:53:9", with: "Log.swift") }
        for frames in [unknown, []] {
            let found = cause("Swift/ContiguousArrayBuffer.swift", frames: frames)
            #expect(found.file == nil && found.line == nil)
        }
    }

    @Test(arguments: [
        ("Log/Log.swift", "/p/Sources/Log/Log.swift"), ("Other/Log.swift", "Other/Log.swift"),
        ("/q/Swift/A.swift", "/q/Swift/A.swift"),
    ]) func theFileOfAModule(file: String, expected: String) {
        let found = cause(file, frames: [])
        #expect(found.file == expected && found.line == 705)
    }
}
