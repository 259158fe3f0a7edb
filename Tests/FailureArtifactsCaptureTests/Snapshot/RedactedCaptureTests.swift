import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Copies of stores that are redacted while they are made.
@Suite struct RedactedCaptureTests {
    private static let secret = "S3CRET-token-value"

    private func capture(_ path: String, in directory: String, _ method: RedactionRules.Method = .blank)
        -> Snapshot
    {
        var rules = RedactionRules()
        rules.columns = [.init(table: "t", column: "a", method: method)]
        var snapshotter = Snapshotter(maximumBytes: 1 << 30)
        snapshotter.redactor = StoreRedactor(rules)
        return snapshotter.capture(DiscoveredStore(path: path), to: .copies(in: directory))
    }

    private func expectNoTrace(in directory: String) throws {
        for name in try FileSystem.contents(ofDirectory: directory) {
            let bytes = Data(try FileSystem.contents(ofFile: directory + "/" + name))
            #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
        }
    }

    /// Another process has committed the content, which is in the WAL only.
    @Test func ofAWALNothingIsLeftButTheContent() throws {
        try withTemporaryDirectory { directory in
            let other = try OtherProcess(directory + "/original.sqlite")
            try other.run(
                "PRAGMA journal_mode = wal; CREATE TABLE t(a, b); INSERT INTO t VALUES ('\(Self.secret)', 1)"
            )
            let copies = directory + "/copies"
            try FileSystem.createDirectory(copies)
            let snapshot = capture(directory + "/original.sqlite", in: copies)
            #expect(snapshot.method == .fileCopy)
            #expect(snapshot.isConsistent)
            #expect(snapshot.history?.transactions == 0)
            #expect(
                snapshot.history?.reason
                    == "A history of pages cannot be redacted, so it was left out.")
            #expect(snapshot.redaction?.summaries == ["t.a: blanked"])
            #expect(try copied(copies, "SELECT quote(a), b FROM t") == "NULL|1")
            #expect(try FileSystem.contents(ofDirectory: copies) == ["copy.sqlite"])
            try expectNoTrace(in: copies)
        }
    }

    /// SQLite would not read all of the store.
    ///
    /// Without redactions, the files are kept unchanged.
    @Test func rawCopiesAreLeftOut() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/original.sqlite"
            let other = try OtherProcess(path)
            try other.run(
                "PRAGMA journal_mode = wal; CREATE TABLE t(a, b); INSERT INTO t VALUES ('x', 1)")
            try other.run("INSERT INTO t VALUES ('\(Self.secret)', 2)")
            try other.run("INSERT INTO t VALUES ('\(Self.secret)', 3)")
            other.kill()
            // A byte of the second-to-last transaction's page.
            let wal = try File(updating: path + "-wal")
            let offset = try wal.size() - 2 * 4120 + 24 + 100
            try [UInt8(0xFF)].withUnsafeBytes { try wal.write($0, at: offset) }
            try wal.close()
            let (plain, redacted) = (directory + "/plain", directory + "/redacted")
            for copies in [plain, redacted] { try FileSystem.createDirectory(copies) }
            let raw = Snapshotter(maximumBytes: 1 << 30).capture(
                DiscoveredStore(path: path), to: .copies(in: plain))
            try #require(!raw.rawFiles.isEmpty, "There is nothing to be left out.")
            let snapshot = capture(path, in: redacted)
            #expect(snapshot.rawFiles == [])
            #expect(snapshot.warnings.contains { $0.is(.rawFilesNotKept) })
            #expect(try FileSystem.contents(ofDirectory: redacted) == ["copy.sqlite"])
            try expectNoTrace(in: redacted)
        }
    }

    @Test func whatCannotBeRedactedIsDescribed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/original.sqlite"
            try FileSystem.write(Array("no database but a \(Self.secret)".utf8), toNewFile: path)
            let copies = directory + "/copies"
            try FileSystem.createDirectory(copies)
            let snapshot = capture(path, in: copies)
            #expect(snapshot.method == .described)
            #expect(!snapshot.isConsistent)
            #expect(
                snapshot.reason?.hasPrefix(
                    "It could not be redacted. SQLite says: file is not a database") == true)
            #expect(try FileSystem.contents(ofDirectory: copies) == [])
        }
    }

    /// A store that may not be copied is described in the same way as without redactions.
    @Test func aStoreThatIsTooLargeIsDescribed() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/original.sqlite"
            _ = try sqlite3Program(path, "CREATE TABLE t(a)")
            var snapshotter = Snapshotter(maximumBytes: 100)
            snapshotter.redactor = StoreRedactor(RedactionRules())
            let snapshot = snapshotter.capture(DiscoveredStore(path: path), to: .copies(in: directory))
            #expect(snapshot.method == .described)
            #expect(snapshot.excessiveBytes == 8192)
        }
    }
}
