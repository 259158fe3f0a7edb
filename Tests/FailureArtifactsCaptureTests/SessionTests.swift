import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsZip
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The results of the events that adapters report to a session.
///
/// The stores are registered, and discovery is off: it would find the stores of other tests in this process.
@Suite struct SessionTests {
    private typealias World = SessionWorld

    private func messages(_ bundle: BundleReader) -> [String] { bundle.metadata.failures.map(\.message) }

    @Test func withoutAFailureThereIsNotEvenADirectory() throws {
        let world = try World()
        let test = world.start()
        test.state.withLock { $0.attachments.append(("a", .bytes([1]))) }
        world.finish(test)
        let other = world.start()
        world.session.takeSnapshot("before", of: other)
        world.finish(other)
        #expect(try FileSystem.status(of: world.directory + "/artifacts") == nil)
    }

    @Test func theCopyIsThereWhenTheFailureReturnsAndTheBundleTellsAll() throws {
        let world = try World()
        let test = world.start()
        test.state.withLock { $0.attachments.append(("early.txt", .bytes([1, 2]))) }
        world.fail(test, "first")
        let staging = try #require(
            ArtifactsDirectory(path: world.directory + "/artifacts").stagingDirectories.first)
        #expect(!staging.isEnded && staging.process == .current)
        #expect(staging.metadata?.failures.map(\.message) == ["first"])
        #expect(FileSystem.regularFile(staging.path + "/stores/ledger.sqlite") != nil)

        try world.run("INSERT INTO t VALUES (2)")
        world.fail(test, "second")
        test.state.withLock {
            $0.attachments.append(("late.txt", .file(world.directory + "/ledger.sqlite")))
        }
        world.finish(test)

