import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The absence of side effects of a capture on the application.
@Suite struct NonInterferenceTests {
    init() { ConnectionRegistry.shared.install() }

    @Test(arguments: [false, true])
    func theErrorStateOfAConnectionIsAsItWas(inTransaction: Bool) throws {
        try withStore { application, path, directory in
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

    /// Returns the number of statements that the application's trace receives.
    private func heard(by application: ApplicationHandle, _ body: () throws -> Void) rethrows -> Int {
        nonisolated(unsafe) var count = 0
        try withUnsafeMutablePointer(to: &count) { counter in
            sqlite3_trace_v2(
                application.handle, UInt32(SQLITE_TRACE_STMT),
                { _, context, _, _ in
                    context?.assumingMemoryBound(to: Int.self).pointee += 1
                    return 0
                }, counter)
            defer { sqlite3_trace_v2(application.handle, 0, nil, nil) }
            try body()
        }
        return count
    }

    /// Tests may compare the statements that they have traced.
    @Test(arguments: [true, false], ["shop.sqlite", ":memory:", ""])
    func anApplicationsTraceHearsNothingOfACapture(hasMutex: Bool, file: String) throws {
        try withTemporaryDirectory { directory in
            let application = try ApplicationHandle(
                file.hasSuffix(".sqlite") ? directory + "/" + file : file,
                flags: hasMutex
                    ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let count = try heard(by: application) {
                let store = try application.store
                let snapshot = Snapshotter(maximumBytes: 1 << 30).capture(
                    store, to: .copies(in: directory))
                #expect(snapshot.method != .described)
                #expect(!store.statements.isReplaced)
            }
            #expect(count == 0)
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
        try withStore("CREATE TABLE t(a)") { application, path, directory in
            let pointInTime = ConnectionRegistry.shared.now
            let connections = ConnectionRegistry.shared.openConnections.filter { $0.path == path }
            let store = try #require(DiscoveredStore.grouping(connections).first)
            #expect(!store.isUsed(since: pointInTime))
            _ = Snapshotter(maximumBytes: 1 << 30).capture(
                store, to: .copies(in: directory))
            // Our own statements do not count as a use.
            #expect(!store.isUsed(since: pointInTime))
            try application.run("INSERT INTO t VALUES (1)")
            #expect(store.isUsed(since: pointInTime))
        }
    }
}
