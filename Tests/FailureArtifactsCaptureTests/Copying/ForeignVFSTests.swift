import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Stores that only the application's VFS can read.
@Suite struct ForeignVFSTests {
    init() {
        ConnectionRegistry.shared.install()
        ScramblingFileSystem.register()
    }

    private func open(_ path: String, mode: String, flags: Int32? = nil) throws -> ApplicationHandle {
        let application = try ApplicationHandle(
            path, flags: flags ?? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
            vfs: ScramblingFileSystem.name)
        try application.run("PRAGMA journal_mode = \(mode)")
        return application
    }

    @Test(arguments: ["wal", "delete", "memory"], [true, false])
    func theyAreReadThroughIt(mode: String, hasMutex: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/secret.sqlite"
            let application = try open(
                path, mode: mode, flags: hasMutex ? nil : ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            #expect(try sqlite3Program(path, "SELECT * FROM t").contains("not a database"))

            let outside = try captureUndisturbed(application, path: path, in: directory)
            #expect(outside.method == (hasMutex ? .ownConnection : .secondConnection))
            #expect(outside.isConsistent && outside.warnings.isEmpty)
            #expect(outside.vfs == ScramblingFileSystem.name)
            // The mode that the file reveals; a PRAGMA would disturb the connection.
            #expect(outside.journalMode == (mode == "wal" ? "wal" : "delete"))
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            try FileSystem.remove(directory + "/copy.sqlite")

            try application.run("BEGIN; INSERT INTO t VALUES (2)")
            let inside = try captureUndisturbed(application, path: path, in: directory)
            #expect(inside.method == .pageCache && inside.hasCommittedCopy && inside.warnings.isEmpty)
            #expect(try copied(directory) == "1\n2")
            #expect(try copied(directory, committed: true) == "1")
            try application.run("COMMIT")
            #expect(try application.value("SELECT count(*) FROM t") == "2")
        }
    }

    /// The connection is in use on another thread: the capture opens another connection with the same VFS.
    @Test(arguments: ["wal", "delete"])
    func theyAreReadByAnotherConnection(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/secret.sqlite"
            let application = try open(path, mode: mode, flags: ApplicationHandle.withoutMutex)
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            try application.run("BEGIN; INSERT INTO t VALUES (2)")
            let store = try application.store
            let storeCopy = try Witness.undisturbed(application, path: path) {
                try onAnotherThread { capture(store, in: directory) }
            }
            #expect(storeCopy.method == .secondConnection && storeCopy.isConsistent)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            try application.run("COMMIT")
        }
    }

    /// No connection has the store open: only its bytes are available.
    @Test func closedOnesAreCopiedAsTheyAre() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/secret.sqlite"
            let application = try open(path, mode: "delete")
            try application.run("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            application.close()
            let storeCopy = try Witness.undisturbed(path: path) {
                capture(DiscoveredStore(path: path), in: directory)
            }
            #expect(storeCopy.method == .fileCopy && !storeCopy.isConsistent)
            #expect(storeCopy.warnings.count == 1)
            #expect(try run("cmp", path, directory + "/copy.sqlite").isEmpty)
        }
    }
}
