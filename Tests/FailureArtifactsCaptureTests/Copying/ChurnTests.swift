import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import FailureArtifactsTestSupport
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Tests of state that exists once per process: they run one after the other, without those of other suites.
@Suite(.serialized, .inOwnProcess) enum ProcessWideTests {}

extension ProcessWideTests {
    /// Connections that open and close all the time.
    @Suite struct ChurnTests {
        init() { ConnectionRegistry.shared.install() }

        /// As in GRDB: connections without a mutex, each used by one thread at a time.
        ///
        /// While one thread fails over and over, others open, use and close connections, and none gets an error.
        @Test func connectionsThatComeAndGoAreSurvived() throws {
            try withTemporaryDirectory { directory in
                let mayEnd = Lock(false)
                let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
                // The connection with a WAL stays open: SQLite may refuse to open a store that another thread closes.
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
                        let copier = StoreCopier(timeLimit: 0.02, maximumBytes: 1 << 20)
                        let storeCopy = copier.capture(
                            store, to: .init(copy: copy, committed: nil, raw: copy + ".raw"))
                        // Other tests, which run at the same time, may have temporary schemas without tables.
                        if storeCopy.method != .described, !storeCopy.isNothing { copies += 1 }
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

        @Test func aStoreIsKnownFromItsOpenToItsRealEnd() throws {
            try withTemporaryDirectory { directory in
                let path = directory + "/shop.sqlite"
                ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
                defer { ConnectionRegistry.shared.endKeeping() }
                let pointInTime = ConnectionRegistry.shared.now
                func isOpen() -> Bool {
                    ConnectionRegistry.shared.openConnections.contains { $0.path == path }
                }
                func isClosed() -> Bool {
                    ConnectionRegistry.shared.storesClosed(after: pointInTime).contains {
                        $0.path == path
                    }
                }
                var handle: OpaquePointer?
                #expect(sqlite3_open(path, &handle) == SQLITE_OK)
                #expect(isOpen() && !isClosed())
                var statement: OpaquePointer?
                #expect(sqlite3_prepare_v2(handle, "SELECT 1", -1, &statement, nil) == SQLITE_OK)
                // A close that is refused, and a close that leaves a zombie.
                #expect(sqlite3_close(handle) == SQLITE_BUSY)
                #expect(isOpen() && !isClosed())
                #expect(sqlite3_close_v2(handle) == SQLITE_OK)
                #expect(isOpen() && !isClosed())
                sqlite3_finalize(statement)
                #expect(!isOpen() && isClosed())
                #expect(
                    ConnectionRegistry.shared.storesClosed(after: ConnectionRegistry.shared.now).isEmpty)
            }
        }
    }
}
