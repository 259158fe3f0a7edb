import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The program that finds lines, and programs in its place that misbehave.
@Suite struct SymbolizerTests {
    private static let real = Symbolizer.findProgram(
        searchPath: ProcessInfo.processInfo.environment["PATH"] ?? "")

    private func frames(
        of stack: [UInt64], by symbolizer: Symbolizer, _ scratch: borrowing Scratch
    ) -> [UInt64: [StatementRecord.Source]] {
        let executable = LoadedImages.current.images.prefix(1)
        return symbolizer.frames(
            at: Set(stack), in: LoadedImages(images: Array(executable), workingDirectory: "/"),
            scratch: scratch.path)
    }

    @Test func theProgramBesideSwiftIsFound() throws {
        let scratch = try Scratch()
        let text = "#!/bin/sh\n"
        let inToolchain = try scratch.write(text, to: "toolchain/llvm-symbolizer", permissions: 0o700)
        try scratch.write(text, to: "toolchain/swift-driver", permissions: 0o700)
        let other = try scratch.write(text, to: "other/llvm-symbolizer", permissions: 0o700)
        try scratch.write(text, to: "none/llvm-symbolizer")
        try scratch.write("", to: "bin/x")
        #expect(symlink("../toolchain/swift-driver", scratch.path + "/bin/swift") == 0)
        let folders = ["none", "other", "bin"].map { "\(scratch.path)/\($0)" }
        #expect(Symbolizer.findProgram(searchPath: folders.joined(separator: ":")) == inToolchain)
        let withoutSwift = folders.dropLast().joined(separator: ":")
        #expect(Symbolizer.findProgram(searchPath: withoutSwift) == other)
        #expect(Symbolizer.findProgram(searchPath: folders[0]) == nil)
        #expect(Symbolizer.findProgram(searchPath: "") == nil)
    }

    @Test func eachAddressIsLookedUpOnce() throws {
        let scratch = try Scratch()
        let real = try #require(Self.real)
        let program = try scratch.write(
            "#!/bin/sh\necho run >> \(scratch.path)/runs\nexec \(real) \"$@\"\n", to: "program",
            permissions: 0o700)
        let symbolizer = Symbolizer(program: program, timeLimit: 60)
        let stack = try returnAddresses()
        let first = frames(of: stack, by: symbolizer, scratch)
        #expect(first[stack[0]]?.first?.function == "SymbolizerTests.eachAddressIsLookedUpOnce()")
        #expect(frames(of: stack, by: symbolizer, scratch) == first)
        let runs = try String(contentsOfFile: scratch.path + "/runs", encoding: .utf8)
        #expect(runs == "run\n")
    }

    @Test func aProgramThatHangsIsEndedAndNotRunAgain() throws {
        let scratch = try Scratch()
        let program = try scratch.write(
            "#!/bin/sh\necho $$ >> \(scratch.path)/runs\nexec sleep 60\n", to: "program",
            permissions: 0o700)
        let symbolizer = Symbolizer(program: program, timeLimit: 1)
        let start = Instant.now
        for _ in 0..<2 { #expect(try frames(of: returnAddresses(), by: symbolizer, scratch).isEmpty) }
        #expect((1..<20).contains(start.elapsed))
        let runs = try String(contentsOfFile: scratch.path + "/runs", encoding: .utf8).split(
            separator: "\n")
        try #require(runs.count == 1)
        let number = try #require(Int32(runs[0]))
        while start.elapsed < 30, ProcessEntry(of: number)?.hasEnded == false {
            sleep(microseconds: 5000)
        }
        #expect(ProcessEntry(of: number)?.hasEnded != false)
    }

    /// The results before the time limit count.
    @Test func aProgramThatIsTooSlowHasSomeResults() throws {
        let scratch = try Scratch()
        let program = try scratch.write(
            #"""
            #!/bin/sh
            sed 's|.* \(0x[0-9a-f]*\)$|{"Address":"\1","Symbol":[{"FunctionName":"f","FileName":"/f","Line":1}]}|'
            printf '{"Addr'
            exec sleep 60

            """#, to: "program", permissions: 0o700)
        let symbolizer = Symbolizer(program: program, timeLimit: 5)
        let stack = try returnAddresses()
        let frame = StatementRecord.Source(file: "/f", function: "f", line: 1)
        #expect(frames(of: stack, by: symbolizer, scratch)[stack[0]] == [frame])
    }

    @Test(arguments: [
        "exit 1", "echo nonsense", "kill -9 $$", "cat", "head -c 1000 /dev/zero", "echo '{}'; echo '[]'",
        #"echo '{"Address":"0x1","Symbol":[{"FunctionName":"f","FileName":"/f","Line":1}]}'"#,
    ])
    func wrongOutputHasNoLines(script: String) throws {
        let scratch = try Scratch()
        let program = try scratch.write("#!/bin/sh\n\(script)\n", to: "program", permissions: 0o700)
        let symbolizer = Symbolizer(program: program, timeLimit: 60)
        #expect(try frames(of: returnAddresses(), by: symbolizer, scratch).isEmpty)
        try FileSystem.remove(program)
        try scratch.write("not a program", to: "program", permissions: 0o700)
        #expect(try frames(of: returnAddresses(), by: symbolizer, scratch).isEmpty)
        try FileSystem.remove(program)
        #expect(try frames(of: returnAddresses(), by: symbolizer, scratch).isEmpty)
    }

    @Test func loadedFilesAreUnchanged() {
        let images = LoadedImages.current.images
        #expect(images.count > 3)
        for image in images { #expect(image.isUnchanged, "\(image.path)") }
    }
}
