import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct SignalTests {
    /// The tool forwards its signals to the command and lives as long as the command does.
    @Test(arguments: ["HUP", "INT", "QUIT", "TERM", "USR1"])
    func signalsArePassedOn(_ signal: String) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            child = Reporter()
            child.tool.send_signal(signal.SIG\(signal))
            print(child.line())
            # The answer to this one comes after whatever else that has caused.
            child.tool.send_signal(signal.SIGUSR1)
            print(child.line())
            child.tool.send_signal(signal.SIGUSR2)
            print(repr(child.line()), child.tool.wait())
            """, in: fixture.directory)
        #expect(output == "\(signal)\nUSR1\n'' 9\n")
    }

    @Test(arguments: ["HUP", "INT", "TERM"])
    func aCommandThatEndsByIt(_ signal: String) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run("--", "sh", "-c", "echo ready; exec sleep 1000", stdout=subprocess.PIPE)
            process.stdout.readline()
            process.send_signal(signal.SIG\(signal))
            print(process.wait() - 128 == signal.SIG\(signal))
            """, in: fixture.directory)
        #expect(output == "True\n")
    }

    #if os(Linux)
    /// After the grace period, the tool ends a stubborn command and its descendants, except daemons.
    @Test func aStubbornCommand() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            os.mkfifo("ready")
            command = '''
            trap "" TERM
            sleep 1000 & echo $! > child
            (setsid sleep 1000 & echo $! > daemon)
            echo > ready
            while :; do sleep 1000; done
            '''
            process = run("--", "sh", "-c", command)
            read_fifo("ready")
            child, daemon = (int(open(name).read()) for name in ("child", "daemon"))
            until(lambda: os.getsid(daemon) != os.getsid(0))
            process.send_signal(signal.SIGTERM)
            print(process.wait(), lives(child), lives(daemon))
            os.kill(daemon, signal.SIGKILL)
            """, in: fixture.directory)
        #expect(output == "137 False True\n")
    }

    /// Processes of a cancelled command would otherwise keep running.
    @Test func whatACancelledCommandLeavesBehind() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            command = "set -m; sleep 1000 & echo $!; exec sleep 1000"
            process = run("--", "bash", "-c", command, stdout=subprocess.PIPE, text=True)
            child = int(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            print(process.wait(), lives(child))
            """, in: fixture.directory)
        #expect(output == "143 False\n")
    }

    /// A command that ends by itself may leave processes behind.
    @Test func whatACommandLeavesBehindIsLeftAlone() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            for command in ["sleep 1000 & echo $!", "(setsid sleep 1000 & echo $!)"]:
                process = run("--", "sh", "-c", command, stdout=subprocess.PIPE, text=True)
                child = int(process.stdout.readline())
                print(process.wait(), lives(child))
                os.kill(child, signal.SIGKILL)
            """, in: fixture.directory)
        #expect(output == "0 True\n0 True\n")
    }

    /// The kernel reports the same ignored and blocked signals with and without the tool.
    @Test(arguments: [
        "pass", "signal.signal(signal.SIGHUP, signal.SIG_IGN)",
        "[signal.signal(number, signal.SIG_IGN) for number in (1, 2, 3, 10, 12, 15)]",
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)",
        "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR2, signal.SIGWINCH})",
    ])
    func theCommandHasTheSignalsThatTheToolWasStartedWith(_ preparation: String) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            def signals(*before):
                def prepare():
                    \(preparation)
                command = [*before, "grep", "-E", "^Sig(Blk|Ign|Cgt)", "/proc/self/status"]
                return subprocess.run(command, stdout=subprocess.PIPE, text=True, restore_signals=False,
                                      preexec_fn=prepare).stdout
            direct = signals()
            under = signals(tool, "run", "--")
            print(len(direct.split()), under == direct or (direct, under))
            """, in: fixture.directory)
        #expect(output == "6 True\n")
    }

    /// Some job runners ignore SIGCHLD, and the kernel then discards the exit status of children.
    @Test func whoeverIgnoresItsChildrensEnds() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run("--", "sh", "-c", "exit 7",
                          preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
            print(process.wait())
            """, in: fixture.directory)
        #expect(output == "7\n")
    }

    /// Under `nohup`, for example, neither the command nor the tool reacts to the signal.
    @Test func anIgnoredSignalStaysIgnored() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            process = run("--", "sh", "-c", "echo ready; read line; exit 8", stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE)
            process.stdout.readline()
            process.send_signal(signal.SIGHUP)
            process.stdin.write(b"\\n")
            process.stdin.close()
            print(process.wait())
            """, in: fixture.directory)
        #expect(output == "8\n")
    }

    @Test func aCommandThatIsStoppedIsWaitedFor() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run("--", "sh", "-c", "echo $$; kill -STOP $$; exit 7", stdout=subprocess.PIPE)
            number = int(process.stdout.readline())
            until(lambda: state(number) == "T")
            print(process.poll())
            os.kill(number, signal.SIGCONT)
            print(process.wait())
            """, in: fixture.directory)
        #expect(output == "None\n7\n")
    }

    /// A stopped command wouldn't receive the signal that ends it.
    @Test func aCommandThatIsStoppedCanBeEnded() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run("--", "sh", "-c", "trap 'exit 6' TERM; echo $$; kill -STOP $$; exit 7",
                          stdout=subprocess.PIPE)
            number = int(process.stdout.readline())
            until(lambda: state(number) == "T")
            process.send_signal(signal.SIGTERM)
            print(process.wait())
            """, in: fixture.directory)
        #expect(output == "6\n")
    }
    #endif
}
