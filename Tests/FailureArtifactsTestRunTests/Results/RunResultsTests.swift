import FailureArtifactsAnalysis
import FailureArtifactsTestFixtures
@testable import FailureArtifactsTestRun
import Testing

@Suite struct RunResultsTests {
    @Test(arguments: [
        (["swift", "test"], 1), (["/opt/swift/usr/bin/swift", "test", "--parallel"], 1),
        (["xcrun", "swift", "test"], 2), (["env", "A=b", "C=", "swift", "test", "-v"], 4),
        (["swift", "build"], nil), (["swift", "--version", "test"], nil),
        (["make", "swift", "test"], nil),
        (["swift", "test", "list"], nil), (["swift", "test", "--list-tests"], nil), (["swift"], nil),
        (["env", "-i", "swift", "test"], nil), (["env"], nil), (["A=b", "exec", "swift", "test"], 3),
    ])
    func whatSwiftTestIs(_ words: [String], _ place: Int?) {
        #expect(RunResults.placeOfTest(in: words) == place)
    }

    private func words(_ words: String...) -> [String] {
        RunResults(words, scratch: "/s").words
    }

    @Test func whatSwiftTestIsAskedFor() {
        let events = ["--event-stream-output-path", "/s/events.jsonl", "--event-stream-version", "6.3"]
        #expect(words("swift", "test", "-v") == ["swift", "test"] + events + ["-v"])
        #expect(
            words("swift", "test", "--parallel")
                == ["swift", "test"] + events + ["--xunit-output", "/s/report.xml", "--parallel"])
        // If the command has these options already, none are added.
        let given = [
            "swift", "test", "--event-stream-output-path=e", "--parallel", "--xunit-output", "x",
        ]
        #expect(RunResults(given, scratch: "/s").words == given)
        #expect(words("make", "test") == ["make", "test"])
    }

    @Test(arguments: [
        ("cd 'a b' && DEBUG=1 swift test EVENTS| tee log", "-v "),
        ("if ! swift 'te'st EVENTS\\\n; then exit 1; fi", ""), ("swift \\\n test EVENTS\\\n", "-v "),
        ("(swift test EVENTS)", ""),
        ("swift test EVENTS# swift test", " --filter 'A|B' "),
        ("x=\"; swift test\" swift test EVENTS", ""),
        ("swift test list; echo swift test; make \\\"swift test #", nil), ("echo '\nswift test\n'", nil),
    ])
    func swiftTestInAScript(_ script: String, _ options: String?) {
        for shell in [["sh", "-c"], ["/bin/bash", "-eo", "pipefail", "-c"]] {
            let given = shell + [script.replacing("EVENTS", with: options ?? ""), "swift", "test"]
            let events = " --event-stream-output-path /s/events.jsonl --event-stream-version 6.3"
            let expected = script.replacing(" EVENTS", with: events + (options.map { " " + $0 } ?? ""))
            #expect(RunResults(given, scratch: "/s").words == shell + [expected, "swift", "test"])
        }
    }

    @Test func eachRunInAScriptHasFilesOfItsOwn() {
        let script = RunResults(["sh", "-c", "swift test && swift test --parallel"], scratch: "/s")
            .words[2]
        #expect(
            script
                == "swift test --event-stream-output-path /s/events.jsonl --event-stream-version 6.3 && swift test "
                + "--event-stream-output-path /s/events-2.jsonl --event-stream-version 6.3 --xunit-output "
                + "/s/report-2.xml --parallel")
    }

    /// The numbers of iterations are needed to tell the runs of a test's cases apart.
    @Test(arguments: [
        ["--maximum-repetitions", "3"], ["--maximum-repetitions=3"], ["--repeat-until", "fail"],
    ])
    func repeatedTestsAreAskedForTheirIterations(_ options: [String]) {
        let words = RunResults(["swift", "test"] + options, scratch: "/s").words
        #expect(Array(words.dropFirst(4)) == ["--event-stream-version", "6.4"] + options)
    }

    @Test(arguments: [
        ["--event-stream-version", "0"], ["--event-stream-version=6.5"],
        ["--experimental-event-stream-version", "99"],
    ])
    func theVersionThatTheCommandAsksForRemains(_ options: [String]) {
        let words = RunResults(["swift", "test"] + options, scratch: "/s").words
        #expect(words == ["swift", "test", "--event-stream-output-path", "/s/events.jsonl"] + options)
    }

    /// The file is the command's own, so its version is, too.
    @Test func theFileThatTheCommandAsksForRemains() throws {
        let fixture = try Fixture()
        let file = try fixture.write(
            Array(
                #"""
                {"kind":"test","payload":{"kind":"function","id":"M.a()/F.swift:1:2","name":"a()"}}
                {"kind":"event","payload":{"kind":"testStarted","testID":"M.a()/F.swift:1:2"}}
                {"kind":"event","payload":{"kind":"testEnded","testID":"M.a()/F.swift:1:2"}}
                """#.utf8), to: "events")
        for option in ["--experimental-event-stream-output", "--event-stream-output-path"] {
            let run = RunResults(["swift", "test", option, file], scratch: "/s")
            #expect(run.words == ["swift", "test", option, file])
            #expect(run.results(bundles: []).tests.count == 1)
        }
    }
}

@Suite struct SwiftPMReportTests {
    @Test func swiftPMsReport() {
        let attempts = SwiftPMReport.attempts(
            """
            <?xml version="1.0" encoding="UTF-8"?>

            <testsuites>
            <testsuite name="TestResults" errors="0" tests="2" failures="1" time="0.126157345">
            <testcase classname="XT.ATests" name="testFail" time="0.018">
            <failure message="failure"></failure>
            </testcase>
            <testcase classname="XT.A&amp;&lt;B" name="testPass" time="0.02">
            </testcase>
            </testsuite>
            <testcase classname="broken" name="x"><testcase
            """)
        #expect(attempts.map(\.outcome) == [.failed, .passed])
        #expect(attempts.map(\.test.suite) == ["ATests", "A&<B"])
        #expect(attempts.map(\.seconds) == [0.018, 0.02])
    }
}
