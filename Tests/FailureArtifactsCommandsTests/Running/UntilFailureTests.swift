import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsCommands

@Suite struct UntilFailureTests {
    /// Counts the runs of the command in a file.
    private static let counting = "echo run >>runs; n=$(wc -l <runs); "

    private func run(
        _ fixture: borrowing Fixture, _ options: String..., command: String
    ) throws -> Outcome {
        try Program.tool(
            ["run"] + options + ["--", "sh", "-c", Self.counting + command],
            environment: ["FAILURE_ARTIFACTS_DIR": ""], directory: fixture.directory)
    }

    private func runs(_ fixture: borrowing Fixture) throws -> Int {
        try FileSystem.contents(ofFile: fixture.path("runs"), limit: 1000).count { $0 == 10 }
    }

    @Test func theFirstFailureIsTheLastRun() throws {
        let fixture = try Fixture()
        try fixture.plain("made/PlainTests.a-0000000a.zip")
        let outcome = try run(
            fixture, "--until-failure", "5",
            command: "[ $n -lt 3 ] || { mkdir failure-artifacts; cp made/* failure-artifacts; exit 7; }")
        #expect(outcome.status == 7)
        #expect(outcome.error.hasPrefix("failure-artifacts: 1 bundle in failure-artifacts\n"))
        #expect(outcome.error.hasSuffix("\nfailure-artifacts: failed in run 3 of up to 5\n"))
        #expect(try runs(fixture) == 3)
    }

    @Test func noFailure() throws {
        let fixture = try Fixture()
        let outcome = try run(fixture, "--until-failure", "3", command: "echo $n")
        #expect(
            outcome
                == Outcome(
                    status: 0, output: "1\n2\n3\n",
                    error: "failure-artifacts: no test failed in 3 runs\n"))
    }

    /// A script may ignore the status of the tests, or repeat them until they pass.
    @Test func aBundleIsAFailure() throws {
        let fixture = try Fixture()
        try fixture.plain("failure-artifacts/PlainTests.old-0000000b.zip")
        try fixture.plain("made/PlainTests.a-0000000a.zip")
        let outcome = try run(
            fixture, "--until-failure", "5", command: "[ $n -lt 2 ] || cp made/* failure-artifacts")
        #expect(outcome.status == 0)
        #expect(outcome.error.hasSuffix("\nfailure-artifacts: failed in run 2 of up to 5\n"))
        #expect(try runs(fixture) == 2)
    }

    @Test func theResultsAreThoseOfTheLastRun() throws {
        let fixture = try Fixture()
        let outcome = try run(
            fixture, "--until-failure", "5", "--failures-only", "--junit", "results.xml",
            command: """
                case $n in 3) end=failed;; *) end=passed;; esac
                echo "Test Case 'Suite.test$n' started at 2026-11-28 12:00:00.000"
                echo "Test Case 'Suite.test$n' $end (0.1 seconds)"
                [ $n -lt 3 ]
                """)
        #expect(outcome.status == 1)
        #expect(
            outcome.output.split(separator: "\n").filter { $0.hasPrefix("failure-artifacts:") } == [
                "failure-artifacts: 1 test: 1 failed, 0 passed"
            ])
        let file = try FileSystem.contents(ofFile: fixture.path("results.xml"), limit: 10_000)
        let text = String(decoding: file, as: UTF8.self)
        #expect(text.contains("test3") && !text.contains("test2"))
    }

    @Test func theTimeLimitIsThatOfEachRun() throws {
        let fixture = try Fixture()
        let outcome = try run(
            fixture, "--until-failure", "5", "--timeout", "2",
            command: "[ $n -lt 4 ] || exec sleep 1000; sleep 0.7")
        #expect(outcome.status == 124)
        #expect(outcome.error.hasSuffix("\nfailure-artifacts: failed in run 4 of up to 5\n"))
    }

    /// The command may end as if nothing had happened.
    @Test(arguments: ["exit 0", "exit 3"]) func aSignalEndsTheRepetition(_ end: String) throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            command = "trap '\(end)' TERM; echo; while :; do sleep 0.05; done"
            process = run(
                "--until-failure", "5", "--", "sh", "-c", command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                text=True)
            process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            print(process.stderr.read(), process.wait())
            """, in: fixture.directory)
        let status = end == "exit 0" ? 143 : 3
        #expect(output == "failure-artifacts: stopped in run 1 of up to 5\n \(status)\n")
    }

    /// A command that uses such a signal goes on.
    @Test func otherSignalsDoNot() throws {
        let fixture = try Fixture()
        let output = try Driver.run(
            """
            process = run(
                "--until-failure", "2", "--", "sh", "-c", "trap 'exit 0' USR1; echo; while :; do sleep 0.05; done",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for _ in range(2):
                process.stdout.readline()
                process.send_signal(signal.SIGUSR1)
            print(process.stderr.read(), process.wait())
            """, in: fixture.directory)
        #expect(output == "failure-artifacts: no test failed in 2 runs\n 0\n")
    }
}
