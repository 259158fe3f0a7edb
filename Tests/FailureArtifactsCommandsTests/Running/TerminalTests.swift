import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// Tests on a real terminal.
@Suite struct TerminalTests {
    /// The command sees the same streams as terminals as without the tool.
    @Test func theCommandSeesTheTerminal() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            child = "import os; print([os.isatty(n) for n in range(3)], os.tcgetpgrp(0) == os.getpgrp(), '.')"
            terminal = Terminal(tool, "run", "--", python, "-c", child)
            print(terminal.read_until("."), terminal.wait())
            command = '"$0" run -- "$1" -c "$2" 2>/dev/null'
            terminal = Terminal("/bin/sh", "-c", command, tool, python, child)
            print(terminal.read_until("."), terminal.wait())
            command = '"$0" run -- "$1" -c "$2" | cat'
            terminal = Terminal("/bin/sh", "-c", command, tool, python, child)
            print(terminal.read_until("."), terminal.wait())
            """, in: fixture.directory)
        #expect(
            output == """
                [True, True, True] True  0
                [True, True, False] True  0
                [True, False, True] True  0

                """)
    }

    @Test func theCommandReadsFromTheTerminal() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal(tool, "run", "--", "sh", "-c", "read line; echo got $line; exit 3")
            terminal.type("something\\n")
            terminal.read_until("got something")
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "3\n")
    }

    /// The tool doesn't send the signal a second time, and leaves the reaction to the command.
    @Test(arguments: [("\\x03", "INT"), ("\\x1c", "QUIT")])
    func aKeyReachesTheCommandOnce(_ key: String, _ signal: String) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal(tool, "run", "--", python, "reporter.py")
            terminal.read_until("ready ")
            terminal.type("\(key)")
            terminal.read_until("\(signal)\\r\\n")
            # The answer to this one comes after whatever else that has caused.
            os.kill(terminal.number, signal.SIGUSR1)
            print(repr(terminal.read_until("USR1\\r\\n")))
            os.kill(terminal.number, signal.SIGUSR2)
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "''\n9\n")
    }

    @Test(arguments: [("\\x03", 130), ("\\x1c", 131)])
    func aKeyEndsTheCommand(_ key: String, _ status: Int) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal(
                tool, "run", "--", "sh", "-c", "ulimit -c 0; echo ready; exec sleep 1000")
            terminal.read_until("ready")
            terminal.type("\(key)")
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "\(status)\n")
    }

    #if os(Linux)
    /// Ctrl-Z and `fg` in a shell stop and continue the command.
    @Test func theCommandIsStoppedAndGoesOn() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal("/bin/bash", "--norc", "--noprofile", "-i")
            # What is typed comes back, so that it must not hold what is waited for.
            terminal.type(f"'{tool}' run -- sh -c 'echo num$x-ber=$$ en$x-d; read line; exit 5'\\n")
            terminal.read_until("num-ber=")
            child = int(terminal.read_until(" en-d"))
            terminal.type("\\x1a")
            terminal.read_until("Stopped")
            until(lambda: state(child) == "T")
            terminal.type("fg\\n")
            until(lambda: state(child) != "T")
            terminal.type("something\\necho status=$?.\\n")
            terminal.read_until("status=5.")
            terminal.type("exit\\n")
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "0\n")
    }
    #endif

    @Test func theCommandLearnsOfTheTerminalsSize() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal(tool, "run", "--", python, "reporter.py")
            terminal.read_until("ready ")
            fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("4H", 33, 44, 0, 0))
            terminal.read_until("WINCH")
            os.kill(terminal.number, signal.SIGUSR2)
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "9\n")
    }

    /// Closing a terminal window has this effect.
    @Test func aHangUpEndsTheCommand() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            terminal = Terminal(tool, "run", "--", "sh", "-c", "echo ready; exec sleep 1000")
            terminal.read_until("ready")
            os.close(terminal.master)
            print(terminal.wait())
            """, in: fixture.directory)
        #expect(output == "129\n")
    }
}
