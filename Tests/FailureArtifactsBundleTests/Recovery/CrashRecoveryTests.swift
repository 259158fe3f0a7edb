import CFailureArtifactsShared
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import Foundation
import Testing

@testable import FailureArtifactsBundle

/// The files that a process, or a process that recovers them, leaves if it dies between two steps.
@Suite struct CrashRecoveryTests {
    private struct World: ~Copyable {
        let root: String
        let directory: ArtifactsDirectory
        /// No process has this number.
        let dead = ProcessIdentity(number: .max, start: 7)
        let sweeper = ProcessIdentity(number: .max - 1, start: 8)
        let test = BundleMetadata.Test(framework: "XCTest", suite: "S", name: "t")
        let limits = DirectoryLimits(storeBytes: 1 << 20, totalBytes: 1 << 20, bundles: 10)

        init() throws {
            root = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "recovery-")
            directory = ArtifactsDirectory(path: root)
        }

        deinit { try? FileSystem.remove(root) }

        private func path(_ name: HiddenName) throws -> String {
            try FileSystem.createDirectory(root + "/.in-flight")
            return root + "/.in-flight/" + name.description
        }

        /// Writes a journal of a process that died in the middle of a test.
        func leaveJournal(
            taker: ProcessIdentity? = nil, first: [JournalRecord] = [], stores: [JournalRecord] = [],
            others: [BundleMetadata.Test] = [], isOriginal: Bool = false
        ) throws {
            let file = try File(creating: path(HiddenName("recorder", of: dead, taker: taker)))
            let recorder = try #require(failure_artifacts_recorder_open(file.descriptor, false))
            defer { failure_artifacts_recorder_close(recorder) }
            let parallel = others.enumerated().map { index, other in
                JournalRecord.began(.init(index + 2), other, at: .now)
            }
            let identity = try file.status().identity
            let records =
                (isOriginal ? [.file(identity)] : []) + first + [JournalRecord.began(1, test, at: .now)]
                + parallel + stores
            let lines = records.flatMap { Array($0.line.utf8) }
            #expect(failure_artifacts_recorder_write_tests(recorder, 0, lines, lines.count))
        }

        /// Writes the staging directory of a test that had failed.
        func leaveStagingDirectory(
            taker: ProcessIdentity? = nil, kinds: [BundleMetadata.Failure.Kind] = [.assertion],
            snapshots: [BundleMetadata.Snapshot]? = nil, outcome: BundleMetadata.Outcome? = nil
        ) throws -> StagingDirectory {
            let path = try path(HiddenName("staging", of: dead, taker: taker, random: "abcdef"))
            try FileSystem.createDirectory(path)
            let staging = try #require(StagingDirectory(at: path))
            try staging.record(
                BundleMetadata(
                    test: test, outcome: outcome ?? (kinds.contains(.termination) ? .crashed : .failed),
                    fingerprint: "0",
                    failures: kinds.map {
                        .init(message: "m", file: nil, line: nil, kind: $0, at: .now)
                    },
                    stores: [], snapshots: snapshots, attachments: [],
                    environment: RunEnvironment.describe(variables: [:]),
                    capture: .init(at: .now, duration: 0, limitsHit: []), warnings: []))
            return staging
        }

