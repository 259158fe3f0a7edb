import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestRun
import Testing

@testable import FailureArtifactsCommands

@Suite struct RepetitionTests {
    private typealias Bundle = (path: String, metadata: BundleMetadata?)

    /// Writes the bundle of a test to the directory `out`.
    private func bundle(
        _ name: String, of test: String, arguments: [String]? = nil,
        _ outcome: BundleMetadata.Outcome = .passed, run: String? = nil, in fixture: borrowing Fixture
    ) throws -> Bundle {
        var metadata = try BundleMetadata(
            json: Array(Metadata.plain(test: test, message: "m").utf8), of: name)
        metadata.outcome = outcome
        metadata.test.arguments = arguments
        metadata.environment.run = run
        return (try fixture.zip("out/\(name)", [("metadata.json", metadata.json())]), metadata)
    }

    private func names(in fixture: borrowing Fixture) throws -> [String] {
        try FileSystem.contents(ofDirectory: fixture.path("out")).filter { $0.hasSuffix(".zip") }
            .sorted()
    }

    /// In the second run, only one of three tests has room for a bundle.
    @Test func theLastPassingBundleOfEachTestStays() throws {
        let fixture = try Fixture()
        var repetition = Repetition(maximumRuns: 3, timeLimit: nil)
        func end(_ bundles: [Bundle]) -> Repetition.Step {
            repetition.endRun(.itself, exitStatus: 0, bundles, in: fixture.path("out")).step
        }
        let first = [
            try bundle("a1.zip", of: "a", in: fixture),
            try bundle("b1.zip", of: "b", arguments: ["1"], in: fixture),
            try bundle("b2.zip", of: "b", arguments: ["2"], in: fixture),
        ]
        _ = try bundle("other.zip", of: "a", in: fixture)
        #expect(end(first) == .again)
        #expect(end([try bundle("b3.zip", of: "b", arguments: ["1"], in: fixture)]) == .again)
        #expect(try names(in: fixture) == ["a1.zip", "b2.zip", "b3.zip", "other.zip"])
        // The last run replaces them, too.
        #expect(end([try bundle("a2.zip", of: "a", in: fixture)]) == .end)
        #expect(try names(in: fixture) == ["a2.zip", "b2.zip", "b3.zip", "other.zip"])
    }

    @Test func theBundlesOfTheLastPassStayAfterAFailure() throws {
        let fixture = try Fixture()
        var repetition = Repetition(maximumRuns: 9, timeLimit: nil)
        let passed = try bundle("a1.zip", of: "a", in: fixture)
        #expect(
            repetition.endRun(.itself, exitStatus: 0, [passed], in: fixture.path("out")).step == .again)
        // A command can hide the status of its tests.
        let failed = [
            try bundle("a2.zip", of: "a", .failed, in: fixture),
            try bundle("b.zip", of: "b", in: fixture),
        ]
        let (step, message) = repetition.endRun(
            .itself, exitStatus: 0, failed, in: fixture.path("out"))
        #expect(step == .end && message == "Run 2 of 9 failed.")
        #expect(try names(in: fixture) == ["a1.zip", "a2.zip", "b.zip"])
    }

    @Test(arguments: [
        (RunReport.Cause.itself, "Run 1 of 9 failed."),
        (.timeLimit, "Run 1 of 9 was ended by the time limit."),
        (.signal(SIGINT), "Run 1 of 9 was ended by signal 2 (SIGINT)."),
    ]) func theMessageNamesTheCause(cause: RunReport.Cause, message: String) {
        var repetition = Repetition(maximumRuns: 9, timeLimit: nil)
        let end = repetition.endRun(cause, exitStatus: cause == .itself ? 3 : 0, [], in: "/none")
        #expect(end.step == .end && end.message == message)
    }

    @Test func noRunBeginsAfterTheDeadline() {
        var repetition = Repetition(maximumRuns: 2, timeLimit: 0)
        let end = repetition.endRun(.itself, exitStatus: 0, [], in: "/none")
        #expect(end.step == .timeIsUp && end.message.hasPrefix("Run 1 of 2 passed"))
        // There would have been no further run.
        var single = Repetition(maximumRuns: 1, timeLimit: 0)
        #expect(single.endRun(.itself, exitStatus: 0, [], in: "/none").step == .end)
    }

    @Test func bundlesOfOtherProcessesAreNotTheRunsOwn() throws {
        let fixture = try Fixture()
        try FileSystem.createDirectory(fixture.path("out"))
        let new = NewBundles(in: fixture.path("out"), within: "outer")
        #expect(new.run.hasPrefix("outer."))
        #expect(new.run != NewBundles(in: fixture.path("out"), within: "outer").run)
        _ = try bundle("own.zip", of: "a", run: new.run, in: fixture)
        _ = try bundle("inner.zip", of: "a", run: new.run + ".1", in: fixture)
        _ = try bundle("outer.zip", of: "a", run: "outer", in: fixture)
        _ = try bundle("longer.zip", of: "a", run: new.run + "1", in: fixture)
        _ = try bundle("unknown.zip", of: "a", in: fixture)
        try fixture.write([1], to: "out/broken.zip")
        let bundles = new.bundles()
        // A process in a container has no identifier, but may belong to the run.
        #expect(
            Set(bundles.map { Path.name(of: $0.path) }) == [
                "own.zip", "inner.zip", "unknown.zip", "broken.zip",
            ])
        #expect(
            Set(bundles.filter(new.isOwn).map { Path.name(of: $0.path) }) == ["own.zip", "inner.zip"])
    }

    /// The newer bundle is of another argument.
    @Test func aFailureIsComparedWithTheSameArguments() throws {
        let fixture = try Fixture()
        let failed = try bundle(
            "PlainTests.a-00000001.zip", of: "a", arguments: ["1"], .failed, in: fixture)
        let same = try bundle(
            "PlainTests.a-passed-00000002.zip", of: "a", arguments: ["1"], in: fixture)
        _ = try bundle("PlainTests.a-passed-00000003.zip", of: "a", arguments: ["2"], in: fixture)
        let lonely = try bundle(
            "PlainTests.a-00000004.zip", of: "a", arguments: ["3"], .failed, in: fixture)
        let console = Console(output: Memory().output(), error: Memory().output(), environment: [:])
        #expect(console.passingBundles(besides: [failed.path, lonely.path]) == [failed.path: same.path])
    }
}
