import FailureArtifactsBundle
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct TestResultsTests {
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
        // The bundle's message is complete.
        #expect(results.tests[0].runs[0].failures.map(\.message) == ["first and all of it"])
        // Each bundle belongs to the run with the same message, independent of the order.
        #expect(
            results.tests[2].runs.map { $0.bundles.map(\.path) } == [
                ["failure-artifacts/broken-2.zip"], ["failure-artifacts/broken-1.zip"],
            ])
        #expect(results.tests.filter(\.isFailure).map(\.test.name) == ["broken"])
    }

    /// Each failed argument has a bundle, but the event stream has only one test.
    @Test func parameterizedTests() throws {
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

    /// Bundles alone, a log, and SwiftPM's report give a class the same name.
    @Test func aClassHasOneName() throws {
        for results in [
            TestResults(attempts: [], bundles: [try Sample.bundle("a", "x")]),
            TestResults(attempts: [Sample.attempt("a", .failed, "x")], bundles: []),
            TestResults(attempts: [Sample.attempt("a", .failed, "x", module: "M")], bundles: []),
            TestResults(
                attempts: [], report: [Sample.attempt("a", .failed, module: "M")],
                bundles: [try Sample.bundle("a", "x")]),
        ] {
            #expect(results.suites.map(\.name) == ["Suite"])
        }
    }

    /// A log contains class names.
    ///
    /// SwiftPM's report also contains module names.
    @Test func modules() {
        let results = TestResults(
            attempts: [Sample.attempt("a", .failed, "x")],
            report: [
                Sample.attempt("a", .failed, module: "M", seconds: 9),
                Sample.attempt("b", .passed, module: "M"),
                Sample.attempt("b", .passed, module: "N"),
            ], bundles: [])
        #expect(results.tests[0].seconds == 1)
        #expect(results.suites.map(\.name) == ["M.Suite", "N.Suite"])
        #expect(results.suites.map { $0.tests.map(\.test.name) } == [["a", "b"], ["b"]])
    }
}
