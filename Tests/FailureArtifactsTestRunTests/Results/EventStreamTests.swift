import FailureArtifactsAnalysis
import Testing

@testable import FailureArtifactsTestRun

@Suite struct EventStreamTests {
    private func attempts(_ lines: [String]) -> [TestAttempt] {
        var stream = EventStream()
        for line in lines { stream.read(Array(line.utf8)) }
        return stream.attempts
    }

    private func function(_ id: String, _ name: String) -> String {
        #"{"version":0,"kind":"test","payload":{"kind":"function","id":"\#(id)","name":"\#(name)"}}"#
    }

    private func event(_ kind: String, _ id: String, _ at: Double, _ more: String = "") -> String {
        #"{"version":0,"kind":"event","payload":{"kind":"\#(kind)","testID":"\#(id)","instant":{"absolute":\#(at)}"#
            + more + "}}"
    }

    @Test func testsOfAllKinds() {
        let (passing, failing) = ("M.S\\/Inner\\/a()\\/F.swift:1:2", "M.b(_:)\\/F.swift:2:2")
        let attempts = attempts([
            #"{"version":0,"kind":"test","payload":{"kind":"suite","id":"M.S","name":"S"}}"#,
            function(passing, "a()"), function(failing, "b(_:)"),
            function("M.S\\/c()\\/F.swift:3:2", "c()"),
            event("testStarted", "M.S", 1),
            event("testStarted", passing, 1), event("testStarted", failing, 2),
            event(
                "issueRecorded", passing, 2,
                #","issue":{"isKnown":true},"messages":[{"symbol":"difference","text":"known"}]"#),
            event(
                "issueRecorded", passing, 2,
                #","issue":{"isKnown":false,"isFailure":false},"messages":[{"text":"a warning"}]"#),
            event(
                "issueRecorded", failing, 2,
                #","issue":{"isKnown":false,"sourceLocation":{"_filePath":"\/p\/F.swift","line":7}},"#
                    + #""messages":[{"symbol":"fail","text":"1 == 2"},{"symbol":"details","text":"why\nnot"}]"#
            ),
            event("testEnded", failing, 2.5), event("testEnded", passing, 4),
            event(
                "testSkipped", "M.S\\/c()\\/F.swift:3:2", 4,
                #","messages":[{"text":"Test c() skipped: \"off\""}]"#),
            event("testEnded", "M.S", 5),
        ])
        #expect(attempts.map(\.test.suite) == ["S.Inner", "M", "S"])
        #expect(attempts.map(\.test.name) == ["a", "b(_:)", "c"])
        #expect(attempts.allSatisfy { $0.test.module == "M" && $0.test.framework == "Swift Testing" })
        #expect(attempts.map(\.outcome) == [.passed, .failed, .skipped])
        #expect(attempts.map(\.seconds) == [3, 0.5, nil])
        #expect(
            attempts[1].failures == [.init(message: "1 == 2\nwhy\nnot", file: "/p/F.swift", line: 7)])
        #expect(attempts[2].reason == "off")
    }

    /// Events in the form that `--repetitions` produces.
    @Test func aTestThatIsRepeated() {
        let id = "M.a()\\/F.swift:1:2"
        let attempts = attempts([
            function(id, "a()"), event("testStarted", id, 1),
            event("issueRecorded", id, 1, #","issue":{},"messages":[{"text":"x"}]"#),
            event("testEnded", id, 2), event("testStarted", id, 3), event("testEnded", id, 4),
        ])
        #expect(attempts.map(\.outcome) == [.failed, .passed])
    }

    /// Events as version 6.4 describes them: the cases of a test are repeated, each while it fails.
    @Test func casesThatAreRepeated() {
        let (id, other) = ("M.isRipe(_:)\\/F.swift:1:2", "M.b()\\/F.swift:9:2")
        func event(_ kind: String, _ id: String, _ at: Double, _ iteration: Int, _ more: String = "")
            -> String
        {
            self.event(kind, id, at, #","iteration":\#(iteration)"# + more)
        }
        func failure(_ text: String) -> String { #","issue":{},"messages":[{"text":"\#(text)"}]"# }
        let attempts = attempts([
            function(id, "isRipe(_:)"), function(other, "b()"),
            event("testStarted", id, 1, 1), event("testCaseStarted", id, 1, 1),
            event("testStarted", other, 1, 1), event("testCaseStarted", other, 1, 1),
            event("issueRecorded", id, 1.5, 1, failure("first")), event("testCaseEnded", id, 2, 1),
            // The second case passes in its first iteration.
            event("testCaseStarted", id, 2, 1), event("testCaseEnded", id, 3, 1),
            event("testCaseStarted", id, 3, 2),
            event("issueRecorded", id, 3.5, 2, failure("second")), event("testCaseEnded", id, 4, 2),
            event("testCaseStarted", id, 4, 3), event("testCaseEnded", id, 4.5, 3),
            event("testEnded", id, 5, 3),
            event("testCaseEnded", other, 6, 1), event("testEnded", other, 6, 1),
        ])
        let repeated = attempts.filter { $0.test.name == "isRipe(_:)" }
        #expect(repeated.map(\.outcome) == [.failed, .failed, .passed])
        #expect(repeated.map { $0.failures.map(\.message) } == [["first"], ["second"], []])
        #expect(repeated.map(\.seconds) == [2, 1, 0.5])
        #expect(attempts.count == 4 && attempts.first { $0.test.name == "b" }?.seconds == 5)
    }

    /// With `swift-tools-version` below 6.4, failures of XCTest in a test of Swift Testing are warnings
    /// ([ST-0021](https://github.com/swiftlang/swift-evolution/blob/main/proposals/testing/0021-targeted-interoperability-swift-testing-and-xctest.md)).
    @Test func warningsOfAnotherFramework() {
        let id = "M.a()\\/F.swift:1:2"
        let attempts = attempts([
            function(id, "a()"), event("testStarted", id, 1),
            event(
                "issueRecorded", id, 1,
                #","issue":{"isKnown":false,"isFailure":false,"severity":"warning"},"messages":[{"text":"XCTFail"}]"#
            ),
            event("testEnded", id, 2),
        ])
        #expect(attempts.map(\.outcome) == [.passed] && attempts[0].failures.isEmpty)
    }

    // MARK: - Version 6.5, as ST-0029 describes it

    /// Returns the failures and outcome of a test with one issue, whose event has no messages.
    private func attempt(issue: String, _ more: String = "") -> TestAttempt? {
        let id = "M.a()\\/F.swift:1:2"
        return attempts([
            function(id, "a()"), event("testStarted", id, 1, #","iteration":1"#),
            event("issueRecorded", id, 1, #","iteration":1,"issue":{\#(issue)}"# + more),
            event("testEnded", id, 2, #","iteration":1"#),
        ]).first
    }

    /// Without messages, the comments and the place remain.
    @Test func anIssueWithoutMessages() {
        let attempt = attempt(
            issue: #""isFailure":true,"expression":{"sourceCode":"a == b"},"isKnown":{}"#,
            #","comments":["why"],"sourceLocation":{"filePath":"\/p\/F.swift","fileID":"M\/F.swift","line":7,"column":3}"#
        )
        #expect(attempt?.outcome == .failed)
        #expect(
            attempt?.failures == [.init(message: "Issue recorded\nwhy", file: "/p/F.swift", line: 7)])
    }

    @Test(arguments: [
        #""isFailure":false,"isKnown":"a comment","severity":"error""#,
        #""isFailure":false,"isKnown":true"#,
        #""isKnown":"a comment""#, #""isKnown":true"#, #""isFailure":false,"severity":"warning""#,
    ])
    func issuesThatFailNothing(_ issue: String) {
        #expect(attempt(issue: issue)?.outcome == .passed)
    }

    @Test func aSkippedTestHasItsComment() {
        let id = "M.a()\\/F.swift:1:2"
        let attempts = attempts([
            function(id, "a()"), event("testSkipped", id, 1, #","comments":["off"]"#),
        ])
        #expect(attempts.map(\.outcome) == [.skipped] && attempts[0].reason == "off")
    }

    @Test func aProcessThatDied() {
        let id = "M.a()\\/F.swift:1:2"
        let lines = [function(id, "a()"), event("testStarted", id, 1)]
        #expect(
            attempts(lines + [String(event("testEnded", id, 2).dropLast(20))]).map(\.outcome) == [
                .unfinished
            ])
    }

    /// An issue outside the tests of a suite is a separate result.
    @Test func anIssueOfASuite() {
        let attempts = attempts([
            #"{"version":0,"kind":"test","payload":{"kind":"suite","id":"M.S","name":"S"}}"#,
            event("testStarted", "M.S", 1),
            event("issueRecorded", "M.S", 1, #","issue":{},"messages":[{"text":"x"}]"#),
            event("testEnded", "M.S", 2),
        ])
        #expect(attempts.map(\.test.name) == ["suite"])
        #expect(attempts.map(\.outcome) == [.failed])
    }

    @Test(arguments: [
        "", "{", "null", "[]", "{}", #"{"kind":"event"}"#,
        #"{"kind":"test","payload":{"kind":"function"}}"#,
        #"{"kind":"test","payload":{"kind":"function","id":"x","name":"y"}}"#, "\u{0}",
        #"{"kind":"event","payload":{"kind":"testStarted","testID":"M.unknown()"}}"#,
    ])
    func linesThatMeanNothing(_ line: String) {
        #expect(attempts([line]).isEmpty)
    }
}
