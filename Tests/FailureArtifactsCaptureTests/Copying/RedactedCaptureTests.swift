import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// Copies of stores that are redacted while they are made; `test_redaction.py` has more kinds of stores.
@Suite struct RedactedCaptureTests {
    private static let secret = "S3CRET-token-value"

    private func capture(_ path: String, in directory: String) -> StoreCopy {
        var rules = RedactionRules()
        rules.columns = [.init(table: "t", column: "a", method: .blank)]
        var copier = StoreCopier(maximumBytes: 1 << 30)
        copier.redactor = StoreRedactor(rules)
        return copier.capture(DiscoveredStore(path: path), to: .copies(in: directory))
    }

    private func expectNoTrace(in directory: String) throws {
        for name in try FileSystem.contents(ofDirectory: directory) {
            let bytes = Data(try FileSystem.contents(ofFile: directory + "/" + name))
            #expect(bytes.range(of: Data(Self.secret.utf8)) == nil, "\(name)")
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
            let raw = StoreCopier(maximumBytes: 1 << 30).capture(
                DiscoveredStore(path: path), to: .copies(in: plain))
            try #require(!raw.rawFiles.isEmpty, "There is nothing to be left out.")
            let storeCopy = capture(path, in: redacted)
            #expect(storeCopy.rawFiles == [])
            #expect(storeCopy.warnings.contains { $0.is(.rawFilesNotKept) })
            #expect(try FileSystem.contents(ofDirectory: redacted) == ["copy.sqlite"])
            try expectNoTrace(in: redacted)
        }
    }
}
