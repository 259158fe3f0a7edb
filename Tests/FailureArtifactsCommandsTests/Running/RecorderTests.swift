import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

/// `run --junit`, `run --report` and `run` on GitHub.
@Suite struct RecorderTests {
    private static let log = """
        print("Test Case 'A.a' started at now")
        print("/p/A.swift:3: error: A.a : XCTAssertTrue failed - <why>")
        print("Test Case 'A.a' failed (0.25 seconds)", flush=True)
        print("Test Case '-[M.B b]' started.", file=sys.stderr)
        print("Test Case '-[M.B b]' passed (0.5 seconds).", file=sys.stderr, flush=True)
        """

    private static let expected = """
        <testcase classname="A" name="a" time="0.250">
              <failure message="XCTAssertTrue failed - &lt;why&gt;" type="XCTAssertTrue">
        """

    /// The tool reads the log from both outputs and passes it on unchanged.
    @Test func aLogAtPipes() throws {
        let fixture = try Fixture()
        try fixture.write(Array(("import sys\n" + Self.log).utf8), to: "log.py")
        let direct = try Program.run(
            "/usr/bin/env", ["python3", "log.py"], directory: fixture.directory)
        let outcome = try Program.tool(
            "run", "--junit", "new/j.xml", "--", "python3", "log.py",
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
        #expect(outcome == direct)
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("new/j.xml")), as: UTF8.self)
        #expect(text.contains(Self.expected))
        #expect(text.contains("<testcase classname=\"M.B\" name=\"b\" time=\"0.500\"/>"))
        #expect(text.contains("<testsuites tests=\"2\" failures=\"1\" errors=\"0\" time=\"0.750\">"))
    }

    /// With `--junit`, the command sees the same terminal properties and produces the same output.
    @Test func aLogAtATerminal() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            with open("log.py", "w") as file:
                file.write('''
            import fcntl, os, struct, sys, termios
            # Where it goes, and nothing that a terminal would change.
            about = [os.isatty(n) for n in range(3)]
            about += [struct.unpack("4H", fcntl.ioctl(n, termios.TIOCGWINSZ, bytes(8)))[:2] for n in range(3)]
            about += [termios.tcgetattr(n)[2:6] for n in range(3)]
            about.append(os.getpgrp() == os.tcgetpgrp(0))
            print(about)
            print(chr(27) + "[31mred" + chr(27) + "[0m " + chr(9) + "tab")
            \(Self.log)
            input()
            ''')
            def session(*options):
                number, master = pty.fork()
                if number == 0:
                    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("4H", 31, 97, 0, 0))
                    os.execv(tool if options else "/usr/bin/env",
                             [tool, "run", *options, "--", python, "log.py"] if options
                             else ["env", python, "log.py"])
                text = b""
                # With its end: what is typed is echoed where the output is then.
                while b"passed (0.5 seconds)." + bytes([13, 10]) not in text:
                    text += os.read(master, 65536)
                os.write(master, b"go on" + chr(10).encode())
                try:
                    while data := os.read(master, 65536): text += data
                except OSError: pass
                return text, os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
            direct = session()
            watched, recorded = session("--timeout", "1h"), session("--junit", "j.xml")
            print(watched == direct, recorded == direct, direct[1])
            if not watched == recorded == direct: print(direct, watched, recorded, sep=chr(10))
            print(open("j.xml").read())
            """, in: fixture.directory)
        #expect(output.hasPrefix("True True 0\n"))
        #expect(output.contains(Self.expected))
        #expect(output.contains("name=\"b\" time=\"0.500\"/>"))
    }

    @Test func aFileThatTheCommandWrites() throws {
        let fixture = try Fixture()
        try fixture.write(
            Array(
                (#"{"kind":"test","payload":{"kind":"function","id":"M.a()/F.swift:1:2","name":"a()"}}"#
                    + "\n"
                    + #"{"kind":"event","payload":{"kind":"testStarted","testID":"M.a()/F.swift:1:2"}}"#
                    + "\n"
                    + #"{"kind":"event","payload":{"kind":"testEnded","testID":"M.a()/F.swift:1:2"}}"#)
                    .utf8),
            to: "made")
        let outcome = try Program.tool(
            "run", "--junit", "j.xml", "--events", "e", "--events", "none", "--", "cp", "made", "e",
            directory: fixture.directory)
        #expect(
            outcome
                == Outcome(
                    status: 0, output: "",
                    error:
                        "warning: The command has written no events to 'none', so results of Swift "
                        + "Testing are missing. Check the path that '--events' gives.\n"))
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("j.xml")), as: UTF8.self)
        #expect(text.contains("<testcase classname=\"M\" name=\"a()\" time=\"0.000\"/>"))
    }

    @Test func failedTestsWithoutABundleAreNamed() throws {
        let fixture = try Fixture()
        try fixture.write(
            Array(
                (#"{"kind":"test","payload":{"kind":"function","id":"M.S/a()/F.swift:1:2","name":"a()"}}"#
                    + "\n"
                    + #"{"kind":"event","payload":{"kind":"testStarted","testID":"M.S/a()/F.swift:1:2"}}"#
                    + "\n"
                    + #"{"kind":"event","payload":{"kind":"issueRecorded","testID":"M.S/a()/F.swift:1:2","#
                    + #""issue":{"isKnown":false}}}"#)
                    .utf8),
            to: "made")
        func run(_ mode: String) throws -> Outcome {
            try Program.tool(
                "run", "--events", "e", "--", "cp", "made", "e",
                environment: ["FAILURE_ARTIFACTS_DIR": "", "FAILURE_ARTIFACTS": mode],
                directory: fixture.directory)
        }
        #expect(
            try run("").error == """
                failure-artifacts: 1 failed test of Swift Testing left no bundle: S.a()
                  For bundles, link FailureArtifacts to the test target; if that isn't enough, import \
                FailureArtifactsTesting and add the trait: @Suite(.failureArtifacts)

                """)
        #expect(try run("off") == Outcome(status: 0, output: "", error: ""))
    }

    @Test func whatMakesNoSense() {
        #expect(run("run", "--junit", "", "--", "true").status == 64)
    }

    @Test func resultsOfAnEarlierRunDoNotStay() throws {
        let fixture = try Fixture()
        try fixture.write(Array("old".utf8), to: "j.xml")
        let outcome = try Program.tool(
            "run", "--junit", "j.xml", "--", "/no/such/program", directory: fixture.directory)
        #expect(outcome.status == 127)
        #expect(try FileSystem.status(of: fixture.path("j.xml")) == nil)
    }

    @Test func aFileThatCannotBeWritten() throws {
        let fixture = try Fixture()
        try fixture.write([], to: "file")
        let outcome = try Program.tool(
            "run", "--junit", "file/j.xml", "--", "sh", "-c", "exit 3", directory: fixture.directory)
        #expect(outcome.status == 3)
        #expect(outcome.error.hasPrefix("warning: The results could not be written to 'file/j.xml'."))
    }

    // MARK: - The report

    @Test func thePageIsBesideTheBundles() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        try fixture.plain("failure-artifacts/Old.old-00000000.zip", test: "testOld")
        let environment = ["FAILURE_ARTIFACTS_DIR": ""]
        let outcome = try Program.tool(
            "run", "--report", "--", "sh", "-c", "cp made/* failure-artifacts; exit 1",
            environment: environment, directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.error.hasSuffix("To see all of them: failure-artifacts/report.html\n"))
        let page = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("failure-artifacts/report.html")),
            as: UTF8.self)
        #expect(page.contains("チェッキング"))
        #expect(page.hasSuffix("</html>\n"))
        #expect(!page.contains("testOld"))
        #expect(
            try FileSystem.contents(ofDirectory: fixture.path("failure-artifacts")).sorted() == [
                "LedgerTests.testTransfer-1a2b3c4d.zip", "Old.old-00000000.zip", "report.html",
            ])
    }

    @Test func withoutBundlesThereIsNoPage() throws {
        let fixture = try Fixture()
        let outcome = try Program.tool(
            "run", "--report", "--", "true", environment: ["FAILURE_ARTIFACTS_DIR": ""],
            directory: fixture.directory)
        #expect(outcome == Outcome(status: 0, output: "", error: ""))
        #expect(try FileSystem.contents(ofDirectory: fixture.directory).isEmpty)
    }

    // MARK: - GitLab

    @Test func onGitLab() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        try FileSystem.createDirectory(fixture.path("Tests"))
        try FileSystem.write([], toNewFile: fixture.path("Tests/LedgerTests.swift"))
        let path = fixture.path("failure-artifacts/gl-code-quality-report.json")
        let script = "mkdir failure-artifacts; cp made/* failure-artifacts; exit 1"
        func run(_ script: String, _ isGitLab: String) throws -> Outcome {
            try Program.tool(
                "run", "--", "sh", "-c", script,
                environment: [
                    "FAILURE_ARTIFACTS_DIR": "", "GITLAB_CI": isGitLab,
                    "CI_PROJECT_DIR": fixture.directory,
                ], directory: fixture.directory)
        }
        #expect(try run("true", "true").status == 0)
        #expect(try FileSystem.status(of: fixture.path("failure-artifacts")) == nil)
        #expect(try run(script, "").status == 1)
        #expect(try FileSystem.status(of: path) == nil)
        // The bundle's name must be new.
        let renamed = "cp made/* failure-artifacts/LedgerTests.testTransfer-5e6f7a8b.zip; exit 1"
        #expect(try run(renamed, "true").status == 1)
        let text = String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
        #expect(text.contains("\"path\" : \"Tests/LedgerTests.swift\""))
        #expect(text.contains("\"begin\" : 42"))
        #expect(
            text.contains(
                "LedgerTests.testTransfer failed: (\\\"90\\\") is not equal to (\\\"100\\\") - the money is gone"
            ))
        // A later run replaces the report.
        #expect(try run("true", "true").status == 0)
        #expect(
            String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
                .filter { !$0.isWhitespace } == "[]")
    }

    // MARK: - GitHub

    @Test func onGitHub() throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        let environment = [
            "FAILURE_ARTIFACTS_DIR": "", "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": fixture.path("step.md"), "GITHUB_WORKSPACE": fixture.directory,
        ]
        let script = "echo ::error::stolen; mkdir failure-artifacts; cp made/* failure-artifacts; exit 1"
        let outcome = try Program.tool(
            "run", "--", "sh", "-c", script, environment: environment, directory: fixture.directory)
        #expect(outcome.status == 1)
        #expect(outcome.output == "::error::stolen\n")
        var lines = outcome.error.split(separator: "\n").map(String.init)
        let annotation =
            "::error file=Tests/LedgerTests.swift,line=42,title=LedgerTests.testTransfer failed::"
            + "(\"90\") is not equal to (\"100\") - the money is gone"
            + "%0AWeak hint (possible): \(Metadata.ledgerFinding), store ledger"
        try #require(lines.count == 8)
        #expect(lines[0].hasPrefix("::stop-commands::"))
        #expect(lines[6] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
        #expect(lines[7] == annotation)
        let text = String(
            decoding: try FileSystem.contents(ofFile: fixture.path("step.md")), as: UTF8.self)
        #expect(text.hasPrefix("## 1 failed test\n"))
        #expect(
            text.contains("failure-artifacts explain failure-artifacts/1a2b3c4d"))

        // With the option, all output of the command is between the two lines too.
        try FileSystem.remove(fixture.path("failure-artifacts"))
        let stopped = try Program.run(
            "/bin/sh", ["-c", "\"$0\" run --stop-commands -- sh -c \"$1\" 2>&1", Program.tool, script],
            environment: environment, directory: fixture.directory)
        lines = stopped.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 9)
        #expect(lines[0].hasPrefix("::stop-commands::"))
        #expect(lines[1] == "::error::stolen")
        #expect(lines[7] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
        #expect(lines[8] == annotation)
    }

    /// GitHub recognises a command only at the start of a line, but the tests' last output may lack a line ending.
    @Test(arguments: [false, true]) func anOpenLineOnGitHub(_ stops: Bool) throws {
        let fixture = try Fixture()
        try fixture.ledger("made/LedgerTests.testTransfer-1a2b3c4d.zip")
        let script = "printf open; mkdir failure-artifacts; cp made/* failure-artifacts"
        let outcome = try Program.run(
            "/bin/sh",
            [
                "-c", "\"$0\" run $2 -- sh -c \"$1\" 2>&1", Program.tool, script,
                stops ? "--stop-commands" : "",
            ],
            environment: [
                "FAILURE_ARTIFACTS_DIR": "", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "",
            ],
            directory: fixture.directory)
        let lines = outcome.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 9)
        let start = try #require(lines.firstIndex { $0.hasPrefix("::stop-commands::") })
        #expect(lines[stops ? 1 : 0] == "open")
        #expect(start == (stops ? 0 : 1))
        #expect(lines[7] == "::" + lines[start].dropFirst("::stop-commands::".count) + "::")
    }

    /// Commands are enabled again afterwards, even if the program couldn't be started.
    @Test func aCommandThatIsNotThereOnGitHub() throws {
        let outcome = try Program.tool(
            "run", "--stop-commands", "--", "/no/such/program", environment: ["GITHUB_ACTIONS": "true"])
        #expect(outcome.status == 127)
        let lines = outcome.error.split(separator: "\n")
        try #require(lines.count == 3)
        #expect(lines[1] == "::" + lines[0].dropFirst("::stop-commands::".count) + "::")
    }
}
