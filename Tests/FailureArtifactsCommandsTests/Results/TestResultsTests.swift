import FailureArtifactsBundle
import Testing

@testable import FailureArtifactsCommands

/// Results as tests have them.
enum Sample {
    static func attempt(
        _ name: String, _ outcome: TestAttempt.Outcome, _ messages: String..., module: String? = nil,
        framework: String = TestIdentity.xctest, seconds: Double? = 1
    ) -> TestAttempt {
        TestAttempt(
            test: TestIdentity(framework: framework, module: module, suite: "Suite", name: name),
            outcome: outcome, seconds: seconds,
            failures: messages.map { .init(message: $0, file: "/p/A.swift", line: 3) })
    }

    static func bundle(
        _ name: String, _ messages: String..., at second: Int = 0, arguments: [String]? = nil,
        outcome: BundleMetadata.Outcome = .failed, fingerprint: String = "",
        file: String? = "/p/A.swift",
        framework: String = TestIdentity.xctest, path: String? = nil
    ) throws -> ResultBundle {
        var metadata = try BundleMetadata(
            json: Array(Metadata.plain(test: name, message: "m").utf8), of: "sample")
        metadata.test.framework = framework
        metadata.test.suite = "Suite"
        metadata.test.arguments = arguments
        metadata.outcome = outcome
        metadata.fingerprint = fingerprint
        let first = try #require(metadata.failures.first)
        metadata.failures = messages.map { message in
            var failure = first
            failure.message = message
            failure.file = file
            failure.line = file == nil ? nil : 3
            failure.at = "2026-11-21T07:08:\(10 + second).000Z"
            return failure
        }
        return ResultBundle(metadata, path: path ?? "failure-artifacts/\(name)-\(second).zip")
    }
}

@Suite struct TestResultsTests {
    @Test func failuresWithoutABundle() throws {
        func modern(_ name: String, _ outcome: TestAttempt.Outcome) -> TestAttempt {
            Sample.attempt(name, outcome, "m", module: "M", framework: TestIdentity.swiftTesting)
        }
        let results = TestResults(
            attempts: [
                Sample.attempt("xctest", .failed), modern("plain", .failed), modern("passes", .passed),
                modern("bundled", .failed), modern("flaky", .failed), modern("flaky", .passed),
                modern("cutOff", .unfinished), modern("isSkipped", .skipped),
                modern(TestIdentity.wholeSuite, .failed),
            ],
            bundles: [
                // Of one case out of several.
                try Sample.bundle("bundled", "m", arguments: ["2"], framework: TestIdentity.swiftTesting)
            ])
        #expect(results.failedWithoutBundle.map(\.name) == ["plain", "flaky"])
    }

    @Test func runsOfOneTestAreToldApart() throws {
        let results = TestResults(
            attempts: [
                Sample.attempt("flaky", .failed, "first"), Sample.attempt("steady", .passed),
                Sample.attempt("flaky", .passed), Sample.attempt("broken", .failed, "a"),
                Sample.attempt("broken", .failed, "b"),
            ],
            bundles: [
                try Sample.bundle("broken", "b", at: 1), try Sample.bundle("broken", "a", at: 2),
                try Sample.bundle("flaky", "first and all of it", at: 0),
            ])
        #expect(results.tests.map(\.test.name) == ["flaky", "steady", "broken"])
        #expect(results.tests.map(\.isFlaky) == [true, false, false])
        #expect(results.tests.map(\.isFailure) == [false, false, true])
        // What the bundle says is whole.
        #expect(results.tests[0].runs[0].failures.map(\.message) == ["first and all of it"])
        // Each to the run that failed in the same words, whatever came first.
        #expect(
            results.tests[2].runs.map { $0.bundles.map(\.path) } == [
                ["failure-artifacts/broken-2.zip"], ["failure-artifacts/broken-1.zip"],
            ])
        #expect(results.failures.map(\.test.name) == ["broken"])
    }

    /// A bundle for each argument that failed, and one test in the stream.
    @Test func parameterisedTests() throws {
        let results = TestResults(
            attempts: [Sample.attempt("p(_:)", .failed, "x", framework: "Swift Testing")],
            bundles: [
                try Sample.bundle("p(_:)", "x", arguments: ["1"], framework: "Swift Testing"),
                try Sample.bundle("p(_:)", "x", at: 1, arguments: ["2"], framework: "Swift Testing"),
            ])
        let test = try #require(results.tests.first)
        #expect(test.runs.count == 1)
        #expect(test.runs[0].failures.map(\.message) == ["x (1)", "x (2)"])
    }

    @Test func bundlesThatNothingElseTellsOf() throws {
        let results = TestResults(
            attempts: [Sample.attempt("passed", .passed)],
            bundles: [
                try Sample.bundle("alone", "x", outcome: .crashed), try Sample.bundle("passed", "y"),
            ])
        #expect(results.tests.map(\.isError) == [false, true])
        #expect(results.tests[0].isFlaky)
        #expect(results.tests[1].runs[0].isEnded)
    }

    /// A log names classes, SwiftPM's report modules and classes.
    @Test func modules() {
        let results = TestResults(
            attempts: [Sample.attempt("a", .failed, "x")],
            report: [
                Sample.attempt("a", .failed, module: "M", seconds: 9),
                Sample.attempt("b", .passed, module: "M"),
                Sample.attempt("b", .passed, module: "N"),
            ], bundles: [])
        #expect(results.tests.map(\.test.className) == ["M.Suite", "M.Suite", "N.Suite"])
        #expect(results.tests[0].seconds == 1)
        #expect(results.suites.map(\.name) == ["M.Suite", "N.Suite"])
    }

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
