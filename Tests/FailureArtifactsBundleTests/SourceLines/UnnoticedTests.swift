#if os(Linux)
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

/// A process doesn't notice the symbolizer.
///
/// `unnoticed.c` is that process.
@Suite(.serialized) struct UnnoticedTests {
    private static let sanitizers = ["none", "address", "thread"]

    /// Builds the program, and returns its path.
    private func build(_ sanitizer: String, in scratch: borrowing Scratch) throws -> String {
        let tests = URL(filePath: #filePath).deletingLastPathComponent()
        let sources = tests.appending(path: "../../../Sources/CFailureArtifactsShared").standardized
            .path
        let program = scratch.path + "/unnoticed"
        var objects: [String] = []
        for file in [sources + "/child.c", tests.path + "/unnoticed.c"] {
            let object = "\(program)-\(objects.count).o"
            let flags = sanitizer == "none" ? [] : ["-fsanitize=\(sanitizer)"]
            try succeed(["clang", "-O1", "-c", "-I\(sources)/include", file, "-o", object] + flags)
            objects.append(object)
        }
        // Swift's linker finds the libraries of the sanitizers.
        let flags = sanitizer == "none" ? [] : ["-sanitize=\(sanitizer)"]
        try succeed(["swiftc"] + objects + ["-o", program] + flags)
        return program
    }

    private func succeed(_ command: [String]) throws {
        let result = try runProgram(command)
        try #require(result.status == 0, "\(result.output)")
    }

    @Test(arguments: sanitizers) func aProcessDoesNotNoticeTheProgram(sanitizer: String) throws {
        let scratch = try Scratch()
        let program = try build(sanitizer, in: scratch)
        let output = scratch.path + "/output"
        for test in ["plain", "ignored", "waiting", "adopts", "busy"] {
            let result = try runProgram([program, test, output])
            let lines = result.text.split(separator: "\n")
            #expect(
                result.status == 0 && lines.allSatisfy { Int32($0) ?? 0 > 0 },
                "\(test): \(result.output)")
            if test == "busy" { continue }
            // The standard streams, and the directory that `ls` lists.
            let text = try String(contentsOfFile: output, encoding: .utf8)
            let targets = text.split(separator: "\n").compactMap {
                $0.components(separatedBy: " -> ").dropFirst().first
            }
            #expect(targets == ["/dev/null", output, "/dev/null"], "\(test): \(text)")
        }
    }

    @Test(arguments: ["no-clone", "no-close-range"])
    func aSandboxMayForbidTheProgram(test: String) throws {
        let scratch = try Scratch()
        let result = try runProgram([build("none", in: scratch), test, scratch.path + "/output"])
        #expect(result.status == 0 && result.text == "0")
    }

    /// The program also ends if the process is killed.
    @Test(arguments: ["slow", "killed"]) func theProgramEndsAtTheTimeLimit(test: String) throws {
        let scratch = try Scratch()
        let result = try runProgram([build("none", in: scratch), test, scratch.path + "/output"])
        #expect(result.wasKilled == (test == "killed"))
        let number = try #require(Int32(result.text))
        let start = Instant.now
        while start.elapsed < 30, ProcessEntry(of: number)?.hasEnded == false {
            sleep(microseconds: 5000)
        }
        #expect(ProcessEntry(of: number)?.hasEnded != false)
    }
}
#endif