        let bundle = try world.bundle()
        #expect(world.left.count == 3 && world.left.prefix(2) == [".budget", ".gitignore"])
        #expect(messages(bundle) == ["first", "second"])
        #expect(try world.rows(bundle) == 1)
        #expect(
            bundle.archive.entries.map(\.name) == [
                "metadata.json", "stores/ledger.sqlite", "history/ledger.wal-history",
                "attachments/early.txt", "attachments/late.txt", "README.txt",
            ])
        #expect(bundle.metadata.attachments.first?.bytes == 2)
        #expect(bundle.metadata.warnings.isEmpty && bundle.metadata.capture.limitsHit.isEmpty)
        #expect(bundle.metadata.test.attempt == 1)
    }

    @Test(arguments: [true, false])
    func aBundleIsThereAtOnceIfAskedFor(testGoesOn: Bool) throws {
        let world = try World { $0.packsInBackground = false }
        let test = world.start()
        let event = FailureEvent(message: "m", file: "T.swift", line: 1, kind: .assertion)
        world.session.testDidFail(test, event, testGoesOn: testGoesOn)
        if testGoesOn { world.session.testDidFinish(test) }
        #expect(try world.rows(try world.bundle()) == 1)
        // Later failures are too late.
        world.fail(test, "late")
        world.finish(test)
        #expect(messages(try world.bundle()) == ["m"])
    }

    @Test func snapshotsAreThereIfTheTestFailsAndSameContentOnce() throws {
        let world = try World()
        let test = world.start()
        world.session.takeSnapshot("before: all", of: test)
        world.session.takeSnapshot("again", of: test)
        try world.run("INSERT INTO t VALUES (2)")
        world.session.takeSnapshot("again", of: test)
        world.fail(test, "m")
        world.finish(test)

        let bundle = try world.bundle()
        #expect(bundle.metadata.snapshots?.map(\.label) == ["before_all", "again", "again-2"])
        #expect(try world.rows(bundle, "before_all/ledger") == 1)
        #expect(try world.rows(bundle, "again/ledger") == 1)
        #expect(try world.rows(bundle, "again-2/ledger") == 2)
        #expect(try world.rows(bundle) == 2)
        let copies = bundle.archive.entries.map(\.name).filter { $0.hasSuffix(".sqlite") }
        #expect(
            copies == [
                "stores/ledger.sqlite", "snapshots/before_all/ledger.sqlite",
                "snapshots/again-2/ledger.sqlite",
            ])
    }

    /// An idle test creates nothing to which a later failure could be added.
    @Test func whatFailsAfterATestInWhichNothingHappenedComesTooLate() throws {
        let world = try World()
        let test = world.session.testWillStart(
            framework: "XCTest", suite: "LedgerTests", name: "testNothing", isAlone: true)
        world.finish(test)
        #expect(world.session.currentTest == nil)
        world.fail(test, "late")
        world.session.takeSnapshot("late", of: test)
        world.finish(test)
        #expect(try FileSystem.status(of: world.directory + "/artifacts") == nil)
    }

    @Test func everyFailureHasASnapshot() throws {
        let world = try World { $0.mode = .everyFailure }
        let test = world.start()
        // The label of a further failure may be taken.
        world.session.takeSnapshot("Failure-2", of: test)
        world.fail(test, "first")
        try world.run("INSERT INTO t VALUES (2)")
        world.fail(test, "second")
        try world.run("INSERT INTO t VALUES (3)")
        world.fail(test, "third")
        world.finish(test)

        let bundle = try world.bundle()
        #expect(
            bundle.metadata.snapshots?.map(\.label) == ["Failure-2", "failure-2-2", "failure-3"])
        #expect(try world.rows(bundle) == 1)
        #expect(try world.rows(bundle, "Failure-2/ledger") == 1)
        #expect(try world.rows(bundle, "failure-2-2/ledger") == 2)
        #expect(try world.rows(bundle, "failure-3/ledger") == 3)
        #expect(bundle.metadata.storeChoices.allSatisfy { bundle.archive.entry(named: $0.entry) != nil })
        #expect(messages(bundle) == ["first", "second", "third"])
    }

    @Test func attemptsCountUpAndEachHasItsBundle() throws {
        let world = try World()
        for _ in 1...3 {
            let test = world.start()
            world.fail(test, "again")
            world.finish(test)
        }
        let attempts = try BundleLocator.found(at: world.directory + "/artifacts").map { finding in
            try BundleReader(finding.location, scratchDirectory: world.directory).metadata.test.attempt
        }
        #expect(attempts.sorted() == [1, 2, 3])
    }

    @Test(arguments: [
        ("FAILURE_ARTIFACTS_MAX_STORE_BYTES", 100, 1 << 30, 10.0),
        ("FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", 1 << 30, 10_000, 10.0),
        ("CaptureConfiguration.timeLimitPerFailure", 1 << 30, 1 << 30, 0.0),
    ])
    func whatIsLeftOutIsDescribed(limit: String, storeBytes: Int, totalBytes: Int, seconds: Double)
        throws
    {
        let world = try World {
            $0.maximumStoreBytes = UInt64(storeBytes)
            $0.maximumTotalBytes = UInt64(totalBytes)
            $0.timeLimitPerFailure = seconds
        }
        let test = world.start()
        world.fail(test, "m")
        world.finish(test)

        let metadata = try world.bundle().metadata
        #expect(metadata.stores.map(\.capture.method) == ["described"])
        #expect(metadata.stores.first?.capture.reason != nil && metadata.stores.first?.entry == nil)
        #expect(metadata.capture.limitsHit == [limit])
        #expect(metadata.warnings.map(\.code) == ["store-not-copied"])
        #expect(
            metadata.warnings.first?.parameters == ["store": .text("ledger"), "limit": .text(limit)])
    }

    @Test func failuresOfManyThreadsMakeOneBundle() throws {
        for mode in [CaptureConfiguration.Mode.firstFailure, .everyFailure] {
            let world = try World { $0.mode = mode }
            let test = world.start()
            DispatchQueue.concurrentPerform(iterations: 16) { index in world.fail(test, "\(index)") }
            world.finish(test)
            let bundle = try world.bundle()
            #expect(Set(messages(bundle)) == Set((0..<16).map { "\($0)" }))
            #expect(bundle.metadata.entries.allSatisfy { bundle.archive.entry(named: $0) != nil })
        }
    }

    @Test func testsOfOneNameAtTwoPlacesAreNotAttempts() throws {
        let world = try World()
        let attempts = ["A.swift:1", "B.swift:1", "A.swift:1"].map { location in
            world.session.testWillStart(
                framework: "Swift Testing", suite: "S", name: "t", location: location,
                isAlone: false
            ).identity.attempt
        }
        #expect(attempts == [1, 1, 2])
    }

    @Test func aFailureAfterTheEndIsNoneOfTheTest() throws {
        let world = try World()
        let (failed, passed) = (world.start("failed"), world.start("passed"))
        world.fail(failed, "in time")
        world.session.testDidFinish(failed)
        world.fail(failed, "too late")
        world.finish(passed)
        world.fail(passed, "too late")
        world.session.testsDidFinish()
        #expect(messages(try world.bundle()) == ["in time"])
    }

    // MARK: Suites

    @Test func failuresOfASuiteLeaveOneBundleForTheSuite() throws {
        let world = try World()
        let event = FailureEvent(message: "in setUp", file: "T.swift", line: 1, kind: .assertion)
        world.session.suiteDidFail(framework: "XCTest", suite: "LedgerTests", event)
        world.session.testDidFinish(world.start())
        world.session.suiteDidFail(
            framework: "XCTest", suite: "LedgerTests",
            FailureEvent(message: "in tearDown", file: nil, line: nil, kind: .error))
        #expect(world.left.allSatisfy { !$0.hasSuffix(".zip") })
        world.session.suiteDidFinish("OtherTests")
        world.session.suiteDidFinish("LedgerTests")
        world.session.testsDidFinish()
        let bundle = try world.bundle()
        let identity = bundle.metadata.test
        #expect(
            (identity.framework, identity.suite, identity.name) == ("XCTest", "LedgerTests", "suite"))
        #expect(messages(bundle) == ["in setUp", "in tearDown"])
    }

    /// A test that runs alone stays the one that failures and stores belong to.
    @Test func failureOfASuiteDoesNotTakeTheTestThatIsRunning() throws {
        let world = try World()
        let test = world.session.testWillStart(
            framework: "XCTest", suite: "LedgerTests", name: "testTotal", isAlone: true)
        world.session.suiteDidFail(
            framework: "XCTest", suite: "LedgerTests",
            FailureEvent(message: "of the suite", file: nil, line: nil, kind: .assertion))
        #expect(world.session.currentTest === test)
        world.session.testDidFinish(test)
        // A suite whose end isn't reported ends with the tests.
        world.session.testsDidFinish()
        #expect(messages(try world.bundle()) == ["of the suite"])
    }

    @Test func aSuiteThatFailsOnTwoThreadsAtOnceHasOneBundle() throws {
        let world = try World()
        let threads = Lock<[Int]>([])
        let group = DispatchGroup()
        // Both threads have to pass here between the lookup of the suite and its start.
        ConnectionRegistry.shared.state.withLock { _ in
            for _ in 1...2 {
                DispatchQueue.global().async(group: group) {
                    threads.withLock { $0.append(Int(failure_artifacts_current_thread())) }
                    world.session.suiteDidFail(
                        framework: "XCTest", suite: "LedgerTests",
                        FailureEvent(message: "m", file: nil, line: nil, kind: .assertion))
                }
            }
            _ = threads.wait { $0.count == 2 ? true : nil }
            while !threads.withLock({ $0.allSatisfy(Threads.sleeps(number:)) }) { sched_yield() }
        }
        group.wait()
        world.session.testsDidFinish()
        #expect(messages(try world.bundle()) == ["m", "m"] && !world.left.contains(".in-flight"))
    }

    @Test func aFailureThatIsOnlyRecordedWhenTheTestEndsIsCaptured() throws {
        let world = try World()
        let test = world.start()
        let event = FailureEvent(message: "m", file: nil, line: nil, kind: .assertion)
        // The two halves of a report, which another thread's end of the test comes between.
        test.state.withLock { $0.add(event) }
        world.session.testDidFinish(test)
        world.session.update(test) { $0.stageFailure(event) }
        world.session.testsDidFinish()
        #expect(try world.rows(try world.bundle()) == 1)
    }

    // MARK: Long messages

    @Test func aLongMessageKeepsItsStartAndItsEnd() {
        let limit = FailureEvent.maximumMessageBytes
        let fitting = String(repeating: "m", count: limit)
        #expect(FailureEvent.cut(fitting) == fitting)
        let cut = FailureEvent.cut("start" + String(repeating: "m", count: 20_000_000) + "end")
        #expect(cut.utf8.count <= limit && cut.utf8.count > limit - 100)
        #expect(cut.hasPrefix("startmmm") && cut.hasSuffix("mmmend"))
        #expect(cut.contains("\n[19934572 bytes are left out here]\n"))
    }

    @Test func manyLongMessagesMakeAReadableBundle() throws {
        let world = try World()
        let test = world.start()
        // In JSON, each of these characters takes up six bytes.
        let message = String(repeating: "\u{1}", count: 100_000)
        for _ in 0..<60 { world.fail(test, message) }
        for _ in 0..<10_000 { world.fail(test, "m") }
        world.finish(test)
        let metadata = try world.bundle().metadata
        let warning = try #require(metadata.warnings.first { $0.is(.failuresLeftOut) })
        let leftOut = 10_060 - metadata.failures.count
        #expect(leftOut > 0 && warning.parameters["failures"] == .number(Int64(leftOut)))
        #expect(metadata.failures.first?.message.contains("34564 bytes are left out") == true)
    }
}
