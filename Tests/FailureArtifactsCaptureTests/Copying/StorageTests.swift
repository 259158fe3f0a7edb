import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The storage and the names of stores without a file of their own.
@Suite struct StorageTests {
    init() { ConnectionRegistry.shared.install() }

    /// Returns the connection's stores, with its mutex held: the session of a test that runs at the same time can't use it.
    private func lockedStores(of application: ApplicationHandle) throws -> [DiscoveredStore] {
        let mutex = sqlite3_db_mutex(application.handle)
        sqlite3_mutex_enter(mutex)
        defer { sqlite3_mutex_leave(mutex) }
        return try application.stores
    }

    @Test(
        arguments: [(":memory:", StoreCopy.Storage.memory), ("", .temporary)],
        [false, true])
    func storesWithoutAFile(kind: (String, StoreCopy.Storage), isInTransaction: Bool) throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(kind.0)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            if isInTransaction { try application.run("BEGIN; INSERT INTO t VALUES (2)") }

            let stores = try lockedStores(of: application)
            #expect(stores.count == 1)
            let storeCopy = try captureUndisturbed(application, in: directory)

            #expect(storeCopy.storage == kind.1 && storeCopy.isConsistent && storeCopy.warnings.isEmpty)
            #expect(stores.first?.suggestedName == (kind.0.isEmpty ? "temporary" : nil))
            #expect(storeCopy.method == (isInTransaction ? .pageCache : .ownConnection))
            #expect(storeCopy.isTransactionOpen == isInTransaction)
            #expect(storeCopy.hasCommittedCopy == isInTransaction)
            if isInTransaction { #expect(try copied(directory, committed: true) == "1") }
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == (isInTransaction ? "1\n2" : "1"))
        }
    }

    /// A temporary store moves to an unnamed file when it grows; that file is not a separate store.
    @Test(arguments: ["", "temp"])
    func aTemporaryStoreMayGoToAFile(kind: String) throws {
        try withTemporaryDirectory { directory in
            let path = kind == "" ? "" : directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            let schema = kind == "" ? "main" : "temp"
            try application.run(
                """
                PRAGMA temp_store = file; PRAGMA \(schema).cache_size = 5; CREATE TABLE \(schema).big(a);
                WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 2000)
                INSERT INTO \(schema).big SELECT zeroblob(500) FROM c
                """)
            let names = try FileSystem.contents(ofDirectory: "/proc/self/fd").compactMap {
                try? FileSystem.destination(ofLink: "/proc/self/fd/\($0)")
            }
            #expect(names.contains { $0.contains("etilqs_") })

            let stores = try lockedStores(of: application)
            #expect(
                !DiscoveredStore.openedByOthers(than: stores).contains {
                    $0.path?.contains("etilqs_") == true
                })
            let store = try #require(stores.first { $0.storage == .temporary })
            #expect(store.suggestedName == (kind == "" ? "temporary" : "shop.temp"))
            #expect(capture(store, in: directory).isConsistent)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory, untouched) == "2000|2000")
        }
    }

    @Test(arguments: ["file:NAME?mode=memory&cache=shared", "file:/NAME?vfs=memdb"], [false, true])
    func aStoreInMemoryThatConnectionsShareIsOne(uri: String, isInTransaction: Bool) throws {
        try withTemporaryDirectory { directory in
            let name = "shelf-\(UUID().uuidString)"
            let uri = uri.replacing("NAME", with: name)
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI
            let first = try ApplicationHandle(uri, flags: flags)
            let second = try ApplicationHandle(uri, flags: flags)
            try first.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            if isInTransaction { try first.run("BEGIN; INSERT INTO t VALUES (2)") }
            let stores = DiscoveredStore.grouping([try second.discovered, try first.discovered])
            #expect(stores.count == 1)
            let store = try #require(stores.first)
            #expect(store.accesses.count == 2 && store.storage == .memory && store.path == nil)
            #expect(store.suggestedName == (uri.contains("memdb") ? name : "shared-memory"))

            // While one connection writes to a shared database, the others can't read it.
            let storeCopy = try Witness.undisturbed(first) {
                try first.use()
                return capture(
                    try #require(
                        DiscoveredStore.grouping([try second.discovered, try first.discovered]).first),
                    in: directory)
            }

            #expect(storeCopy.isConsistent && storeCopy.isTransactionOpen == isInTransaction)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == (isInTransaction ? "1\n2" : "1"))
        }
    }

    @Test func attachedStoresAreStoresOfTheirOwn() throws {
        try withStore { application, _, directory in
            let uri = directory + "/attached.sqlite"
            try application.run(
                """
                CREATE TABLE t(a); INSERT INTO t VALUES ('main');
                ATTACH '\(uri)' AS file; ATTACH ':memory:' AS cache; ATTACH '' AS scratch;
                CREATE TABLE file.t(a); INSERT INTO file.t VALUES ('file');
                CREATE TABLE cache.t(a); INSERT INTO cache.t VALUES ('cache');
                CREATE TABLE scratch.t(a); INSERT INTO scratch.t VALUES ('scratch')
                """)
            let stores = try lockedStores(of: application)
            #expect(
                stores.map { $0.path.map { Path.name(of: $0) } ?? $0.suggestedName } == [
                    "shop.sqlite", "attached.sqlite", "cache", "scratch",
                ])
            #expect(stores.map(\.storage) == [.file, .file, .memory, .temporary])
            for (index, text) in ["main", "file", "cache", "scratch"].enumerated() {
                let place = "\(directory)/\(index)"
                try FileManager.default.createDirectory(
                    atPath: place, withIntermediateDirectories: false)
                let storeCopy = try Witness.undisturbed(application, path: stores[index].path) {
                    capture(stores[index], in: place)
                }
                #expect(storeCopy.isConsistent && storeCopy.warnings.isEmpty)
                try expectStandalone(place + "/copy.sqlite")
                #expect(try copied(place) == text)
            }
        }
    }

    /// One connection has the store as its main database, another one has it attached, with uncommitted rows.
    @Test(arguments: ["wal", "delete"])
    func anAttachedStoreIsCopiedOnce(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/stock.sqlite"
            let owner = try ApplicationHandle(path)
            try owner.run("PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let application = try ApplicationHandle(directory + "/shop.sqlite")
            try application.run("ATTACH '\(path)' AS stock")
            try application.run("BEGIN; INSERT INTO stock.t VALUES (2)")

            let stores = DiscoveredStore.grouping([try owner.discovered, try application.discovered])
            #expect(stores.compactMap(\.path).sorted() == [directory + "/shop.sqlite", path])
            let store = try #require(stores.first { $0.path == path })
            #expect(store.accesses.map(\.schema) == ["stock", "main"])
            let storeCopy = try Witness.undisturbed(owner, application, path: path) {
                try application.use()
                return capture(store, in: directory)
            }

            #expect(storeCopy.method == .pageCache && storeCopy.isTransactionOpen == true)
            #expect(storeCopy.hasCommittedCopy && storeCopy.warnings.isEmpty)
            #expect(try copied(directory) == "1\n2")
            #expect(try copied(directory, committed: true) == "1")
            try application.run("COMMIT")
            #expect(try owner.value("SELECT count(*) FROM t") == "2")
        }
    }

    @Test(arguments: ["wal", "delete"])
    func aStoreDeletedWhileOpenIsReadThroughItsConnection(mode: String) throws {
        try withStore { application, path, directory in
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            for suffix in ["", "-wal", "-shm"] { try FileSystem.remove(path + suffix) }

            let storeCopy = capture(try application.store, in: directory)

            #expect(storeCopy.method == .ownConnection && storeCopy.warningCodes == [.storeFileReplaced])
            #expect(storeCopy.isDeleted && storeCopy.isConsistent)
            #expect(try copied(directory) == "1")
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    /// Another store has the name now: it is not mistaken for the open one.
    @Test func aStoreReplacedWhileOpenIsReadThroughItsConnection() throws {
        try withStore { application, path, directory in
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES ('open')")
            try FileSystem.remove(path)
            _ = try sqlite3Program(path, "CREATE TABLE t(a); INSERT INTO t VALUES ('another')")

            let storeCopy = capture(try application.store, in: directory)

            #expect(storeCopy.method == .ownConnection && storeCopy.warningCodes == [.storeFileReplaced])
            #expect(try copied(directory) == "open")
        }
    }

    /// The header of a copy tells which SQLite last wrote the store, such as another copy in the process.
    @Test(arguments: ["delete", "wal"]) func theVersionOfTheWriterStays(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            _ = try sqlite3Program(path, "PRAGMA journal_mode = \(mode); CREATE TABLE t(a)")
            let version: [UInt8] = [0x00, 0x2e, 0x7a, 0x71]  // 3.46.1
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.seek(toOffset: 96)
            try file.write(contentsOf: version)
            try file.close()

            let storeCopy = capture(DiscoveredStore(path: path), in: directory)

            #expect(storeCopy.method == .fileCopy && storeCopy.journalMode == mode)
            let copy = try FileSystem.contents(ofFile: directory + "/copy.sqlite")
            #expect(copy[96..<100] == version[...] && copy[18] == 1)
        }
    }
}
