import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct ExitStatusTests {
    @Test(arguments: [0, 1, 2, 9, 63, 64, 65, 66, 74, 124, 125, 126, 127, 128, 129, 143, 200, 254, 255])
    func theStatusIsTheCommands(_ status: Int32) throws {
        let fixture = try Fixture()
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", "exit \(status)", directory: fixture.directory)
        #expect(outcome == Outcome(status: status, output: "", error: ""))
        #expect(try FileSystem.contents(ofDirectory: fixture.directory).isEmpty)
    }

    @Test(arguments: [
        SIGHUP, SIGINT, SIGQUIT, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGKILL, SIGUSR1, SIGSEGV,
        SIGUSR2,
        SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS,
    ])
    func aSignalGives128AndItsNumber(_ signal: Int32) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            print(run("--", "sh", "-c", "ulimit -c 0; kill -\(signal) $$").wait())
            """, in: fixture.directory)
        #expect(output == "\(128 + signal)\n")
    }

    @Test func commandsThatCannotBeRun() throws {
        let fixture = try Fixture()
        try fixture.write(Array("echo".utf8), to: "plain")
        try fixture.write(Array("#!/nowhere/sh\n".utf8), to: "orphan")
        _ = try Program.run("/bin/chmod", ["755", fixture.path("orphan")])
        for (command, status, sentence) in [
            ("fa-no-such", 127, "There is no program 'fa-no-such' in PATH."),
            ("./fa-no-such", 127, "There is no program './fa-no-such'."),
            ("./plain", 126, "'./plain' cannot be run: Permission denied."),
            ("./plain/x", 126, "'./plain/x' cannot be run: Not a directory."),
            (".", 126, "'.' cannot be run: Permission denied."),
            ("./orphan", 127, "'./orphan' cannot be run: the interpreter that it names does not exist."),
        ] as [(String, Int32, String)] {
            let outcome = try Program.tool("run", "--", command, directory: fixture.directory)
            #expect(outcome == Outcome(status: status, output: "", error: "error: \(sentence)\n"))
        }
    }

    @Test(arguments: [
        ([], "'run' needs CMD after '--'."), (["--"], "'run' needs CMD after '--'."),
        (["--", ""], "'run' needs CMD after '--'."),
        (
            ["swift", "test"], "'--' is missing before CMD: failure-artifacts run -- swift …"
        ),
        (
            ["--report", "swift", "test", "--parallel"],
            "'--' is missing before CMD: failure-artifacts run -- swift …"
        ),
        (["swift", "--", "test"], "'run' does not expect 'swift' before '--'."),
        (["--json", "--", "true"], "'run' has no option '--json'."),
        (["--timeout", "--", "true"], "'--timeout' needs a value: --timeout D."),
        (
            ["--timeout", "soon", "--", "true"],
            "'--timeout' needs a duration of a year at most, such as 90, 90s, 10m or 1h30m, not 'soon'."
        ),
        (
            ["--until-failure", "0", "--", "true"],
            "'--until-failure' needs a whole number of 1 or more, not '0'."
        ),
        (["--junit", "", "--", "true"], "'--junit' needs a value: --junit FILE."),
    ])
    func usageErrors(_ arguments: [String], _ sentence: String) throws {
        let outcome = try Program.run(Program.tool, ["run"] + arguments)
        #expect(
            outcome
                == Outcome(
                    status: 64, output: "",
                    error: "error: \(sentence) See 'failure-artifacts run --help'.\n"))
    }
}
