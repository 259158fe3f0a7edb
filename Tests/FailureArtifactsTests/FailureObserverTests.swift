import FailureArtifacts
import FailureArtifactsBundle
import FailureArtifactsTestSupport
import Foundation
import Testing

/// Tests of XCTest in child processes, and the bundles that they leave.
///
/// `test_copy.py` and `test_discovery.py` have more kinds of failures.
@Suite(.enabled(if: ChildTestRun.isPossible)) struct FailureObserverTests {
    private let fruits = "SELECT name FROM fruit ORDER BY rowid"

    private func run(_ name: String, _ variables: [String: String] = [:]) throws -> ChildTestRun {
        try ChildTestRun.run(.xctest("FailureArtifactsTests.\(name)"), variables)
    }

    /// Runs a failing test and returns its bundle.
    private func failing(_ name: String, _ variables: [String: String] = [:]) throws -> CapturedBundle {
        let child = try run(name, variables)
        #expect(child.status == 1, "\(child.output)")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        try #require(bundles.count == 1, "\(child.output)")
        return bundles[0]
    }

    @Test func failedAssertionLeavesTheStoreAsItWasThen() throws {
        let child = try run("OutcomeTests/testFails")
        let bundle = try #require(try child.bundles()?.first, "\(child.output)")
        let test = bundle.metadata.test
        #expect((test.framework, test.suite, test.name) == ("XCTest", "OutcomeTests", "testFails"))
        let failure = try #require(bundle.metadata.failures.first)
        #expect(failure.message.contains(#"("["apple"]") is not equal to ("["pear"]")"#))
        #expect(failure.kind == .assertion)
        #expect(failure.file?.hasSuffix("Fixtures.swift") == true)
        #expect(try bundle.texts(fruits, in: "larder") == ["apple"])
        let line = child.output.split(separator: "\n").first { $0.hasPrefix("failure-artifacts: ") }
        let digits = bundle.path.dropLast(4).suffix(8)
        #expect(line?.contains("OutcomeTests.testFails failed. To find out why: ") == true)
        #expect(
            line?.contains("failure-artifacts explain ") == true && line?.hasSuffix("/\(digits)") == true
        )
    }

    /// The bundle, which crash recovery makes, has the name that was printed at the failure.
    @Test func failureBeforeACrashHasItsLine() throws {
        let crashed = try run("OutcomeTests/testFailsAndCrashes")
        #expect(crashed.wasKilled && crashed.collectorLines.count == 1, "\(crashed.output)")
        let line = try #require(crashed.collectorLines.first)
        #expect(line.contains("OutcomeTests.testFailsAndCrashes failed. To find out why: "))
        let next = try ChildTestRun.run(
            .xctest("FailureArtifactsTests.OutcomeTests/testPasses"), after: crashed)
        let recovered = try #require(next.collectorLines.first, "\(next.output)")
        let command = "failure-artifacts explain failure-artifacts/"
        #expect(
            recovered.hasPrefix(
                "failure-artifacts: OutcomeTests.testFailsAndCrashes did not end in an earlier process. To find out "
                    + "why: \(command)"))
        #expect(line.suffix(8) == recovered.suffix(8))
        let bundle = try #require(try next.bundles()?.first)
        #expect(bundle.path.hasSuffix("-\(line.suffix(8)).zip"))
        #expect(bundle.messages.count == 2)
    }

    /// The process died before it had packed the bundle of a test that had ended.
    @Test func failureThatWasNotPackedEnded() throws {
        let crashed = try run("UnpackedTests")
        #expect(crashed.wasKilled && crashed.collectorLines.count == 1, "\(crashed.output)")
        let next = try ChildTestRun.run(
            .xctest("FailureArtifactsTests.OutcomeTests/testPasses"), after: crashed)
        #expect(next.collectorLines.count == 1, "\(next.output)")
        #expect(
            next.collectorLines.first?.contains(
                ": UnpackedTests.testFails failed in an earlier process. To find out why: ") == true)
    }

    @Test func failuresInSetUpLeaveBundles() throws {
        let thrown = try failing("SetUpTests")
        #expect(thrown.metadata.failures.map(\.kind) == [.error])
        #expect(try thrown.texts(fruits) == ["apple"])
        let asynchronous = try failing("AsynchronousSetUpTests")
        #expect(asynchronous.messages == ["failed - in setUp"])
        #expect(try asynchronous.texts(fruits) == ["apple"])
    }

    #if os(Linux)
    /// The events are those of Swift 6.4, made up because 6.3 has none.
    @Test func failureThatBothFrameworksReportLeavesOneBundle() throws {
        let child = try run("InteroperabilityTests")
        #expect(child.status == 0 && child.testCount == 1, "\(child.output)")
        let bundles = try #require(try child.bundles(), "\(child.output)")
        #expect(bundles.map(\.metadata.test.name) == ["split()"])
        #expect(bundles.map(\.messages) == [["of XCTest", "of XCTest"]])
    }

    /// XCTest on Linux drops them.
    ///
    /// If it begins to report them, the observer has to report them too.
    @Test func failuresInAClassSetUpAreNotReported() throws {
        let child = try run("ClassSetUpTests")
        #expect(child.status == 0 && child.testCount == 1, "\(child.output)")
        #expect(!child.output.contains("in the class's setUp"))
        #expect(try child.bundles() == nil)
    }
    #else
    @Test func failuresInAClassSetUpLeaveABundle() throws {
        let bundle = try failing("ClassSetUpTests")
        #expect(bundle.metadata.test.name == "suite")
        #expect(bundle.messages == ["failed - in the class's setUp"])
    }
    #endif

    @Test func passingTestIsCapturedAfterItsTeardownBlocks() throws {
        let child = try run("TeardownBlockTests", ["FAILURE_ARTIFACTS_PASSING": "always"])
        #expect(child.status == 0, "\(child.output)")
        let bundle = try #require(try child.bundles()?.first, "\(child.output)")
        #expect(bundle.metadata.outcome == .passed)
        #expect(try bundle.texts(fruits) == ["apple", "pear"])
    }

    @Test func bundleIsWrittenBeforeXCTestEndsTheProcess() throws {
        let child = try run("EndingTests")
        #expect(child.wasKilled, "\(child.output)")
        let bundle = try #require(try child.bundles()?.first, "\(child.output)")
        #expect(bundle.messages == ["failed - the end"])
        #expect(try bundle.texts(fruits) == ["apple"])
    }

    @Test func capturingIsOffInThisProcess() {
        #expect(CaptureConfiguration.current.mode == .off)
        #expect(ProcessInfo.processInfo.environment["FAILURE_ARTIFACTS"] != "off")
    }

    @Test func observerCanBeTurnedOff() throws {
        let child = try run("TurnedOffTests")
        #expect(child.status == 1 && child.testCount == 1, "\(child.output)")
        #expect(try child.bundles() == nil)
    }
}
