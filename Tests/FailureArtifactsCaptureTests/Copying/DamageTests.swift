import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Files that SQLite cannot read, or not completely: their bytes are copied.
@Suite struct DamageTests {
    init() { ConnectionRegistry.shared.install() }

    private func bytes(_ path: String) throws -> [UInt8] { try FileSystem.contents(ofFile: path) }

    /// Overwrites bytes of a file that this process does not have open.
    private func overwrite(_ path: String, at offset: UInt64, with bytes: [UInt8]) throws {
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: offset)
        try file.write(contentsOf: bytes)
        try file.close()
    }

    @Test(
        arguments: [
            Array("no database at all, but somebody registered it".utf8),
            [UInt8](repeating: 0, count: 5000),
            // As in an encrypted store: no magic number, and the length of some pages.
            (0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 5 &+ 31) },
            Array("SQLite format 3\0".utf8),
            Array("SQLite format 3\0".utf8) + [UInt8](repeating: 0xff, count: 4080),
        ])
    func aFileThatIsNoDatabaseIsCopiedAsItIs(content: [UInt8]) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/notes.sqlite"
            try FileSystem.write(content, toNewFile: path)

            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }

            #expect(storeCopy.method == .fileCopy && storeCopy.warningCodes == [.copyUnreadable])
            #expect(!storeCopy.isConsistent)
            #expect(try bytes(directory + "/copy.sqlite") == content)
            #expect(throws: SQLiteError.self) {
                try Connection.untrusted(directory + "/copy.sqlite").text(of: "PRAGMA quick_check(1)")
            }

            // A connection that cannot read the store does not prevent the copy of its bytes.
            try FileSystem.remove(directory + "/copy.sqlite")
            let application = try ApplicationHandle(path)
            #expect(application.failure(of: "SELECT * FROM sqlite_schema") != nil)
            let open = try captureUndisturbed(application, path: path, in: directory)
            #expect(open.method == .fileCopy && !open.isConsistent)
            #expect(try bytes(directory + "/copy.sqlite") == content)
        }
    }

    @Test func anEmptyFileIsAnEmptyStore() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/empty.sqlite"
            try FileSystem.write([], toNewFile: path)
            let closed = capture(DiscoveredStore(path: path), in: directory)
            #expect(closed.method == .fileCopy && closed.isConsistent && closed.warnings.isEmpty)
            #expect(try bytes(directory + "/copy.sqlite") == [])
            try FileSystem.remove(directory + "/copy.sqlite")

            let application = try ApplicationHandle(path)
            let open = try captureUndisturbed(application, path: path, in: directory)
            #expect(open.method == .fileCopy && open.isConsistent && open.warnings.isEmpty)
            #expect(try bytes(directory + "/copy.sqlite") == [])
        }
    }

    /// Creates a database of some pages, with rows, by a process that is then killed.
    private func leaveStore(_ path: String, mode: String) throws {
        let process = try OtherProcess(path)
        try process.run(
            """
            PRAGMA journal_mode = \(mode); CREATE TABLE big(id INTEGER PRIMARY KEY, a);
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 400)
            INSERT INTO big SELECT n, zeroblob(500) FROM c; PRAGMA wal_checkpoint(PASSIVE);
            UPDATE big SET a = 'later' WHERE id = 1; INSERT INTO big VALUES (401, zeroblob(500));
            INSERT INTO big VALUES (402, zeroblob(500))
            """)
        process.kill()
    }

    @Test(arguments: ["wal", "delete"], [true, false])
    func aTruncatedStoreIsCopiedAsItIs(mode: String, isOpen: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            try leaveStore(path, mode: mode)
            truncate(path, 3 * 4096 + 100)
            var application: ApplicationHandle?
            if isOpen {
                application = try ApplicationHandle(path)
                _ = application?.failure(of: untouched)
            }
            let content = try run("sha256sum", path, path + "-wal")

            let storeCopy = capture(
                try application?.store ?? DiscoveredStore(path: path), in: directory)

            #expect(try run("sha256sum", path, path + "-wal") == content)
            #expect(storeCopy.method == .fileCopy && storeCopy.warningCodes == [.copyUnreadable])
            #expect(!storeCopy.isConsistent)
            if mode == "wal" {
                // The content of the WAL is not lost.
                #expect(storeCopy.rawFiles == ["", "-wal"])
                for suffix in ["", "-wal"] {
                    #expect(
                        try run("cmp", path + suffix, directory + "/raw.sqlite" + suffix).isEmpty)
                }
            } else {
                #expect(try run("cmp", path, directory + "/copy.sqlite").isEmpty)
            }
        }
    }

    @Test(arguments: ["wal", "delete"], [true, false])
    func corruptPagesAreCopiedAndFound(mode: String, isOpen: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            try leaveStore(path, mode: mode)
            try overwrite(path, at: 10 * 4096, with: [UInt8](repeating: 0xaa, count: 4096))
            var application: ApplicationHandle?
            if isOpen {
                application = try ApplicationHandle(path)
                #expect(application?.failure(of: untouched) != nil)
            }

            let storeCopy = capture(
                try application?.store ?? DiscoveredStore(path: path), in: directory)

            #expect(storeCopy.method != .described && storeCopy.isConsistent)
            // The rows of the other pages are readable.
            #expect(try copied(directory, "SELECT a FROM big WHERE id = 1") == "later")
            #expect(try copied(directory, "PRAGMA integrity_check").contains("age 11"))
        }
    }

    /// SQLite ignores a WAL from its first invalid frame on, and so does the copy.
    @Test func ofACorruptWALTheCopyHasWhatSQLiteReads() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let process = try OtherProcess(path)
            try process.run(
                """
                PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);
                INSERT INTO t VALUES (3)
                """)
            process.kill()
            // After the schema's frames there is one frame for each of three transactions. One byte of the second one's
            // page is changed.
            let frame: UInt64 = 24 + 4096
            let count = (try bytes(path + "-wal").count - 32) / Int(frame)
            let broken = UInt64(count - 2)
            try overwrite(path + "-wal", at: 32 + broken * frame + 24 + 4000, with: [0x55])

            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }

            #expect(storeCopy.method == .fileCopy && storeCopy.foldedJournal)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            // The frames that SQLite does not read are kept for other tools.
            #expect(!storeCopy.isConsistent && storeCopy.rawFiles == ["", "-wal"])
            #expect(storeCopy.warningCodes == [.walDamaged] && storeCopy.history?.transactions == 0)
            for suffix in storeCopy.rawFiles {
                #expect(try bytes(directory + "/raw.sqlite" + suffix) == bytes(path + suffix))
            }
            #expect(
                try sqlite3Program("file:\(path)?mode=ro".replacing(" ", with: "%20"), "SELECT a FROM t")
                    == "1")
        }
    }

    /// A journal with an invalid header undoes nothing: only the content of the file counts.
    @Test func aBrokenJournalIsNotPlayedBack() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let process = try OtherProcess(path)
            try process.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            process.kill()
            try FileSystem.write([UInt8](repeating: 0x11, count: 2000), toNewFile: path + "-journal")

            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }

            #expect(storeCopy.method == .fileCopy)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
        }
    }

    @Test func aStoreThatSomebodyHasOpenIsReadWithoutDroppingItsLocks() throws {
        try withStore { application, path, directory in
            try application.run("CREATE TABLE t(a); BEGIN IMMEDIATE; INSERT INTO t VALUES (1)")
            let other = try OtherProcess(path)

            // As if the connection were unknown: the store is registered, and discovery is off.
            let storeCopy = try Witness.undisturbed(application, path: path, writer: other) {
                capture(DiscoveredStore(path: path), in: directory)
            }

            #expect(storeCopy.method == .fileCopy && storeCopy.isTransactionOpen == nil)
            // Opening and closing the file would have dropped the lock.
            #expect(try other.run("INSERT INTO t VALUES (2)") == ["database is locked"])
        }
    }
}
