import FailureArtifactsBundle
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsTestRun

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
