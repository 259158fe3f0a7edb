import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import FailureArtifactsZip
import Foundation
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

    @Test func baselineMayBeAbsentOrDamaged() throws {
        let version = Baseline(at: "2026-11-28T12:04:00.000000Z", commit: "3f2a9c1", statements: [])
        for (lines, expected) in [
            (nil, []), (Baseline.lines(of: [version]), [version]), (Array("{}\n".utf8), nil),
        ] as [([UInt8]?, [Baseline]?)] {
            let entries = [("metadata.json", metadata())] + (lines.map { [(Baseline.entry, $0)] } ?? [])
            try withReader(entries) { (reader, _) throws in
                guard let expected else {
                    return expectError(.statements(Baseline.entry)) { _ = try reader.baselines }
                }
                #expect(try reader.baselines == expected)
            }
        }
    }
}

@Suite struct CommitReferenceTests {
    @Test(arguments: [
        ("0", 0), ("1", 1), ("3", 3), ("last", 3), ("-1", 3), ("-2", 2), ("-4", 0), ("007", nil),
        ("4", nil),
        ("-5", nil), ("9223372036854775807", nil), ("-9223372036854775808", nil),
    ])
    func aStateIsMeant(text: String, state: Int?) throws {
        let reference = try #require(CommitReference(text))
        #expect(reference.state(of: 3) == state)
        #expect(reference.description == text)
    }

    @Test(arguments: [
        "", "-", "--1", "+1", " 1", "1 ", "1.0", "first", "LAST", "-last", "0x1", "-0", "١",
        "99999999999999999999",
    ])
    func otherTextMeansNothing(text: String) {
        #expect(CommitReference(text) == nil)
    }
}

@Suite struct ThreadsMapTests {
    @Test(arguments: [0, 1, 2, 7, 1_000]) func theOrderStays(count: Int) {
        let elements = Array(0..<count)
        #expect(Threads.map(elements) { String($0) } == elements.map { String($0) })
    }
}

/// SQLite's information about a copy.
@Suite struct StoreInspectionTests {
    private func inspected(_ path: String) throws -> BundleMetadata.Store {
        let json = """
            {"name":"a","storage":"file","bytes":{},
            "capture":{"method":"fileCopy","consistent":true,"duration":0,"checkpoint":"none"}}
            """
        let store = try JSONDecoder().decode(BundleMetadata.Store.self, from: Data(json.utf8))
        return try #require(store.inspected(copyAt: path))
    }

    @Test func whatSQLiteSays() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try create(path)
            let size = try #require(FileSystem.regularFile(path)).size
            let store = try inspected(path)
            #expect(store.integrity == "ok")
            #expect(store.tables?.map(\.name) == ["a \"b\" c", "blobs", "keys"])
            #expect(store.tables?.map(\.rows) == [50, 100, 3])
            #expect(store.tables?.allSatisfy { $0.exact } == true)
            #expect(Int64(store.pageSize ?? 0) * (store.pageCount ?? 0) == Int64(size))
        }
    }

    @Test func damageIsFoundAndRowsOfOtherTablesAreCounted() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            try create(path)
            let root = try #require(
                Int(try sqlite3Program(path, "SELECT rootpage FROM sqlite_master WHERE name = 'keys'")))
            let file = try #require(FileHandle(forWritingAtPath: path))
            try file.seek(toOffset: UInt64(root - 1) * 4096)
            try file.write(contentsOf: Data(repeating: 0xaa, count: 4096))
            try file.close()
            let store = try inspected(path)
            #expect(store.integrity?.contains("age \(root)") == true, "\(store.integrity ?? "")")
            #expect(store.tables?.map(\.rows) == [50, 100, 0])
            #expect(store.tables?.map(\.exact) == [true, true, false])
        }
    }

    @Test func theSchemaInItsOrder() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let statements = [
                "CREATE TABLE b(x PRIMARY KEY, y UNIQUE)", "CREATE INDEX i ON b(y, x)",
                "CREATE VIEW a AS SELECT 'りんご'",
                "CREATE TRIGGER t AFTER INSERT ON b BEGIN SELECT 1; END",
            ]
            #expect(try sqlite3Program(path, statements.joined(separator: ";")) == "")
            let store = try inspected(path)
            #expect(store.schema?.map(\.sql) == statements)
            #expect(store.schema?.map(\.type) == ["table", "index", "view", "trigger"])
            #expect(store.schema?.map(\.table) == ["b", "b", "a", "b"])
            #expect(store.schemaOmitted == nil)
        }
    }

    @Test func aLongSchemaIsCut() throws {
        try withTemporaryDirectory { directory in
            let path = directory + "/a.sqlite"
            let application = try ApplicationHandle(path)
            for index in 0..<40 {
                let comment = String(repeating: "x", count: 10_000)
                try application.run("CREATE TABLE t\(index)(a /* \(comment) */)")
            }
            application.close()
            let store = try inspected(path)
            #expect(store.schema?.count == 26 && store.schemaOmitted == 14)
        }
    }

    private func create(_ path: String) throws {
        _ = try sqlite3Program(
            path,
            """
            PRAGMA page_size = 4096; CREATE TABLE blobs(id INTEGER PRIMARY KEY, b);
            CREATE TABLE "a ""b"" c"(a); CREATE TABLE keys(k PRIMARY KEY, v) WITHOUT ROWID;
            WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100)
            INSERT INTO blobs SELECT n, randomblob(4000) FROM c;
            INSERT INTO "a ""b"" c" SELECT id FROM blobs WHERE id % 2 = 0;
            INSERT INTO keys VALUES ('a', 1), ('b', 2), ('c', 3);
            """)
    }
}
