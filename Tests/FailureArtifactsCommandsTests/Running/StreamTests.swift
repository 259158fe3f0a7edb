import FailureArtifactsAnalysis
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// The command's input and output are the same as without the tool.
@Suite struct StreamTests {
    @Test func tenMegabytesOfAnythingOnBothStreams() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            import hashlib, random
            with open("writer.py", "w") as file:
                file.write('''
            import os, random
            numbers = random.Random(7)
            block = {1: numbers.randbytes(10 << 20), 2: numbers.randbytes(10 << 20)}
            done = {1: 0, 2: 0}
            while done != {1: 10 << 20, 2: 10 << 20}:
                stream = numbers.choice((1, 2))
                start = done[stream]
                done[stream] += os.write(stream, block[stream][start:start + numbers.randrange(1, 200000)])
            ''')
            numbers = random.Random(7)
            expected = [hashlib.sha256(numbers.randbytes(10 << 20)).hexdigest() for _ in range(2)]
            with open("out", "wb") as out, open("err", "wb") as err:
                assert run("--", python, "writer.py", stdout=out, stderr=err).wait() == 0
            got = [hashlib.sha256(open(name, "rb").read()).hexdigest() for name in ("out", "err")]
            print("files", got == expected)
            process = run("--", python, "writer.py", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            got = [hashlib.sha256(data).hexdigest() for data in process.communicate()]
            print("pipes", got == expected, process.returncode)
            """, in: fixture.directory)
        #expect(output == "files True\npipes True 0\n")
    }

    /// If both streams go to one place, as with `2>&1`, their order is kept.
    @Test func theOrderAmongTwoStreamsToOnePlace() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            writer = "import os\\nfor n in range(20000): os.write(1 + n % 2, b'%d;' % n)"
            expected = b"".join(b"%d;" % n for n in range(20000))
            process = run("--", python, "-c", writer, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            print("pipe", process.communicate()[0] == expected)
            with open("log", "ab") as log:
                run("--", python, "-c", writer, stdout=log, stderr=log).wait()
            print("file", open("log", "rb").read() == expected)
            """, in: fixture.directory)
        #expect(output == "pipe True\nfile True\n")
    }

    @Test func nothingIsHeldBack() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            os.mkfifo("go")
            child = "import os; os.write(1, b'a'); os.write(2, b'b'); open('go').read(); os.write(1, b'c')"
            process = run("--", python, "-c", child, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            # Without an end of line, and while the command still runs.
            print(os.read(process.stdout.fileno(), 9), os.read(process.stderr.fileno(), 9))
            open("go", "w").close()
            print(process.communicate(), process.returncode)
            """, in: fixture.directory)
        #expect(output == "b'a' b'b'\n(b'c', b'') 0\n")
    }

    @Test func standardInput() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            data = bytes(range(256)) * 4096
            process = run("--", "cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            print(process.communicate(data)[0] == data, process.returncode)
            """, in: fixture.directory)
        #expect(output == "True 0\n")
    }

    #if os(Linux)
    /// The command has the same descriptors with and without the tool, even if some are closed.
    @Test(arguments: ["", "<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", "<&- >&- 2>&-", "5</dev/null"])
    func descriptors(_ redirection: String) throws {
        let fixture = try Fixture()
        // `ls` lists its own descriptors, including the one that it opens to read the directory.
        let list = "ls /proc/self/fd | tr '\\n' ' ' > \"$0\""
        let program = """
            sh -c \(ShellWord.quoted(list)) direct \(redirection)
            "\(Program.tool)" run -- sh -c \(ShellWord.quoted(list)) under \(redirection)
            """
        let outcome = try Program.run("/bin/sh", ["-c", program], directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        let direct = try FileSystem.contents(ofFile: fixture.path("direct"))
        let under = try FileSystem.contents(ofFile: fixture.path("under"))
        #expect(!direct.isEmpty)
        #expect(String(decoding: under, as: UTF8.self) == String(decoding: direct, as: UTF8.self))
    }
    #endif

    /// A process that keeps the pipe after the command's end neither delays the tool nor is ended by it.
    @Test func aProcessThatKeepsThePipe() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            os.mkfifo("go")
            os.mkfifo("done")
            keeper = "(read line < go; echo $line > done) & echo started; exit 4"
            process = run("--", "sh", "-c", keeper, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            print(process.communicate(), process.returncode)
            with open("go", "w") as go:
                go.write("alive\\n")
            print(read_fifo("done"), end="")
            """, in: fixture.directory)
        #expect(output == "(b'started\\n', b'') 4\nalive\n")
    }

    /// A process that writes forever doesn't delay the tool either.
    @Test func aProcessThatKeepsWriting() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run("--", "sh", "-c", "yes & echo $! > number; exit 5", stdout=subprocess.PIPE)
            size = len(process.communicate()[0])
            print(size > 0, process.returncode)
            number = int(open("number").read())
            # As at the end of any pipeline.
            until(lambda: not lives(number))
            """, in: fixture.directory)
        #expect(output == "True 5\n")
    }

    @Test func aReaderThatHasEnoughEndsTheCommand() throws {
        let program = "\"\(Program.tool)\" run -- yes | head -n 1; echo ${PIPESTATUS[0]}"
        let outcome = try Program.run("/usr/bin/env", ["bash", "-c", program])
        #expect(outcome == Outcome(status: 0, output: "y\n\(128 + SIGPIPE)\n", error: ""))
    }

    #if os(Linux)
    /// A full disk doesn't end the command, which may not depend on its log.
    @Test func aFullDisk() throws {
        let fixture = try Fixture()
        let program = "\"\(Program.tool)\" run -- sh -c 'yes | head -c 1000000; exit 6' > /dev/full"
        let outcome = try Program.run("/bin/sh", ["-c", program], directory: fixture.directory)
        #expect(outcome.status == 6)
        #expect(
            outcome.error
                == "warning: Cannot write to 'an output of the command': No space left on device. The end of "
                + "what it wrote is lost.\n")
    }
    #endif

    @Test func theDirectoryForBundlesIsTheSameForBoth() throws {
        let fixture = try Fixture()
        try FileSystem.createDirectory(fixture.path("below"))
        let print = ["run", "--", "sh", "-c", "cd /; echo $FAILURE_ARTIFACTS_DIR; pwd"]
        for (given, expected) in [
            ("", fixture.path("below/failure-artifacts")), ("there", fixture.path("below/there")),
            ("/tmp/there", "/tmp/there"),
        ] {
            let outcome = try Program.run(
                Program.tool, print, environment: ["FAILURE_ARTIFACTS_DIR": given],
                directory: fixture.path("below"))
            #expect(outcome == Outcome(status: 0, output: expected + "\n/\n", error: ""))
        }
    }
}
