import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Stores with a rollback journal, and the locks that others hold on them.
@Suite struct RollbackJournalTests {
    private static let modes = ["delete", "truncate", "persist", "memory", "off"]

    /// True if a journal on the disk can undo unfinished writes.
    private static func isOnDisk(_ mode: String) -> Bool { mode != "memory" && mode != "off" }

    init() { ConnectionRegistry.shared.install() }

    /// A writer has locked all others out, and its first pages are in the file already.
    @Test(arguments: modes, [true, false])
    func halfATransactionIsUndoneOrSaid(mode: String, isOfThisProcess: Bool) throws {
        try withStore { application, path, directory in
            try application.fill()
            let writer = isOfThisProcess ? try ApplicationHandle(path) : nil
            let other = isOfThisProcess ? nil : try OtherProcess(path)
            let begin = "PRAGMA journal_mode = \(mode); \(spilling)"
            try writer?.run(begin)
            _ = try other?.run(begin)
            #expect(application.failure(of: "SELECT * FROM big") == "database is locked")

            let start = Instant.now
            let storeCopy = try captureUndisturbed(
                application, path: path, in: directory, timeLimit: 0.3)

            #expect(start.elapsed < 5)
            #expect(storeCopy.method == .fileCopy)
            #expect(storeCopy.isConsistent == Self.isOnDisk(mode))
            #expect(storeCopy.foldedJournal == Self.isOnDisk(mode))
            if Self.isOnDisk(mode) {
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory, untouched) == "400|400")
            } else {
                #expect(storeCopy.warningCodes.contains(.halfTransaction))
            }
            #expect(application.failure(of: "SELECT * FROM big") == "database is locked")
            try writer?.run("COMMIT")
            _ = try other?.run("COMMIT")
            #expect(try application.value("SELECT count(*) FROM big") == "400")
        }
    }

    /// The journal of an earlier mode still exists, but undoes nothing.
    @Test(arguments: ["truncate", "persist"])
    func anEmptiedJournalIsNone(left mode: String) throws {
        try withStore("PRAGMA journal_mode = \(mode)") { application, path, directory in
            try application.fill()
            #expect(FileManager.default.fileExists(atPath: path + "-journal"))
            let other = try OtherProcess(path)
            try other.run("PRAGMA journal_mode = memory; \(spilling)")
            #expect(FileManager.default.fileExists(atPath: path + "-journal"))

            let storeCopy = capture(try application.store, in: directory, timeLimit: 0.3)

            #expect(storeCopy.method == .fileCopy && !storeCopy.isConsistent)
            #expect(storeCopy.warningCodes.contains(.halfTransaction))
        }
    }

    @Test(arguments: modes)
    func everybodyIsLockedOut(mode: String) throws {
        try withStore { application, path, directory in
            try application.fill()
            let other = try OtherProcess(path)
            try other.run("PRAGMA journal_mode = \(mode); BEGIN EXCLUSIVE")

            let storeCopy = try captureUndisturbed(
                application, path: path, in: directory, timeLimit: 0.3)

            #expect(storeCopy.method == .fileCopy)
            // From outside, a capture can't see that nothing was written yet.
            #expect(!storeCopy.isConsistent)
            #expect(try copied(directory, untouched) == "400|400")
            #expect(try other.run("COMMIT") == [])
        }
    }

    /// The other process wants to commit, and waits for the test, which is a reader.
    @Test(arguments: modes)
    func aPendingWriterWaitsForTheTest(mode: String) throws {
        try withStore { application, path, directory in
            try application.fill()
            try application.run("BEGIN; SELECT count(*) FROM big")
            let other = try OtherProcess(path)
            try other.run(
                "PRAGMA journal_mode = \(mode); BEGIN IMMEDIATE; UPDATE big SET a = 'changed' WHERE id = 7"
            )
            #expect(try other.run("COMMIT") == ["database is locked"])

            let storeCopy = try captureUndisturbed(application, path: path, in: directory)

            #expect(storeCopy.method == .ownConnection && storeCopy.isConsistent)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory, untouched) == "400|400")
            try application.run("COMMIT")
            #expect(try other.run("COMMIT") == [])
            #expect(try application.value(untouched) == "400")
        }
    }

    /// With a journal on the disk, the journal shows unfinished writes; without one, they are unknown.
    @Test(arguments: modes)
    func anotherProcessMayKeepItsLocks(mode: String) throws {
        try withStore { application, path, directory in
            try application.fill()
            let other = try OtherProcess(path)
            try other.run(
                "PRAGMA journal_mode = \(mode); PRAGMA locking_mode = exclusive; DELETE FROM big WHERE id = 1"
            )
            #expect(application.failure(of: "SELECT * FROM big") == "database is locked")

            let storeCopy = try captureUndisturbed(
                application, path: path, in: directory, timeLimit: 0.3)

            #expect(storeCopy.method == .fileCopy)
            #expect(storeCopy.isConsistent == Self.isOnDisk(mode))
            #expect(try copied(directory, untouched) == "399|399")
        }
    }

    /// A process was killed in the middle of a transaction, and some of its pages are in the file.
    @Test(arguments: ["delete", "truncate", "persist"], [true, false])
    func theJournalOfADeadProcessIsPlayedBackInTheCopy(mode: String, isOpen: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            var application: ApplicationHandle? = try ApplicationHandle(path)
            try application?.fill()
            let victim = try OtherProcess(path)
            try victim.run("PRAGMA journal_mode = \(mode); \(spilling)")
            victim.kill()
            if !isOpen { application = nil }

            let before = try run("sha256sum", path, path + "-journal")
            let storeCopy = capture(
                try application?.store ?? DiscoveredStore(path: path), in: directory)

            #expect(try run("sha256sum", path, path + "-journal") == before)
            #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent && storeCopy.foldedJournal)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory, untouched) == "400|400")
            // The next connection that opens the original recovers it, as it would have done anyway.
            #expect(try sqlite3Program(path, untouched) == "400|400")
        }
    }
}
