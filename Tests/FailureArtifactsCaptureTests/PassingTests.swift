import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import Testing

@testable import FailureArtifactsCapture

/// Passing tests that are captured because the configuration asks for it.
///
/// The stores are registered, and discovery is off: it would find the stores of other tests in this process.
@Suite struct PassingTests {
    private typealias World = SessionWorld

    private func rows(_ bundle: BundleReader) throws -> Int64? {
        try bundle.rows(ofFirstTableIn: nil)
    }

    @Test(arguments: CaptureConfiguration.PassingCapture.allCases)
    func aTestThatNeverFailedIsCapturedOnlyIfAllAre(_ passing: CaptureConfiguration.PassingCapture)
        throws
    {
        let world = try World(passing)
        world.perform()
        #expect(try world.outcomes == (passing == .always ? [.passed] : []))
        #expect(
            try (FileSystem.status(of: world.directory + "/artifacts") == nil) == (passing != .always))
        world.configuration.mode = .off
        world.startAgain()
        world.perform()
        #expect(try world.bundles.count == (passing == .always ? 1 : 0))
    }

    @Test(arguments: [true, false])
    func whatFailedAndThenPassesIsCapturedOnce(inOneProcess: Bool) throws {
        let world = try World(.afterFailure)
        world.perform(fails: true)
        try world.run("INSERT INTO t VALUES (2)")
        for _ in 1...2 {
            if !inOneProcess { world.startAgain() }
            world.perform("testOther")
            world.perform()
        }
        let bundles = try world.bundles
        #expect(bundles.map(\.metadata.outcome) == [.failed, .passed])
        #expect(try bundles.map(rows) == [1, 2])
        let passed = try #require(bundles.last)
        #expect(passed.metadata.failures.isEmpty && passed.metadata.test.name == "testTotal")
        #expect(passed.metadata.test.attempt == (inOneProcess ? 2 : 1))
        #expect(passed.metadata.fingerprint != bundles.first?.metadata.fingerprint)
        #expect(
            passed.location.name.wholeMatch(of: #/LedgerTests\.testTotal-passed-[0-9a-f]{8}\.zip/#)
                != nil)
        let readMe = try #require(passed.archive.entry(named: "README.txt"))
        let text = String(
            decoding: try passed.archive.contents(of: readMe, limit: 1 << 20), as: UTF8.self)
        #expect(text.hasPrefix("# A test passed\n\n    LedgerTests.testTotal\n"))
        #expect(
            world.left.allSatisfy {
                [".gitignore", ".budget", ".passed"].contains($0) || $0.hasSuffix(".zip")
            })

        // The test fails again, and passes again.
        world.perform(fails: true)
        world.perform()
        #expect(try world.outcomes == [.failed, .passed, .failed, .passed])
    }

    /// The tests have the same name, and so do their bundles except for the random part.
    @Test func argumentsTellTestsOfAProcessApart() throws {
        let world = try World(.afterFailure)
        world.perform(arguments: ["1"], fails: true)
        world.perform(arguments: ["2"])
        world.perform()
        #expect(try world.outcomes == [.failed])
        world.perform(arguments: ["1"])
        #expect(try world.outcomes == [.failed, .passed])
    }

    /// The names of the bundles of tests that have passed since.
    private func passedSince(_ world: World) -> Set<String> {
        ArtifactsDirectory(path: world.directory + "/artifacts").passedSince
    }

    @Test(arguments: [true, false]) func aPassAfterAFailureIsRecorded(inOneProcess: Bool) throws {
        let world = try World(.never)
        world.perform("testOther", fails: true)
        world.perform(fails: true)
        let names = try world.bundles.map(\.location.name)
        if !inOneProcess { world.startAgain() }
        #expect(world.session.recordsPasses)
        world.perform("testThird")
        world.perform(arguments: ["1"])
        #expect(passedSince(world).isEmpty)
        world.perform()
        #expect(passedSince(world) == [names[1]])
        // It fails again, and passes again.
        world.perform(fails: true)
        #expect(passedSince(world) == [names[1]])
        world.perform()
        #expect(passedSince(world).count == 2 && !passedSince(world).contains(names[0]))
        // A process whose tests have all passed has nothing to look for.
        world.perform("testOther")
        world.startAgain()
        #expect(!world.session.recordsPasses)
    }

    @Test func aTestThatHasFailedHasNotPassed() throws {
        let world = try World(.never)
        world.perform(fails: true)
        world.startAgain()
        world.perform(fails: true)
        let test = world.start()
        world.finish(test)
        world.session.testDidPass(test)
        world.session.testsDidFinish()
        #expect(passedSince(world).isEmpty)
    }

    @Test func withoutFailuresNothingIsRecorded() throws {
        let world = try World(.always)
        world.perform()
        world.startAgain()
        #expect(!world.session.recordsPasses)
        world.perform()
        #expect(try FileSystem.status(of: world.directory + "/artifacts/.passed") == nil)
    }

    /// The stores of a bundle are captured at the first failure.
    @Test(arguments: [false, true]) func aTestMayFailAfterItsEnd(fillsUp: Bool) throws {
        let world = try World(.always) { if fillsUp { $0.maximumStoreBytes = 100 } }
        let test = world.start()
        test.state.withLock { $0.attachments.append(("early.txt", .bytes([1]))) }
        world.session.takeSnapshot("before", of: test)
        world.session.testDidReachEnd(test)
        let staging = try #require(
            ArtifactsDirectory(path: world.directory + "/artifacts").stagingDirectories.first)
        #expect(staging.metadata?.outcome == .passed)
        try world.run("INSERT INTO t VALUES (2)")
        world.session.takeSnapshot("after", of: test)
        world.fail(test)
        world.finish(test)

        let bundle = try #require(try world.bundles.first)
        #expect(try world.bundles.count == 1)
        #expect(bundle.metadata.outcome == .failed)
        #expect(bundle.metadata.failures.map(\.message) == ["m"])
        #expect(bundle.metadata.snapshots?.map(\.label) == ["before", "after"])
        #expect(bundle.metadata.attachments.map(\.name) == ["early.txt"])
        #expect(bundle.metadata.warnings.count == (fillsUp ? 3 : 0))
        #expect(!bundle.location.name.contains("passed"))
        if fillsUp { return }
        #expect(try rows(bundle) == 2)
        for entry in bundle.metadata.entries { #expect(bundle.archive.entry(named: entry) != nil) }
    }

    @Test func snapshotsOfATestThatPassesAreInItsBundle() throws {
        let world = try World(.always)
        let test = world.start()
        world.session.takeSnapshot("before", of: test)
        try world.run("INSERT INTO t VALUES (2)")
        world.session.testDidReachEnd(test)
        // After the test's end, as in a teardown.
        try world.run("DELETE FROM t")
        world.finish(test)
        let bundle = try #require(try world.bundles.first)
        #expect(bundle.metadata.outcome == .passed)
        #expect(bundle.metadata.snapshots?.map(\.label) == ["before"])
        #expect(try rows(bundle) == 2)
    }

    /// Failures have the other half, and more if there is more.
    @Test func passingTestsTakeHalfOfTheBundlesAtMost() throws {
        let world = try World(.always) { $0.maximumBundles = 4 }
        for number in 1...4 { world.perform("testA\(number)") }
        #expect(try world.outcomes == [.passed, .passed])
        for number in 1...4 { world.perform("testB\(number)", fails: true) }
        #expect(try world.outcomes == [.passed, .passed, .failed, .failed])

        let small = try World(.always) { $0.maximumBundles = 3 }
        for number in 1...3 { small.perform("testB\(number)", fails: true) }
        small.perform()
        #expect(try small.outcomes == [.failed, .failed, .failed])
    }

    @Test func passingTestsTakeHalfOfTheBytesAtMost() throws {
        // The store has two pages of 4 KiB.
        let world = try World(.always) {
            ($0.maximumTotalBytes, $0.maximumHistoryBytes) = (15_000, 0)
        }
        world.perform()
        #expect(try FileSystem.status(of: world.directory + "/artifacts") == nil)
        world.perform(fails: true)
        #expect(try world.bundles.map { $0.metadata.capture.limitsHit } == [[]])
        let large = try World(.always) {
            ($0.maximumTotalBytes, $0.maximumHistoryBytes) = (40_000, 0)
        }
        large.perform()
        #expect(try large.bundles.map { $0.metadata.capture.limitsHit } == [[]])
    }

    /// A copy that did not fit leaves no trace in the bundle of a failure.
    @Test func whatHasNoRoomWhenATestPassesHasItWhenItFails() throws {
        let world = try World(.always) {
            ($0.maximumTotalBytes, $0.maximumHistoryBytes) = (15_000, 0)
        }
        let test = world.start()
        world.session.testDidReachEnd(test)
        world.fail(test)
        world.finish(test)
        let metadata = try #require(try world.bundles.first).metadata
        #expect(metadata.outcome == .failed && metadata.stores.first?.entry != nil)
        #expect(metadata.warnings.isEmpty && metadata.capture.limitsHit.isEmpty)
    }
}

extension SessionWorld {
    fileprivate convenience init(
        _ passing: CaptureConfiguration.PassingCapture,
        _ change: (inout CaptureConfiguration) -> Void = { _ in }
    ) throws {
        try self.init {
            $0.capturesPassingTests = passing
            change(&$0)
        }
    }

    /// Runs a test from its start to its end.
    fileprivate func perform(
        _ name: String = "testTotal", arguments: [String]? = nil, fails: Bool = false
    ) {
        let test = start(name, arguments: arguments)
        if fails { fail(test) }
        session.testDidReachEnd(test)
        session.testDidPass(test)
        finish(test)
    }

    fileprivate var bundles: [BundleReader] {
        get throws {
            guard try FileSystem.status(of: directory + "/artifacts") != nil else { return [] }
            return try BundleLocator.found(at: directory + "/artifacts").map {
                try BundleReader($0.location, scratchDirectory: directory)
            }.sorted { $0.metadata.capture.at < $1.metadata.capture.at }
        }
    }

    fileprivate var outcomes: [BundleMetadata.Outcome] {
        get throws { try bundles.map(\.metadata.outcome) }
    }
}
