import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct TimeoutTests {
    @Test func aCommandThatHangs() throws {
        let fixture = try Fixture()
        let outcome = try Program.tool(
            "run", "--timeout", "0.2", "--", "sleep", "1000", directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 124, output: "",
                    error: "error: 'sleep' is ended: the time limit of 0.2s is up.\n"))
    }

    @Test(arguments: ["100", "1h30m"])
    func aCommandThatEndsInTime(_ limit: String) throws {
        let outcome = try Program.tool("run", "--timeout", limit, "--", "sh", "-c", "echo a; exit 3")
        #expect(outcome == Outcome(status: 3, output: "a\n", error: ""))
    }

    #if os(Linux)
    /// The time that a command needs to get ready is unknown, so the limit grows until the command was ready.
    private static let growing = """
        def limited(command, ready, **options):
            limit = 0.5
            while True:
                process = run("--timeout", str(limit), "--", "sh", "-c", command,
                              stderr=subprocess.DEVNULL, **options)
                status = process.wait()
                if os.path.exists(ready):
                    return status
                limit *= 2

        """

    /// Descendants in other groups and sessions are ended too, even if they ignore signals or are stopped.
    @Test func everyDescendantIsEnded() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            Self.growing + """
                # Ignored from the start, by all of them.
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                with open("daemon.py", "w") as file:
                    file.write('''
                import os, signal, sys
                if os.fork(): sys.exit()
                os.setsid()
                if os.fork(): sys.exit()
                os.closerange(0, 100)
                os.chdir("/")
                with open(sys.argv[1] + ".new", "w") as file: file.write(str(os.getpid()))
                os.rename(sys.argv[1] + ".new", sys.argv[1])
                signal.pause()
                ''')
                command = f'''
                sleep 1000 & echo $! > plain
                (sh -c 'echo $$ > stopped; kill -STOP $$' &)
                {python} daemon.py {folder}/daemon
                set -m
                (sleep 1000 & echo $! > group)
                until [ -s daemon ] && [ -s stopped ]; do :; done
                echo > ready
                sleep 1000
                '''
                print(limited(command, "ready"))
                for name in ["plain", "stopped", "daemon", "group"]:
                    print(name, lives(int(open(name).read())))
                """, in: fixture.directory)
        #expect(output == "124\nplain False\nstopped False\ndaemon False\ngroup False\n")
    }

    /// Processes of the same group and session, earlier children and the tool's siblings keep running.
    @Test func nobodyElseIsEnded() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            Self.growing + """
                sibling = subprocess.Popen(["sleep", "1000"])
                # The shell gives way to the tool, and its child becomes the tool's.
                process = subprocess.Popen(
                    ["sh", "-c", 'sleep 1000 & echo $! > before; exec "$0" run --timeout 0.2 -- sleep 1000', tool],
                    stderr=subprocess.DEVNULL)
                print(process.wait())
                before = int(open("before").read())
                print(lives(sibling.pid), lives(before))
                os.kill(before, signal.SIGKILL)
                sibling.kill()
                """, in: fixture.directory)
        #expect(output == "124\nTrue True\n")
    }

    /// SIGTERM comes first, and output written after it is passed on.
    @Test func aCommandCanStillSaySomething() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            Self.growing + """
                command = '''
                trap "echo last words; exit 0" TERM
                echo > ready
                while :; do sleep 0.01; done
                '''
                with open("log", "w") as log:
                    print(limited(command, "ready", stdout=log))
                print(open("log").read(), end="")
                """, in: fixture.directory)
        #expect(output == "124\nlast words\n")
    }

    /// The limit holds even if the command's output isn't read.
    @Test func aCommandWhoseOutputNobodyReads() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            reading, writing = os.pipe()
            process = run("--timeout", "0.5", "--", "yes", stdout=writing, stderr=subprocess.DEVNULL)
            print(process.wait())
            """, in: fixture.directory)
        #expect(output == "124\n")
    }
    #endif
}
