import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Open write transactions, of the test itself or of others.
@Suite struct TransactionTests {
    init() { ConnectionRegistry.shared.install() }

    @Test(arguments: ["wal", "delete", "truncate", "persist", "memory", "off"])
    func theTestsOwnGivesBothStates(mode: String) throws {
        try withStore { application, path, directory in
            try application.run(
                """
                PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1);
                BEGIN; INSERT INTO t VALUES (2)
                """)
            let other = try OtherProcess(path)

            let storeCopy = try captureUndisturbed(application, path: path, in: directory, writer: other)

            #expect(storeCopy.method == .pageCache && storeCopy.isTransactionOpen == true)
            #expect(
                storeCopy.journalMode == (mode == "wal" ? "wal" : "delete") && storeCopy.isConsistent)
            #expect(storeCopy.hasCommittedCopy && storeCopy.warnings.isEmpty)
            try expectStandalone(directory + "/copy.sqlite")
            try expectStandalone(directory + "/copy.committed.sqlite")
            #expect(try copied(directory) == "1\n2")
            #expect(try copied(directory, committed: true) == "1")
            // The transaction goes on.
            #expect(try other.run("INSERT INTO t VALUES (3)") == ["database is locked"])
            try application.run("COMMIT")
            #expect(try other.run("SELECT count(*) FROM t") == ["2"])
            #expect(try other.run("INSERT INTO t VALUES (3)") == [])
        }
    }

    @Test(arguments: ["wal", "delete"])
    func anotherConnectionsIsSaidToBeMissing(mode: String) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let writer = try ApplicationHandle(path)
            try writer.run("PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let application = try ApplicationHandle(path)
            try writer.run("BEGIN; INSERT INTO t VALUES (2)")
            #expect(try application.value("SELECT count(*) FROM t") == "1")

            let storeCopy = try Witness.undisturbed(application, writer, path: path) {
                try application.use()
                return capture(try application.store, in: directory)
            }

            #expect(storeCopy.isConsistent && storeCopy.isTransactionOpen == false)
            #expect(storeCopy.warningCodes == [.otherWriter])
            #expect(storeCopy.warnings.first?.parameters["process"] == nil)
            #expect(try copied(directory) == "1")
            try writer.run("COMMIT")
            #expect(try application.value("SELECT count(*) FROM t") == "2")
        }
    }

    @Test(arguments: ["wal", "delete", "truncate", "persist", "memory", "off"])
    func anotherProcessesIsSaidToBeMissing(mode: String) throws {
        try withStore { application, path, directory in
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let other = try OtherProcess(path)
            try other.run("PRAGMA journal_mode = \(mode); BEGIN IMMEDIATE; INSERT INTO t VALUES (2)")

            let storeCopy = try captureUndisturbed(application, path: path, in: directory)

            #expect(storeCopy.isConsistent && storeCopy.isTransactionOpen == false)
            #expect(storeCopy.warningCodes == [.otherWriter])
            let process = Int64(other.identifier)
            #expect(storeCopy.warnings.first?.parameters["process"] == .number(process))
            try expectStandalone(directory + "/copy.sqlite")
            #expect(try copied(directory) == "1")
            #expect(application.failure(of: "INSERT INTO t VALUES (3)") == "database is locked")
            #expect(try other.run("COMMIT") == [])
            #expect(try application.value("SELECT count(*) FROM t") == "2")
        }
    }

    /// The tool copies the stores of a test that hangs, which is in another process.
    @Test(arguments: [true, false]) func theProcessOfTheTestIsToldFromOthers(isOwn: Bool) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/shop.sqlite"
            let test = try OtherProcess(path)
            try test.run("CREATE TABLE t(a); INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)")
            let number = Int32(test.identifier)

            let storeCopy = StoreCopier(maximumBytes: 1 << 30).capture(
                StoreSource(path: path, process: isOwn ? number : number + 1),
                to: .copies(in: directory))

            #expect(storeCopy.warningCodes == [.otherWriter])
            let owner = isOwn ? "The test's own process" : "Another process"
            #expect(
                storeCopy.warnings.first?.text.hasPrefix("\(owner) (\(number)) had a write transaction")
                    == true, "\(storeCopy.warnings)")
            #expect(try copied(directory) == "1")
        }
    }

    /// No connection is inside a transaction, so the capture does not report one.
    @Test(arguments: ["wal", "delete"])
    func locksOfReadersAreNoTransactions(mode: String) throws {
        try withStore { application, path, directory in
            try application.run(
                "PRAGMA journal_mode = \(mode); CREATE TABLE t(a); INSERT INTO t VALUES (1)")
            let other = try OtherProcess(path)
            try other.run("BEGIN; SELECT * FROM t")
            let storeCopy = try captureUndisturbed(application, path: path, in: directory)
            #expect(storeCopy.isConsistent && storeCopy.warnings.isEmpty)
            #expect(try copied(directory) == "1")
            #expect(try other.run("SELECT * FROM t") == ["1"])
        }
    }
}