        /// Returns the bundles' metadata after two sweeps, the second of which finds no work.
        func sweep() throws -> [BundleMetadata] {
            let recovery = CrashRecovery(of: directory, limits: limits)
            let first = recovery.sweep()
            #expect(first.warnings == [])
            #expect(recovery.sweep().bundles.isEmpty)
            #expect(!directory.hasHiddenFiles)
            let names = try FileSystem.contents(ofDirectory: root).filter { $0.hasSuffix(".zip") }
            return try names.map {
                try BundleReader(BundleLocation(path: root + "/" + $0), scratchDirectory: root).metadata
            }
        }
    }

    private func recovery(_ world: borrowing World) -> CrashRecovery {
        CrashRecovery(of: world.directory, limits: world.limits)
    }

    @Test(arguments: [true, false]) func unfinishedTestsOfADeadProcess(isOriginal: Bool) throws {
        let world = try World()
        #expect(!recovery(world).hasUnfinishedTests)
        try world.leaveJournal(isOriginal: isOriginal)
        #expect(recovery(world).hasUnfinishedTests)
        #expect(recovery(world).isOriginal == isOriginal)
        // Another process makes the bundle.
        try FileSystem.remove(world.root + "/.in-flight")
        try world.leaveJournal(taker: .current, isOriginal: isOriginal)
        #expect(!recovery(world).hasUnfinishedTests)
    }

    @Test func unfinishedTestsWithoutAJournal() throws {
        let world = try World()
        let staging = try world.leaveStagingDirectory()
        #expect(recovery(world).hasUnfinishedTests)
        #expect(!recovery(world).isOriginal)
        try world.leaveJournal(isOriginal: true)
        #expect(recovery(world).isOriginal)
        // Without a failure, the sweep only removes it.
        try FileSystem.remove(world.root + "/.in-flight")
        let passed = try world.leaveStagingDirectory(kinds: [])
        try passed.markEnded()
        #expect(!recovery(world).hasUnfinishedTests)
        #expect(staging.path == passed.path)
    }

    private func kinds(_ bundles: [BundleMetadata]) -> [[BundleMetadata.Failure.Kind]] {
        bundles.map { $0.failures.map(\.kind) }
    }

    /// A crash ends all tests of the process.
    ///
    /// The backtrace of the thread that crashed may name one of them.
    @Test(arguments: [
        (
            [], "4 tests were running in the process, and any of them may be the cause.", 4,
            BundleMetadata.Suspects(count: 4, tests: ["S.t", "A.b", "A.c(days:)"], includesTest: true)
        ),
        (
            ["1 0x7f A.b() + 1 in x", "2 0x7f libc + 1"],
            "The thread that crashed ran another test of the process: A.b.", 3,
            BundleMetadata.Suspects(count: 1, tests: ["A.b"], includesTest: false)
        ),
        (
            ["1 0x7f A.c(days:) + 1 in x"],
            "2 tests were running in the process, and any of them may be the cause.", 2,
            BundleMetadata.Suspects(count: 2, tests: ["A.c(days:)"], includesTest: true)
        ),
    ]) func testsThatRanInParallel(
        frames: [String], note: String, count: Int, suspects: BundleMetadata.Suspects
    ) throws {
        let world = try World()
        func other(_ name: String, _ arguments: [String]? = nil) -> BundleMetadata.Test {
            .init(framework: "Swift Testing", suite: "A", name: name, arguments: arguments)
        }
        try world.leaveJournal(
            others: [other("b"), other("c(days:)", ["1"]), other("c(days:)", ["2"])])
        var cause = CrashRecovery.Cause.unknown
        cause.frames = frames
        let found = CrashRecovery(of: world.directory, limits: world.limits).sweep { [cause] _ in
            cause
        }
        #expect(found.bundles.count == 4)
        let bundles = try found.bundles.map(\.path).map { path in
            try BundleReader(BundleLocation(path: path), scratchDirectory: world.root).metadata
        }
        let messages = bundles.map(\.failures[0].message)
        #expect(messages.count { $0 == cause.message + "\n" + note } == count)
        for failure in bundles.map(\.failures[0]) where failure.message.hasSuffix("\n" + note) {
            #expect(failure.suspects == suspects)
        }
        #expect(
            bundles.allSatisfy {
                ($0.failures[0].suspects == nil) == ($0.failures[0].message == cause.message)
            })
        // The note isn't part of the fingerprint.
        let first = try #require(bundles.first { $0.test.name == "b" })
        var failure = first.failures[0]
        failure.message = cause.message
        #expect(
            first.fingerprint
                == Fingerprint.make(test: first.test, outcome: .crashed, first: failure))
    }

    /// An application may close all descriptors, and open a file of its own under the recorder's number.
    @Test func theRecorderClosesOnlyItsOwnDescriptor() throws {
        let world = try World()
        let file = try File(creating: world.root + "/recorder")
        let recorder = try #require(failure_artifacts_recorder_open(file.descriptor, false))
        var status = stat()
        #expect(fstat(file.descriptor, &status) == 0)
        let (inode, device) = (status.st_ino, status.st_dev)
        let own = try #require(
            (3..<4096).first { number in
                number != file.descriptor && fstat(number, &status) == 0 && status.st_ino == inode
                    && status.st_dev == device
            })
        let other = try File(creating: world.root + "/other")
        #expect(dup2(other.descriptor, own) == own)
        failure_artifacts_recorder_close(recorder)
        #expect(fcntl(own, F_GETFD) >= 0)
        close(own)
    }

    /// The journal has the working directory of the process, and the cause may have a file.
    @Test func aTestInFlightHasItsPackage() throws {
        let world = try World()
        try FileSystem.createDirectory(world.root + "/app/Tests")
        try FileSystem.write([], toNewFile: world.root + "/app/Package.swift")
        let images = LoadedImages(images: [], workingDirectory: world.root + "/app/Tests")
        try world.leaveJournal(first: [.images(images.json)])
        #expect(try world.sweep().first?.packageRoot == world.root + "/app")
    }

    /// It isn't known whether an earlier test opened one and left it open.
    @Test func databasesOfFrameworksAreCopied() throws {
        let world = try World()
        let cache = world.root + "/Library/Caches/com.example.app/Cache.db"
        let own = world.root + "/Library/Caches/com.example.tests/Cache.db"
        let shared = world.root + "/shared.sqlite"
        try world.leaveJournal(stores: [
            .opened(path: cache, by: 0), .opened(path: shared, by: 0), .opened(path: own, by: 1),
        ])
        let metadata = try #require(try world.sweep().first)
        #expect(Set(metadata.stores.map(\.originalPath)) == [cache, own, shared])
        #expect(metadata.otherStores == nil)
    }

    @Test func aTestThatHadFailedHasOneBundleOfBoth() throws {
        let world = try World()
        try world.leaveJournal()
        _ = try world.leaveStagingDirectory()
        let bundles = try world.sweep()
        #expect(kinds(bundles) == [[.assertion, .termination]])
        #expect(bundles.first?.snapshots?.map(\.label) == ["crashed"])
    }

    @Test func aSnapshotOfTheTestKeepsItsLabel() throws {
        let world = try World()
        try world.leaveJournal()
        let own = BundleMetadata.Snapshot(label: "Crashed", at: .now, stores: [])
        let staging = try world.leaveStagingDirectory(snapshots: [own])
        try FileSystem.write([1], toNewFile: staging.path(ofEntry: "snapshots/Crashed/mine.sqlite"))
        let bundles = try world.sweep()
        #expect(bundles.first?.snapshots?.map(\.label) == ["Crashed", "crashed-2"])
    }

    /// The test had not failed, so its stores are those of the crash, with their history.
    @Test func aTestThatAskedForSnapshotsHasItsStores() throws {
        let world = try World()
        let store = world.root + "/ledger.sqlite"
        _ = try sqlite3Program(store, "CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        try world.leaveJournal(stores: [.opened(path: store, by: 1)])
        let own = BundleMetadata.Snapshot(label: "before", at: .now, stores: [])
        let staging = try world.leaveStagingDirectory(kinds: [], snapshots: [own])
        try FileSystem.write([1], toNewFile: staging.path(ofEntry: "snapshots/before/ledger.sqlite"))
        let bundle = try #require(try world.sweep().first)
        #expect(bundle.outcome == .crashed && bundle.failures.map(\.kind) == [.termination])
        #expect(bundle.stores.map(\.entry) == ["stores/ledger.sqlite"])
        #expect(bundle.stores.first?.bytes.copy ?? 0 > 0)
        #expect(bundle.snapshots?.map(\.label) == ["before"])
    }

    /// The test has ended; its process died before the journal recorded that.
    @Test func aTestThatHasEndedDidNotCrash() throws {
        let world = try World()
        try world.leaveJournal()
        try world.leaveStagingDirectory().markEnded()
        let bundles = try world.sweep()
        #expect(kinds(bundles) == [[.assertion]])
        #expect(bundles.first?.outcome == .failed)
    }

    /// The process died between the end of a passing test and its bundle.
    @Test(arguments: [true, false]) func aTestThatPassedHasItsBundle(hasEnded: Bool) throws {
        let world = try World()
        let staging = try world.leaveStagingDirectory(kinds: [], outcome: .passed)
        if hasEnded { try staging.markEnded() }
        let bundle = try #require(try world.sweep().first)
        #expect(bundle.outcome == (hasEnded ? .passed : .crashed))
        #expect(bundle.failures.map(\.kind) == (hasEnded ? [] : [.termination]))
        let names = try FileSystem.contents(ofDirectory: world.root)
        #expect(names.contains(where: BundleName.isOfPassingTest) == hasEnded)
    }

    /// The process that found no room for the copies died before it had packed the rest.
    @Test func aTestWhoseCopiesHadNoRoomDidNotCrash() throws {
        let world = try World()
        let staging = try world.leaveStagingDirectory(taker: world.sweeper)
        try FileSystem.write([1], toNewFile: staging.path(ofEntry: "stores/a.sqlite"))
        try staging.markEnded()
        staging.removeCopies()
        #expect(FileSystem.regularFile(staging.file(ofEntry: "stores/a.sqlite")) == nil)
        let bundles = try world.sweep()
        #expect(kinds(bundles) == [[.assertion]])
        #expect(bundles.first?.outcome == .failed)
    }

    /// The process that made the bundle died before it removed the staging directory.
    @Test(arguments: [true, false]) func aBundleIsNotMadeTwice(journalIsLeft: Bool) throws {
        let world = try World()
        if journalIsLeft { try world.leaveJournal(taker: world.sweeper) }
        let staging = try world.leaveStagingDirectory(taker: world.sweeper, kinds: [.termination])
        let metadata = try #require(staging.metadata)
        _ = try world.directory.publish(metadata, from: staging, within: world.limits)
        #expect(try kinds(world.sweep()) == [[.termination]])
    }

    /// The process that was about to make the bundle died before the bundle existed.
    @Test(arguments: [true, false]) func aTestEndsOnce(journalIsLeft: Bool) throws {
        let world = try World()
        if journalIsLeft { try world.leaveJournal(taker: world.sweeper) }
        _ = try world.leaveStagingDirectory(taker: world.sweeper, kinds: [.termination])
        #expect(try kinds(world.sweep()) == [[.termination]])
    }

    /// Reading a directory as a file fails for any user.
    @Test func whatCannotBeReadIsReportedAndTheRestIsSwept() throws {
        let world = try World()
        try world.leaveJournal(isOriginal: true)
        let hidden = world.root + "/.in-flight/"
        let unreadable = ["recorder-999999999-1", "staging-999999998-1-abcdef"].map { hidden + $0 }
        try FileSystem.createDirectory(unreadable[0])
        try FileSystem.createDirectory(unreadable[1] + "/metadata.json")
        try #require(recovery(world).isOriginal && recovery(world).hasUnfinishedTests)
        let result = recovery(world).sweep()
        #expect(result.bundles.count == 1 && result.warnings.count == 2)
        for (path, warning) in zip(unreadable, result.warnings) {
            #expect(warning.hasPrefix("'\(path)' could not be swept: cannot read '\(path)"))
        }
        #expect(try world.directory.hiddenNames() == unreadable.map(Path.name(of:)))
        #expect(!recovery(world).hasUnfinishedTests)
    }

    /// A living process is recovering these files.
    @Test func whatALivingProcessHasTakenIsLeftAlone() throws {
        let world = try World()
        try world.leaveJournal(taker: .current)
        _ = try world.leaveStagingDirectory(taker: .current)
        let result = CrashRecovery(of: world.directory, limits: world.limits).sweep()
        #expect(result.bundles.isEmpty && world.directory.stagingDirectories.count == 1)
    }

    @Test func namesAreReadAsTheyAreWritten() throws {
        let (process, taker) = (
            ProcessIdentity(number: 12, start: 34, space: "1a2b3c4d.4026531836"),
            ProcessIdentity(number: 5, start: 6)
        )
        // Earlier versions wrote no space.
        #expect(HiddenName("a", at: "a-5-6", hasRandom: false)?.process == taker)
        for name in [
            HiddenName("a", of: process), HiddenName("a", of: process, taker: taker),
            HiddenName("a", of: process, random: "x0"),
            HiddenName("a", of: process, taker: taker, random: "x0"),
        ] {
            let read = HiddenName(
                "a", at: "/d/" + name.description, hasRandom: name.random != nil)
            #expect(read?.description == name.description)
            #expect(read?.process == process && read?.taker?.number == name.taker?.number)
        }
        for name in ["a", "a-1", "a-1-", "a-x-1", "a-1-2-3", "b-1-2", "a-1-2-3-4-5", ".new", ""] {
            #expect(HiddenName("a", at: name, hasRandom: false) == nil, "\(name)")
        }
    }
}
