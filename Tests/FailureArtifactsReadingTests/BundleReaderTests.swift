import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSystem
import FailureArtifactsTestStores
import FailureArtifactsZip
import Testing

@Suite struct BundleReaderTests {
    /// Returns a description of the stores `ledger`, with two copies, and `large`, without a copy.
    private func metadata(version: String = "1.0", log: String = "") -> [UInt8] {
        let capture = #""method": "backup", "consistent": true, "duration": 0.1, "checkpoint": "copy""#
        return Array(
            """
            {"formatVersion": "\(version)",
             "test": {"framework": "XCTest", "suite": "LedgerTests", "name": "testMarch", "attempt": 1},
             "outcome": "failed", "fingerprint": "0", "failures": [], "attachments": [], "warnings": [],
             "stores": [
               {"name": "ledger", "entry": "stores/ledger.sqlite", "storage": "file", \(log)
                "committedEntry": "stores/ledger.committed.sqlite", "capture": {\(capture)}, "bytes": {}},
               {"name": "large", "storage": "file", "capture": {\(capture), "reason": "It is too large."},
                "bytes": {}}],
             "environment": {"operatingSystem": "o", "architecture": "a", "swift": "s", "sqlite": "q",
                             "processID": 1},
             "capture": {"at": "2026-11-21T07:08:09.123Z", "duration": 1, "limitsHit": []}}
            """.utf8)
    }

    /// Calls a closure with a directory and the path of a zip in it.
    private func withZip(
        _ entries: [(name: String, bytes: [UInt8])], _ body: (String, String) throws -> Void
    ) throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/bundle.zip"
            var writer = try ZipWriter(creating: path)
            for entry in entries {
                try writer.addEntry(
                    named: entry.name, bytes: entry.bytes, modified: Timestamp(seconds: 1_700_000_000))
            }
            try writer.finish()
            try body(directory, path)
        }
    }

    private func withReader(
        _ entries: [(name: String, bytes: [UInt8])], _ body: (BundleReader, String) throws -> Void
    ) throws {
        try withZip(entries) { directory, path in
            try body(
                try BundleReader(BundleLocation(path: path), scratchDirectory: directory), directory)
        }
    }

    private func expectError(
        _ reason: BundleError.Reason, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        let error = #expect(throws: BundleError.self, sourceLocation: sourceLocation) { try body() }
        #expect(error?.reason == reason, sourceLocation: sourceLocation)
    }

    @Test func storesAreFoundByNameOrEntry() throws {
        try withReader([("metadata.json", metadata())]) { (reader, _) throws in
            #expect(reader.metadata.test.name == "testMarch")
            #expect(try reader.store(named: nil).entry == "stores/ledger.sqlite")
            for name in ["ledger.committed", "stores/ledger.committed.sqlite"] {
                let choice = try reader.store(named: name)
                #expect(choice.isCommitted && choice.entry == "stores/ledger.committed.sqlite")
            }
            expectError(.noSuchStore("nuts", ["ledger", "ledger.committed"])) {
                _ = try reader.store(named: "nuts")
            }
            expectError(.storeNotCaptured("large", "It is too large.")) {
                _ = try reader.store(named: "large")
            }
        }
    }

    @Test func storesAreExtractedToSeparateDirectories() throws {
        let entries = [
            ("metadata.json", metadata()), ("stores/ledger.sqlite", Array("a store".utf8)),
        ]
        try withReader(entries) { reader, directory in
            let choice = try reader.store(named: nil)
            let paths = try (0..<2).map { _ in try reader.extract(choice, below: directory) }
            #expect(Set(paths).count == 2)
            for path in paths {
                #expect(Path.name(of: path) == "ledger.sqlite")
                #expect(try FileSystem.contents(ofFile: path) == Array("a store".utf8))
            }
            expectError(.missingEntry("stores/ledger.committed.sqlite")) {
                _ = try reader.extract(reader.store(named: "ledger.committed"), below: directory)
            }
        }
    }

    @Test func zipsThatAreNotBundlesAreRefused() throws {
        let cases: [(entries: [(name: String, bytes: [UInt8])], reason: BundleError.Reason)] = [
            ([("other.json", Array("{}".utf8))], .noMetadata),
            (
                [("metadata.json", metadata(version: "2.0"))],
                .newerVersion(FormatVersion(major: 2, minor: 0))
            ),
        ]
        for (entries, reason) in cases {
            try withZip(entries) { (directory, path) throws in
                expectError(reason) {
                    _ = try BundleReader(BundleLocation(path: path), scratchDirectory: directory)
                }
            }
        }
        expectError(.notFound) {
            _ = try BundleReader(BundleLocation(path: "/nowhere.zip"), scratchDirectory: "/tmp")
        }
    }

    @Test func logOfStatementsMayBeAbsentMissingOrDamaged() throws {
        let log = #""statements": {"entry": "statements/ledger.jsonl", "count": 1},"#
        try withReader([("metadata.json", metadata())]) { (reader, _) throws in
            #expect(try reader.statements(of: reader.metadata.stores[0]).isEmpty)
        }
        try withReader([("metadata.json", metadata(log: log))]) { (reader, _) throws in
            expectError(.missingEntry("statements/ledger.jsonl")) {
                _ = try reader.statements(of: reader.metadata.stores[0])
            }
        }
        let damaged = [
            ("metadata.json", metadata(log: log)), ("statements/ledger.jsonl", Array("{]\n".utf8)),
        ]
        try withReader(damaged) { (reader, _) throws in
            expectError(.statements("statements/ledger.jsonl")) {
                _ = try reader.statements(of: reader.metadata.stores[0])
            }
        }
    }
}
