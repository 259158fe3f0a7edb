import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ProcessWideTests {
    /// Connections that another thread uses, for a while or forever.
    ///
    /// A connection without a mutex isn't lent while several tests of the process save stores, as those of sessions do.
    @Suite struct BusyConnectionTests {
        /// A thread that stays inside `sqlite3_step` until it is told to leave.
        private final class Occupant: Sendable {
            private let hasEntered = DispatchSemaphore(value: 0)
            private let mayLeave = DispatchSemaphore(value: 0)
            private let hasLeft = DispatchSemaphore(value: 0)

            /// Makes a thread run a statement that calls `occupy()`.
            init(of application: ApplicationHandle, _ sql: String) {
                sqlite3_create_function_v2(
                    application.handle, "occupy", 0, SQLITE_UTF8,
                    Unmanaged.passUnretained(self).toOpaque(),
                    { context, _, _ in
                        guard let data = sqlite3_user_data(context) else { return }
                        let occupant = Unmanaged<Occupant>.fromOpaque(data).takeUnretainedValue()
                        occupant.hasEntered.signal()
                        occupant.mayLeave.wait()
                        sqlite3_result_int(context, 7)
                    }, nil, nil, nil)
                Thread.detachNewThread { [self] in
                    #expect(application.failure(of: sql) == nil)
                    hasLeft.signal()
                }
                hasEntered.wait()
            }

            func leave() {
                mayLeave.signal()
                hasLeft.wait()
            }
        }

        init() { ConnectionRegistry.shared.install() }

        @Test(arguments: ["wal", "delete"], [true, false])
        func aFileIsCopiedByAnotherWay(mode: String, hasMutex: Bool) throws {
            try withTemporaryDirectory { directory in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(
                    path,
                    flags: hasMutex
                        ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : ApplicationHandle.withoutMutex)
                try application.run(
                    "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                // A write: the second of two rows waits.
                let occupant = Occupant(
                    of: application, "INSERT INTO t SELECT 2 UNION ALL SELECT occupy()")

                let start = Instant.now
                let storeCopy = try Witness.undisturbed(path: path) {
                    capture(try application.store, in: directory)
                }

                #expect(start.elapsed < 5)
                #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
                #expect(storeCopy.isTransactionOpen == nil)
                #expect(storeCopy.warningCodes == [.otherWriter])
                try expectStandalone(directory + "/copy.sqlite")
                #expect(try copied(directory) == "1")
                occupant.leave()
                #expect(try application.value("SELECT group_concat(a) FROM t") == "1,2,7")
            }
        }

        @Test func aBorrowedConnectionThatAnotherThreadClosesEndsAfterwards() throws {
            let application = try ApplicationHandle(":memory:", flags: ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let connection = try application.discovered
            let hasClosed = DispatchSemaphore(value: 0)
            func isOpen() -> Bool {
                ConnectionRegistry.shared.openConnections.contains { $0.serial == connection.serial }
            }

            try connection.lend(until: .now.advanced(bySeconds: 10), waitsForRest: false) { borrowed in
                Thread.detachNewThread {
                    application.close()
                    hasClosed.signal()
                }
                #expect(isOpen())
                let code = sqlite3_exec(borrowed.handle, "SELECT a FROM t", nil, nil, nil)
                #expect(code == SQLITE_OK)
            }

            hasClosed.wait()
            #expect(!isOpen())
        }

        /// SQLite doesn't report its close if the application has replaced the trace.
        @Test func aConnectionWhoseCloseWouldNotBeNoticedIsNotBorrowed() throws {
            let application = try ApplicationHandle(":memory:", flags: ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a)")
            try application.replaceTrace()
            let connection = try application.discovered
            #expect(throws: BorrowingRefusal.isUnprotected) {
                try connection.lend(until: .now, waitsForRest: true) { _ in }
            }
        }

        /// The thread that waits to close the connection goes on when the borrow ends, and no other thread ends it then.
        @Test func aBorrowedConnectionIsEndedOnce() throws {
            for round in 0..<400 {
                let application = try ApplicationHandle(
                    ":memory:", flags: ApplicationHandle.withoutMutex)
                try application.run("CREATE TABLE t(a)")
                let hasClosed = DispatchSemaphore(value: 0)
                try application.discovered.lend(
                    until: .now.advanced(bySeconds: 10), waitsForRest: false
                ) { _ in
                    Thread.detachNewThread {
                        application.close()
                        hasClosed.signal()
                    }
                    // The thread checks every 100 µs, or a little later, if it may go on.
                    usleep(200 + UInt32(round % 20) * 10)
                }
                hasClosed.wait()
            }
        }

        /// A thread that is in the middle of a close that was not reported.
        private final class Closer: Sendable {
            let isClosing = DispatchSemaphore(value: 0)
            let mayGoOn = DispatchSemaphore(value: 0)
            let hasClosed = DispatchSemaphore(value: 0)
        }

        /// A thread that borrowed the connection would end it a second time.
        @Test func aConnectionThatIsBeingClosedIsNotBorrowed() throws {
            let application = try ApplicationHandle(":memory:", flags: ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES (1)")
            let connection = try application.discovered
            let closer = Closer()
            try application.replaceTrace()
            // A close rolls back before it frees anything.
            sqlite3_rollback_hook(
                application.handle,
                { data in
                    guard let data else { return }
                    let closer = Unmanaged<Closer>.fromOpaque(data).takeUnretainedValue()
                    closer.isClosing.signal()
                    closer.mayGoOn.wait()
                }, Unmanaged.passUnretained(closer).toOpaque())
            Thread.detachNewThread {
                application.close()
                closer.hasClosed.signal()
            }
            closer.isClosing.wait()

            #expect(throws: BorrowingRefusal.ended) {
                try connection.lend(until: .now, waitsForRest: false) { _ in }
            }

            closer.mayGoOn.signal()
            closer.hasClosed.wait()
            #expect(
                !ConnectionRegistry.shared.openConnections.contains { $0.serial == connection.serial })
        }

        @Test(arguments: [true, false])
        func ofAStoreInMemoryTheRecordedStateIsCopied(hasMutex: Bool) throws {
            try withTemporaryDirectory { directory in
                let application = try ApplicationHandle(
                    ":memory:",
                    flags: hasMutex
                        ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : ApplicationHandle.withoutMutex)
                try application.run("CREATE TABLE t(a)")
                let occupant = Occupant(of: application, "INSERT INTO t VALUES (occupy())")

                let start = Instant.now
                let storeCopy = capture(try application.store, in: directory, timeLimit: 0.2)

                #expect(start.elapsed < 5)
                #expect(storeCopy.method == .recorded && storeCopy.isConsistent)
                #expect(storeCopy.warningCodes == [.uncommittedChangesMissing])
                #expect(storeCopy.warnings.first?.text.contains("nother thread") == true)
                #expect(try copied(directory, "SELECT count(*) FROM t") == "0")
                occupant.leave()
                #expect(try application.value("SELECT a FROM t") == "7")
            }
        }

        /// A busy connection can't be asked for its attached stores, but discovery finds their files.
        @Test func whatABusyConnectionHasAttachedIsFoundByItsFile() throws {
            try withStore { application, _, directory in
                let path = directory + "/attached.sqlite"
                try application.run(
                    "ATTACH '\(path)' AS other; CREATE TABLE other.t(a); INSERT INTO other.t VALUES (1)")
                let occupant = Occupant(of: application, "SELECT occupy()")
                let known = try application.stores
                #expect(known.count == 1)
                let others = DiscoveredStore.openedByOthers(than: known)
                let storeCopy = capture(
                    try #require(others.first { $0.path == path }), in: directory)
                #expect(storeCopy.method == .fileCopy && storeCopy.isConsistent)
                #expect(try copied(directory) == "1")
                occupant.leave()
            }
        }

        /// The capture gets the connection as soon as a long query is over.
        @Test func aConnectionIsWaitedForAWhile() throws {
            try withTemporaryDirectory { directory in
                let application = try ApplicationHandle(":memory:")
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
                let handle = try #require(application.handle)
                let isHeld = DispatchSemaphore(value: 0)
                nonisolated(unsafe) let held = sqlite3_db_mutex(handle)
                Thread.detachNewThread {
                    sqlite3_mutex_enter(held)
                    isHeld.signal()
                    usleep(20_000)
                    sqlite3_mutex_leave(held)
                }
                isHeld.wait()
                let storeCopy = capture(try application.store, in: directory, timeLimit: 60)
                #expect(storeCopy.method == .ownConnection)
                #expect(try copied(directory) == "1")
            }
        }

        @Test(arguments: ["wal", "delete"])
        func aConnectionWithoutAMutexIsUsedOnlyOnItsThread(mode: String) throws {
            try withTemporaryDirectory { directory in
                let path = directory + "/shop.sqlite"
                let application = try ApplicationHandle(path, flags: ApplicationHandle.withoutMutex)
                try application.run(
                    """
                    PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1);
                    BEGIN; INSERT INTO t VALUES (2)
                    """)

                // On this thread: as inside a synchronous transaction block.
                let here = try captureUndisturbed(application, path: path, in: directory)
                #expect(here.method == .pageCache)
                #expect(try copied(directory) == "1\n2")

                // On another thread: only the committed content, read without blocking writers.
                try FileManager.default.removeItem(atPath: directory + "/copy.sqlite")
                let store = try application.store
                let elsewhere = try Witness.undisturbed(application, path: path) {
                    try onAnotherThread { capture(store, in: directory) }
                }
                #expect(elsewhere.method == .fileCopy && elsewhere.isConsistent)
                #expect(try copied(directory) == "1")
            }
        }
    }
}
