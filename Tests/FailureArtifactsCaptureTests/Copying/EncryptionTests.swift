import CFailureArtifactsCapture
import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

extension ProcessWideTests {
    /// Stores whose files are encrypted, while their connections see them in plain.
    ///
    /// A codec such as SQLCipher's isn't available here. Instead, a file gets another header, and so many reserved bytes per
    /// page as SQLCipher's, while a connection has it open.
    @Suite struct EncryptionTests {
        /// The ways in which an encrypted file differs from a plain one.
        enum Sign: CaseIterable {
            case header, reservedBytes
        }

        private func withStore(
            _ sign: Sign, row: String = "in plain", _ body: (ApplicationHandle, String) throws -> Void
        ) throws {
            try withTemporaryDirectory { directory in
                let path = directory + "/secret.sqlite"
                let application = try ApplicationHandle(path)
                if sign == .reservedBytes {
                    var count: CInt = 80
                    sqlite3_file_control(application.handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &count)
                }
                try application.run("CREATE TABLE t(a); INSERT INTO t VALUES ('\(row)')")
                if sign == .header {
                    let file = try #require(FileHandle(forWritingAtPath: path))
                    try file.write(contentsOf: Data("an encrypted one".utf8))
                    try file.close()
                }
                try body(application, directory)
            }
        }

        private func isInPlain(_ directory: String, _ name: String = "copy.sqlite") throws -> Bool {
            try Data(contentsOf: URL(filePath: directory + "/" + name)).contains("in a transaction")
        }

        @Test(arguments: Sign.allCases)
        func uncommittedChangesStayInTheConnection(sign: Sign) throws {
            try withStore(sign) { application, directory in
                try application.run("BEGIN; INSERT INTO t VALUES ('in a transaction')")
                let storeCopy = capture(try application.store, in: directory)
                #expect(storeCopy.method == .fileCopy && storeCopy.isTransactionOpen == true)
                #expect(try !isInPlain(directory))
                #expect(storeCopy.warnings.contains { $0.is(.uncommittedChangesMissing) })
            }
        }

        @Test(arguments: Sign.allCases)
        func aRollbackIsNotKept(sign: Sign) throws {
            try withStore(sign) { application, directory in
                ConnectionRegistry.shared.beginKeeping(maximumBytes: 1 << 20)
                defer { ConnectionRegistry.shared.endKeeping() }
                try application.run("BEGIN; INSERT INTO t VALUES ('in a transaction'); ROLLBACK")
                let storeCopy = capture(try application.store, in: directory, afterError: true)
                #expect(storeCopy.method == .fileCopy)
                #expect(try !isInPlain(directory))
            }
        }

        /// No other connection could read it.
        @Test(arguments: Sign.allCases)
        func aDeletedFileIsNotReadThroughItsConnection(sign: Sign) throws {
            try withStore(sign) { application, directory in
                try FileManager.default.removeItem(atPath: directory + "/secret.sqlite")
                let storeCopy = capture(try application.store, in: directory)
                #expect(storeCopy.method == .described && storeCopy.isDeleted)
                #expect(storeCopy.reason?.contains("The store is encrypted") == true)
            }
        }

        /// SQLite3 Multiple Ciphers decrypts in a VFS, here one that does nothing.
        @Test(arguments: ["wal", "delete"]) func aVFSThatDecrypts(mode: String) throws {
            try withTemporaryDirectory { directory in
                let original = try #require(sqlite3_vfs_find("unix"))
                let name = try #require(strdup("multipleciphers-unix"))
                let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
                vfs.initialize(to: original.pointee)
                vfs.pointee.zName = UnsafePointer(name)
                #expect(sqlite3_vfs_register(vfs, 0) == SQLITE_OK)
                defer { sqlite3_vfs_unregister(vfs) }
                let application = try ApplicationHandle(
                    directory + "/secret.sqlite", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                    vfs: "multipleciphers-unix")
                try application.run(
                    "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); BEGIN; INSERT INTO t VALUES (1)")
                for _ in 0..<2 {
                    let storeCopy = capture(try application.store, in: directory)
                    #expect(storeCopy.method == .fileCopy || storeCopy.method == .described)
                    try? FileManager.default.removeItem(atPath: directory + "/copy.sqlite")
                    sqlite3_exec(application.handle, "COMMIT", nil, nil, nil)
                }
                application.close()
            }
        }

        @Test(arguments: Sign.allCases, [false, true])
        func onRequestTheCopyIsInPlain(sign: Sign, isInTransaction: Bool) throws {
            try withStore(sign, row: "in a transaction") { application, directory in
                failure_artifacts_set_decrypts(true)
                defer { failure_artifacts_set_decrypts(false) }
                if isInTransaction { try application.run("BEGIN; INSERT INTO t VALUES ('uncommitted')") }
                let storeCopy = capture(try application.store, in: directory)
                #expect(storeCopy.method == .pageCache)
                #expect(storeCopy.isTransactionOpen == isInTransaction)
                #expect(try isInPlain(directory))
                #expect(try copied(directory, "SELECT count(*) FROM t") == (isInTransaction ? "2" : "1"))
            }
        }
    }
}

extension Data {
    fileprivate func contains(_ text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
