import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Stores with a write-ahead log.
@Suite struct WALTests {
    init() { ConnectionRegistry.shared.install() }

    @Test func rowsThatAreOnlyInTheWALAreInTheCopy() throws {
        try withStore { application, path, directory in
            try application.run(
                """
                PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
                CREATE TABLE t(a); INSERT INTO t VALUES ('りんご'), ('b')
                """)
            #expect(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 4096)
            let other = try OtherProcess(path)

            let storeCopy = try captureUndisturbed(application, path: path, in: directory, writer: other)

            #expect(storeCopy.method == .fileCopy)
            #expect(storeCopy.isConsistent && storeCopy.reason == nil && storeCopy.warnings.isEmpty)
            #expect(storeCopy.journalMode == "wal" && storeCopy.isTransactionOpen == false)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "りんご\nb")
        }
    }

    /// A reader in another process prevents a complete checkpoint, both here and after the capture.
    @Test(arguments: [true, false])
    func aReaderHoldsBackTheCheckpoint(hasMutex: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(
                path,
                flags: hasMutex
                    ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : ApplicationHandle.withoutMutex)
            try application.run("PRAGMA journal_mode = wal")
            try application.fill()
            let reader = try OtherProcess(path)
            try reader.run("BEGIN; SELECT count(*) FROM big")
            try application.run("UPDATE big SET a = id; PRAGMA wal_checkpoint(PASSIVE)")
            try application.run("DELETE FROM big WHERE id > 300")

            let storeCopy = try captureUndisturbed(application, path: path, in: directory)

            #expect(storeCopy.method == .fileCopy)
            #expect(storeCopy.isConsistent)
            try expectStandalone(directory + "/copy.sqlite")
            let rows = "SELECT count(*), sum(a = id) FROM big"
            #expect(try copied(directory, rows) == "300|300")
            #expect(try reader.run(untouched) == ["400|400"])
            try reader.run("COMMIT")
            #expect(try application.value("PRAGMA wal_checkpoint(TRUNCATE)") == "0")
        }
    }

    /// Frames of earlier generations lie behind the frames of the latest one.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func theWALIsUsedOverAndOver(seed: UInt64) throws {
        try withTemporaryDirectory { directory in
            var random = SplitMix(seed: seed)
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path, flags: ApplicationHandle.withoutMutex)
            try application.run("PRAGMA journal_mode = wal; CREATE TABLE t(a INTEGER PRIMARY KEY, b)")
            for generation in 0..<40 {
                let rows = Int.random(in: 1...60, using: &random)
                try application.run(
                    """
                    WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < \(rows))
                    INSERT OR REPLACE INTO t SELECT abs(random()) % 500, zeroblob(300) || \(generation) FROM c
                    """)
                if Bool.random(using: &random) { try application.run("DELETE FROM t WHERE a % 3 = 1") }
                let kind = ["PASSIVE", "FULL", "RESTART"].randomElement(using: &random) ?? "FULL"
                if generation < 39 { try application.run("PRAGMA wal_checkpoint(\(kind))") }
            }
            let expected = try sqlite3Program(path, ".dump")

            let storeCopy = try captureUndisturbed(application, path: path, in: directory)

            #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent, "seed \(seed)")
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory, ".dump") == expected, "seed \(seed)")
        }
    }

    @Test func anotherProcessMayKeepItsLocks() throws {
        try withStore { application, path, directory in
            let other = try OtherProcess(path)
            try other.run(
                """
                PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; CREATE TABLE t(a);
                INSERT INTO t VALUES (1)
                """)
            #expect(application.failure(of: "SELECT * FROM t") == "database is locked")

            let storeCopy = try captureUndisturbed(
                application, path: path, in: directory, timeLimit: 0.3)

            #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
            #expect(try copied(directory) == "1")
        }
    }

    /// A killed process left its WAL, with or without the index.
    @Test(arguments: [true, false])
    func theWALOfADeadProcessIsFoldedIntoTheCopy(hasIndex: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let victim = try OtherProcess(path)
            try victim.run(
                "PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)"
            )
            victim.kill()
            if !hasIndex { try FileManager.default.removeItem(atPath: path + "-shm") }

            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }

            #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent && storeCopy.foldedJournal)
            #expect(storeCopy.journalMode == "wal" && storeCopy.isTransactionOpen == false)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            #expect(FileManager.default.fileExists(atPath: path + "-wal"))
            #expect(FileManager.default.fileExists(atPath: path + "-shm") == hasIndex)
        }
    }

    /// Other processes write all the time: the copy is one committed state.
    @Test(arguments: ["wal", "delete"])
    func writersInOtherProcessesAreNotRefused(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path, flags: ApplicationHandle.withoutMutex)
            try application.run(
                """
                PRAGMA journal_mode = \(mode); PRAGMA synchronous = off; CREATE TABLE t(a);
                CREATE TABLE mirror(a)
                """)
            let script = """
                import sqlite3, sys
                db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
                db.execute("PRAGMA synchronous = off")
                print("ready", flush=True)
                for number in range(1500):
                    db.execute("BEGIN IMMEDIATE")
                    db.execute("INSERT INTO t VALUES (?)", [number])
                    db.execute("INSERT INTO mirror VALUES (?)", [number])
                    db.execute("COMMIT")
                print("done", flush=True)
                """
            let writer = try RunningProgram(["python3", "-c", script, path])
            #expect(writer.readLine() == "ready")
            var copies = 0
            while writer.isRunning {
                let name = "\(directory)/copy-\(copies)"
                let storeCopy = StoreCopier(timeLimit: 0.5, maximumBytes: 1 << 30).capture(
                    try application.store, to: .init(copy: name, committed: nil, raw: name + ".raw"))
                if storeCopy.isConsistent {
                    let copy = try Connection(path: name, mode: .immutable)
                    #expect(
                        try copy.value(
                            of: "SELECT (SELECT count(*) FROM t) = (SELECT count(*) FROM mirror)")
                            == .integer(1))
                    #expect(try copy.value(of: "PRAGMA integrity_check") == .text("ok"))
                }
                copies += 1
            }
            #expect(try writer.finish().output.contains("done"))
            #expect(copies > 0)
            #expect(try application.value("SELECT count(*) FROM t") == "1500")
        }
    }
}
