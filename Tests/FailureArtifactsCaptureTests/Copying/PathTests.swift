import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The places and names of stores' files.
@Suite struct PathTests {
    init() { ConnectionRegistry.shared.install() }

    static let names = [
        "a b.sqlite", "it's \"quoted\".sqlite", "what?mode=memory.sqlite", "100%41.sqlite",
        "two\nlines.sqlite",
        "🍎 りんご.sqlite", "#1;DROP.sqlite", "back\\slash.sqlite", "-journal", "shop.sqlite-wal",
        " (deleted)",
        // With the suffix of a journal, a name has 255 bytes.
        String(repeating: "n", count: 247), String(repeating: "é", count: 123),
    ]

    @Test(arguments: names, ["wal", "delete"])
    func anyNameWillDo(name: String, mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/" + name
            let place = directory + "/copies"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            let application = try ApplicationHandle(path)
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let store = try application.store
            #expect(store.path == path)
            let open = try Witness.undisturbed(application, path: path) { capture(store, in: place) }
            #expect(open.isConsistent && open.warnings.isEmpty && open.journalMode == mode)
            #expect(try copied(place) == "1")
            try FileSystem.remove(place + "/copy.sqlite")

            try application.run("BEGIN; INSERT INTO t VALUES (2)")
            let inside = try captureUndisturbed(application, path: path, in: place)
            #expect(inside.method == .pageCache && inside.hasCommittedCopy && inside.warnings.isEmpty)
            #expect(try copied(place) == "1\n2")
            #expect(try copied(place, committed: true) == "1")
            try FileSystem.remove(place + "/copy.sqlite")

            try application.run("COMMIT")
            application.close()
            let closed = capture(DiscoveredStore(path: path), in: place)
            #expect(closed.method == .fileCopy && closed.isConsistent)
            #expect(try copied(place) == "1\n2")
        }
    }

    /// With the longest possible file name, there is no room for the suffix of a journal.
    @Test func theLongestNameWillDo() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/" + String(repeating: "n", count: 255)
            let application = try ApplicationHandle(path)
            try application.run(
                "PRAGMA journal_mode = memory; CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let storeCopy = capture(try application.store, in: directory)
            #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
            #expect(try copied(directory) == "1")
        }
    }

    /// SQLite follows links, and keeps the journals beside the file itself.
    @Test(arguments: ["wal", "delete"], [true, false])
    func aStoreBehindALinkIsCopiedWithItsJournal(mode: String, linksDirectory: Bool) throws {
        try withTemporaryDirectory { directory in
            try FileManager.default.createDirectory(
                atPath: directory + "/real", withIntermediateDirectories: false)
            let real = directory + "/real/shop.sqlite"
            let link = linksDirectory ? directory + "/linked/shop.sqlite" : directory + "/link.sqlite"
            if linksDirectory {
                try FileManager.default.createSymbolicLink(
                    atPath: directory + "/linked", withDestinationPath: "real")
            } else {
                try FileManager.default.createSymbolicLink(
                    atPath: link, withDestinationPath: "real/shop.sqlite")
            }
            let victim = try OtherProcess(link)
            try victim.run(
                """
                PRAGMA journal_mode = \(mode); PRAGMA cache_size = 5; CREATE TABLE t(a); INSERT INTO t VALUES (1);
                BEGIN; CREATE TABLE s(a);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 500)
                INSERT INTO s SELECT randomblob(500) FROM c
                """)

            // The store is open in another process, in no process, and in this process.
            for step in ["live", "dead", "open"] {
                var application: ApplicationHandle?
                if step == "dead" { victim.kill() }
                if step == "open" {
                    application = try ApplicationHandle(link)
                    try application?.use()
                }
                let place = "\(directory)/\(step)"
                try FileManager.default.createDirectory(
                    atPath: place, withIntermediateDirectories: false)
                let before = try sqlite3Bytes(real)
                let storeCopy = capture(
                    try application?.store ?? DiscoveredStore(path: link), in: place)
                #expect(try sqlite3Bytes(real) == before)
                #expect(storeCopy.isConsistent, "\(step)")
                #expect(storeCopy.foldedJournal, "\(step)")
                try expectStandalone(place + "/copy.sqlite")
                #expect(
                    try copied(place, "SELECT group_concat(name), (SELECT a FROM t) FROM sqlite_schema")
                        == "t|1")
                #expect(
                    Set(try FileSystem.contents(ofDirectory: directory)).subtracting([
                        "real", "linked", "link.sqlite", "live", "dead", "open",
                    ]).isEmpty)
            }
        }
    }

    private func sqlite3Bytes(_ path: String) throws -> String {
        try run("sha256sum", path, path + "-wal", path + "-journal")
    }

    /// No file can be created beside the store, as on a read-only file system.
    @Test(arguments: ["wal", "delete"])
    func aReadOnlyDirectoryIsNoHindrance(mode: String) throws {
        try withTemporaryDirectory { directory in
            let place = directory + "/sealed"
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
            let path = place + "/shop.sqlite"
            let victim = try OtherProcess(path)
            try victim.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1); PRAGMA user_version = 3"
            )
            victim.kill()
            try? FileSystem.remove(path + "-shm")
            // Root ignores a mode of 0o555; where a mount works, the system itself refuses.
            let isMounted = try run("mount", "--bind", place, place).isEmpty
            if isMounted { #expect(try run("mount", "-o", "remount,ro,bind", place).isEmpty) }
            chmod(path, 0o444)
            chmod(place, 0o555)
            defer {
                if isMounted { _ = try? run("umount", "-l", place) }
                chmod(place, 0o755)
            }

            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }
            #expect(
                storeCopy.method == .fileCopy && storeCopy.isConsistent && storeCopy.warnings.isEmpty)
            #expect(storeCopy.foldedJournal == (mode == "wal"))
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            try FileSystem.remove(directory + "/copy.sqlite")

            // A read-only connection; in WAL mode, SQLite itself can't open the store there.
            let application = try ApplicationHandle(path, flags: SQLITE_OPEN_READONLY)
            let opens = application.text("SELECT a FROM t") == "1"
            let open = capture(try application.store, in: directory)
            #expect(open.isConsistent, "\(opens)")
            #expect(try copied(directory) == "1")
        }
    }
}
