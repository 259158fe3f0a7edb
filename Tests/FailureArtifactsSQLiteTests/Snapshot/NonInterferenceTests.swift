import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import Foundation
import Testing

/// What an application can notice of a capture: nothing.
@Suite struct NonInterferenceTests {
    init() { ConnectionRegistry.shared.install() }

    @Test(arguments: [false, true])
    func theErrorStateOfAConnectionIsAsItWas(inTransaction: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1)")
            if inTransaction { try application.run("BEGIN; INSERT INTO t VALUES (2)") }
            #expect(
                sqlite3_exec(application.handle, "INSERT INTO t VALUES (1)", nil, nil, nil) != SQLITE_OK)
            let message = String(cString: sqlite3_errmsg(application.handle))
            let changes = sqlite3_total_changes(application.handle)
            let version = try application.value("PRAGMA data_version")
            #expect(
                sqlite3_exec(application.handle, "INSERT INTO t VALUES (1)", nil, nil, nil) != SQLITE_OK)

            let connections = ConnectionRegistry.shared.openConnections.filter { $0.path == path }
            let store = try #require(DiscoveredStore.grouping(connections).first)
            let snapshot = Snapshotter(maximumBytes: 1 << 30).capture(
                store, to: .copies(in: directory))

            #expect(snapshot.method == (inTransaction ? .serialize : .fileCopy))
            // SQLITE_CONSTRAINT_UNIQUE, a macro that Swift does not import.
            #expect(sqlite3_extended_errcode(application.handle) == SQLITE_CONSTRAINT | 8 << 8)
            #expect(sqlite3_errcode(application.handle) == SQLITE_CONSTRAINT)
            #expect(String(cString: sqlite3_errmsg(application.handle)) == message)
            #expect(sqlite3_total_changes(application.handle) == changes)
            #expect(try application.value("PRAGMA data_version") == version)
        }
    }

    @Test func anApplicationsOwnTraceTakesThePlaceOfOurs() throws {
        let application = try ApplicationHandle(":memory:")
        nonisolated(unsafe) var traced = 0
        withUnsafeMutablePointer(to: &traced) { counter in
            sqlite3_trace_v2(
                application.handle, UInt32(SQLITE_TRACE_STMT),
                { _, context, _, _ in
                    context?.assumingMemoryBound(to: Int.self).pointee += 1
                    return 0
                }, counter)
            sqlite3_exec(application.handle, "SELECT 1; SELECT 2", nil, nil, nil)
            sqlite3_trace_v2(application.handle, 0, nil, nil)
        }
        #expect(traced == 2)
    }

    /// GRDB's way: connections without a mutex, each used by one thread at a time.
    ///
    /// While one thread fails over and over, others open, use and close them, and none is refused anything.
    @Test func connectionsThatComeAndGoAreSurvived() throws {
        try withTemporaryDirectory { directory in
            let mayEnd = Lock(false)
            let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
            // The one with a WAL stays open: SQLite itself may refuse to open one that somebody else closes.
            let steady = try ApplicationHandle(directory + "/3.sqlite", flags: flags)
            try steady.run("PRAGMA journal_mode = wal; CREATE TABLE t(a)")
            let threads = (0..<4).map { number in
                Thread {
                    while !mayEnd.withLock(\.self) {
                        let path = number % 2 == 0 ? ":memory:" : "\(directory)/\(number).sqlite"
                        let application =
                            number == 3 ? steady : try? ApplicationHandle(path, flags: flags)
                        try? application?.run(
                            "CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES (1)")
                        if number != 3 { application?.close() }
                    }
                }
            }
            threads.forEach { $0.start() }
            let start = Instant.now
            var copies = 0
            while start.elapsed < 2 {
                for store in DiscoveredStore.grouping(ConnectionRegistry.shared.openConnections)
                where store.path?.hasPrefix(directory) ?? true {
                    let copy = "\(directory)/copy-\(copies)"
                    let snapshotter = Snapshotter(timeLimit: 0.02, maximumBytes: 1 << 20)
                    let snapshot = snapshotter.capture(
                        store, to: .init(copy: copy, committed: nil, raw: copy + ".raw"))
                    if snapshot.method != .described { copies += 1 }
                }
            }
            mayEnd.withLock { $0 = true }
            while !threads.allSatisfy(\.isFinished) { usleep(1000) }
            for number in 0..<copies {
                let copy = try Connection(path: "\(directory)/copy-\(number)", mode: .immutable)
                #expect(try copy.value(of: "PRAGMA integrity_check") == .text("ok"))
            }
        }
    }

    @Test func ourOwnConnectionsAreNotDiscovered() throws {
        try withTemporaryDirectory { directory in
            let connection = try Connection(path: directory + "/own.sqlite", mode: .create)
            try connection.execute("CREATE TABLE t(a)")
            #expect(
                !ConnectionRegistry.shared.openConnections.contains {
                    $0.path == directory + "/own.sqlite"
                })
        }
    }

    @Test func whatATestHasUsedIsToldFromWhatIsMerelyOpen() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let application = try ApplicationHandle(path)
            try application.run("CREATE TABLE t(a)")
            let moment = ConnectionRegistry.shared.now
            let connections = ConnectionRegistry.shared.openConnections.filter { $0.path == path }
            let store = try #require(DiscoveredStore.grouping(connections).first)
            #expect(!store.isUsed(since: moment))
            _ = Snapshotter(maximumBytes: 1 << 30).capture(
                store, to: .copies(in: directory))
            // Our own use is none.
            #expect(!store.isUsed(since: moment))
            try application.run("INSERT INTO t VALUES (1)")
            #expect(store.isUsed(since: moment))
        }
    }

    @Test func aStoreIsKnownFromItsOpenToItsRealEnd() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            let moment = ConnectionRegistry.shared.now
            func isOpen() -> Bool {
                ConnectionRegistry.shared.openConnections.contains { $0.path == path }
            }
            func isClosed() -> Bool {
                ConnectionRegistry.shared.storesClosed(after: moment).contains { $0.path == path }
            }
            var handle: OpaquePointer?
            #expect(sqlite3_open(path, &handle) == SQLITE_OK)
            #expect(isOpen() && !isClosed())
            var statement: OpaquePointer?
            #expect(sqlite3_prepare_v2(handle, "SELECT 1", -1, &statement, nil) == SQLITE_OK)
            // A close that is refused, and one that leaves a zombie.
            #expect(sqlite3_close(handle) == SQLITE_BUSY)
            #expect(isOpen() && !isClosed())
            #expect(sqlite3_close_v2(handle) == SQLITE_OK)
            #expect(isOpen() && !isClosed())
            sqlite3_finalize(statement)
            #expect(!isOpen() && isClosed())
            #expect(ConnectionRegistry.shared.storesClosed(after: ConnectionRegistry.shared.now).isEmpty)
        }
    }
}
