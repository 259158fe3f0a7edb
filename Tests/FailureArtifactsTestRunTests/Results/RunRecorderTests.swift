import Testing

@testable import FailureArtifactsTestRun

@Suite struct RunRecorderTests {
    @Test(arguments: [
        (["swift", "test"], 1), (["/opt/swift/usr/bin/swift", "test", "--parallel"], 1),
        (["xcrun", "swift", "test"], 2), (["env", "A=b", "C=", "swift", "test", "-v"], 4),
        (["swift", "build"], nil), (["swift", "--version", "test"], nil),
        (["make", "swift", "test"], nil),
        (["swift", "test", "list"], nil), (["swift", "test", "--list-tests"], nil), (["swift"], nil),
        (["env", "-i", "swift", "test"], nil), (["env"], nil),
    ])
    func whatSwiftTestIs(_ words: [String], _ place: Int?) {
        #expect(RunRecorder.placeOfTest(in: words) == place)
    }

    @Test func whatSwiftTestIsAskedFor() {
        func words(_ words: String...) -> [String] {
            RunRecorder(words, events: [], scratch: "/s").words
        }
        let events = ["--event-stream-output-path", "/s/events.jsonl"]
        #expect(words("swift", "test", "-v") == ["swift", "test"] + events + ["-v"])
        #expect(
            words("swift", "test", "--parallel")
                == ["swift", "test"] + events + ["--xunit-output", "/s/report.xml", "--parallel"])
        // Without the results of XCTest, its report isn't requested, and its output isn't read.
        let recorder = RunRecorder(
            ["swift", "test", "--parallel"], events: [], scratch: "/s", hasXCTest: false)
        #expect(recorder.words == ["swift", "test"] + events + ["--parallel"])
        #expect(recorder.lineHooks == nil)
        // If the command has these options already, none are added.
        let given = [
            "swift", "test", "--event-stream-output-path=e", "--parallel", "--xunit-output", "x",
        ]
        #expect(RunRecorder(given, events: [], scratch: "/s").words == given)
        #expect(words("make", "test") == ["make", "test"])
    }
}
