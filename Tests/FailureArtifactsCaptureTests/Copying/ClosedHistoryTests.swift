import CFailureArtifactsSQLite
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

#if os(Linux)
extension ProcessWideTests {
    /// The history of a store whose WAL was deleted by its last close.
    @Suite struct ClosedHistoryTests {
        init() { ConnectionRegistry.shared.install() }

        private let transactions = """
            PRAGMA journal_mode = wal; CREATE TABLE t(a); INSERT INTO t VALUES (1);
            INSERT INTO t VALUES (2), (3); UPDATE t SET a = 9 WHERE a = 1;
            """
        private let states = ["empty", "", "1", "1,2,3", "2,3,9"]

        private func keeping(_ body: (String) throws -> Void) throws {
            ConnectionRegistry.shared.beginKeeping(maximumBytes: 16 << 20)
            defer { ConnectionRegistry.shared.endKeeping() }
            try withTemporaryDirectory(body)
        }

        private func closedStore(_ path: String) throws -> DiscoveredStore {
            let closed = ConnectionRegistry.shared.storesClosed(after: .init(event: 0, statement: 0))
            return DiscoveredStore(try #require(closed.last { $0.path == path }))
        }

        /// Connections that have read nothing don't use the WAL, so it may be deleted before they are closed.
        @Test(arguments: [(1, true), (3, true), (3, false)], [false, true])
        func theClosedStoreHasItsTransactions(
            opened: (connections: Int, areReading: Bool), isDeleted: Bool
        ) throws {
            try keeping { directory in
                let path = directory + "/shop.sqlite"
                let applications = try (0..<opened.connections).map { _ in try ApplicationHandle(path) }
                try applications[0].run(transactions)
                for application in applications where opened.areReading {
                    #expect(try application.value("SELECT count(*) FROM t") == "3")
                }
                for application in applications.shuffled() { application.close() }
                #expect(FileSystem.regularFile(path + "-wal") == nil)
                if isDeleted { try FileSystem.remove(path) }

                let storeCopy = capture(try closedStore(path), in: directory)

                #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
                #expect(storeCopy.history?.transactions == 4 && storeCopy.history?.reason == nil)
                #expect(try rebuiltStates(directory) == states)
                try expectStandalone(directory + "/copy.sqlite")
            }
        }

        @Test func aStoreThatIsOpenedAgainHasTheTransactionsBefore() throws {
            try keeping { directory in
                let path = directory + "/shop.sqlite"
                let first = try ApplicationHandle(path)
                try first.run(transactions)
                first.close()
                let second = try ApplicationHandle(path)
                try second.run("INSERT INTO t VALUES (4); INSERT INTO t VALUES (5)")
                second.close()
                let storeCopy = capture(try closedStore(path), in: directory)
                #expect(storeCopy.history?.transactions == 6)
                #expect(try rebuiltStates(directory) == states + ["2,3,4,9", "2,3,4,5,9"])
            }
        }

        /// The history of the WAL would lead to a state that the copy doesn't have.
        ///
        /// The recorded one ends with the changes of the other process, whose transactions are unknown.
        ///
        /// That process changes a page that is in the deleted WAL or, in table `u`, one that isn't.
        @Test(arguments: [("t", false), ("t", true), ("u", false)])
        func theChangesOfAnotherProcessAreTheLastTransaction(table: String, hidesTheTime: Bool) throws {
            try keeping { directory in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.run(
                    "PRAGMA journal_mode = wal; CREATE TABLE u(a); INSERT INTO u VALUES (1)")
                try application.run("PRAGMA wal_checkpoint(truncate)")
                try application.run(transactions)
                application.close()
                try #require(runProgram(["cp", "-p", path, path + ".old"]).status == 0)
                _ = try sqlite3Program(path, "UPDATE \(table) SET a = a + 1")
                if hidesTheTime {
                    try #require(runProgram(["touch", "-r", path + ".old", path]).status == 0)
                }
                let storeCopy = capture(try closedStore(path), in: directory)
                #expect(storeCopy.method == .fileCopy)
                #expect(
                    storeCopy.history?.commits.map(\.isMerged) == Array(repeating: false, count: 6) + [
                        true
                    ])
                #expect(
                    try rebuiltStates(directory).dropLast() == ["empty", "empty"] + states)
                #expect(
                    try copied(
                        directory, "SELECT sum(a) FROM (SELECT a FROM t UNION ALL SELECT a FROM u)")
                        == (table == "t" ? "18" : "16"))
            }
        }

        @Test func aStoreWithARollbackJournalHasNoWAL() throws {
            try keeping { directory in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path)
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                application.close()
                #expect(try openFiles(below: directory).values.sorted() == [path])
                let history = capture(try closedStore(path), in: directory).history
                #expect(history?.transactions == 2 && history?.commits.count == 2)
            }
        }

        /// A close that fails because of a statement is reported, too.
        @Test(arguments: [false, true]) func noFileStaysOpenAfterTheTest(failsFirst: Bool) throws {
            try withTemporaryDirectory { directory in
                ConnectionRegistry.shared.beginKeeping(maximumBytes: 16 << 20)
                let path = directory + "/shop.sqlite"
                var handle: OpaquePointer?
                try #require(sqlite3_open(path, &handle) == SQLITE_OK)
                try #require(sqlite3_exec(handle, transactions, nil, nil, nil) == SQLITE_OK)
                if failsFirst {
                    var statement: OpaquePointer?
                    try #require(
                        sqlite3_prepare_v2(handle, "SELECT 1", -1, &statement, nil) == SQLITE_OK)
                    #expect(sqlite3_close(handle) == SQLITE_BUSY)
                    sqlite3_finalize(statement)
                }
                #expect(sqlite3_close(handle) == SQLITE_OK)
                #expect(try openFiles(below: directory).values.sorted() == [path])
                ConnectionRegistry.shared.endKeeping()
                #expect(try openFiles(below: directory).isEmpty)
            }
        }
    }
}
#endif
