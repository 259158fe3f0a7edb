internal import FailureArtifactsBundle
import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Small valid inputs, written by the product itself.
enum Seeds {
    /// A store in WAL mode, with everything that a capture reads of it.
    struct Store: Sendable {
        var database: [UInt8]
        /// The WAL, preceded by one byte; see ``FuzzTarget/log``.
        var log: [UInt8]
        var history: [UInt8]
        var committed: [UInt8]
    }

    private static let madeStore = Result { try makeStore() }

    static func store() throws -> Store { try madeStore.get() }

    private static func makeStore() throws -> Store {
        let directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-seeds-")
        defer { try? FileSystem.remove(directory) }
        let live = Path.join(directory, "live")
        let connection = try Connection(path: live, mode: .create)
        try connection.execute(
            """
            PRAGMA page_size = 512; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0;
            CREATE TABLE account(id INTEGER PRIMARY KEY, name, balance);
            INSERT INTO account VALUES (1, 'a', 10), (2, zeroblob(900), 20);
            PRAGMA wal_checkpoint(TRUNCATE);
            UPDATE account SET balance = 5 WHERE id = 1;
            BEGIN; CREATE TABLE entry(account, amount); INSERT INTO entry VALUES (1, -5), (2, 5); COMMIT;
            BEGIN; DELETE FROM account WHERE id > 1; DROP TABLE entry; COMMIT;
            """)
        let pages = try connection.integer(of: "PRAGMA page_count")
        let history = live + ".history"
        _ = try WALHistory(maximumBytes: 1 << 20).record(
            database: try File(sharing: live), wal: try File(sharing: live + "-wal"),
            index: WriteAheadLogIndex(ofFile: live + "-shm"), committedPages: UInt64(pages), to: history)
        let copy = Path.join(directory, "copy")
        for suffix in ["", "-wal"] { try FileSystem.copy(live + suffix, toNewFile: copy + suffix) }
        let store = Store(
            database: try FileSystem.contents(ofFile: copy),
            log: [0] + (try FileSystem.contents(ofFile: copy + "-wal")),
            history: try FileSystem.contents(ofFile: history), committed: [])
        try Connection(path: copy, mode: .readWrite).execute("PRAGMA journal_mode = delete")
        var result = store
        result.committed = try FileSystem.contents(ofFile: copy)
        return result
    }

    /// Corrects the checksums of a WAL, as far as it has valid frames.
    static func repairLog(_ bytes: inout [UInt8]) {
        func number(_ offset: Int) -> UInt32 {
            (0..<4).reduce(0) { $0 << 8 | UInt32(bytes[1 + offset + $1]) }
        }
        func put(_ value: UInt32, _ offset: Int) {
            for index in 0..<4 {
                bytes[1 + offset + index] = UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32(index)))
            }
        }
        guard bytes.count > 33 else { return }
        let isBigEndian = number(0) & 1 == 1
        put(0x377f_0682 | (isBigEndian ? 1 : 0), 0)
        put(3_007_000, 4)
        var (first, second) = (UInt32(0), UInt32(0))
        func add(_ range: Range<Int>) {
            for offset in stride(from: range.lowerBound, to: range.upperBound - 7, by: 8) {
                let words = (number(offset), number(offset + 4))
                first &+= (isBigEndian ? words.0 : words.0.byteSwapped) &+ second
                second &+= (isBigEndian ? words.1 : words.1.byteSwapped) &+ first
            }
        }
        add(0..<24)
        put(first, 24)
        put(second, 28)
        let pageSize = Int(number(8))
        guard (512...65536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { return }
        var start = 32
        while start + 24 + pageSize < bytes.count {
            for index in 0..<8 { bytes[1 + start + 8 + index] = bytes[1 + 16 + index] }
            add(start..<start + 8)
            add(start + 24..<start + 24 + pageSize)
            put(first, start + 16)
            put(second, start + 20)
            start += 24 + pageSize
        }
    }

    // MARK: Databases

    static let schemas: [[UInt8]] = [
        """
        CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB); INSERT INTO t VALUES (1, 'x', x'00ff');
        CREATE INDEX i ON t(a, length(b)); CREATE VIEW v AS SELECT * FROM t;
        """,
        """
        CREATE TABLE t(a TEXT PRIMARY KEY COLLATE NOCASE, g AS (a || 'x'), s AS (length(a)) STORED) WITHOUT ROWID;
        INSERT INTO t(a) VALUES ('q'); PRAGMA user_version = 7;
        """,
        """
        CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('one two');
        CREATE VIRTUAL TABLE r USING rtree(id, x0, x1); INSERT INTO r VALUES (1, 2, 3);
        """,
        """
        CREATE TABLE p(id INTEGER PRIMARY KEY AUTOINCREMENT, u UNIQUE, c CHECK (c > 0) DEFAULT 1);
        CREATE TABLE q(p REFERENCES p(id), rowid, oid, "a b"); INSERT INTO p(u) VALUES (1), (NULL);
        CREATE TRIGGER t AFTER INSERT ON p BEGIN INSERT INTO q VALUES (1, 2, 3, 4); END;
        INSERT INTO p(u) VALUES ('é'), (1e999);
        """,
        """
        CREATE VIEW v AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c;
        CREATE TABLE t(a, b, PRIMARY KEY (a, b)); INSERT INTO t VALUES (NULL, 1), (2.5, '2.5'); ANALYZE;
        """,
    ].map { Array($0.utf8) }

    /// Returns the index of a WAL with a number of committed frames, none of which a checkpoint has taken.
    static func index(of log: [UInt8], frames: Int) -> [UInt8] {
        func bytes(_ number: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(number)) { Array($0) } }
        var header = bytes(3_007_000) + bytes(0) + bytes(0) + bytes(1) + bytes(frames)
        header += bytes(0) + bytes(0) + bytes(0) + log.dropFirst(16).prefix(8)
        header += [UInt8](repeating: 0, count: 48 - header.count)
        return header + header + [UInt8](repeating: 0, count: 40)
    }

    private static let madeDatabases = Result { try schemas.map(makeDatabase) + [try store().committed] }

    static func databases() throws -> [[UInt8]] { try madeDatabases.get() }

    private static func makeDatabase(_ sql: [UInt8]) throws -> [UInt8] {
        let directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-seeds-")
        defer { try? FileSystem.remove(directory) }
        let path = Path.join(directory, "a.sqlite")
        do {
            let connection = try Connection(path: path, mode: .create)
            try connection.execute("PRAGMA page_size = 512")
            try connection.execute(String(decoding: sql, as: UTF8.self))
        }
        return try FileSystem.contents(ofFile: path)
    }

    // MARK: Archives

    struct Entry {
        var name: String
        var bytes: [UInt8]
    }

    /// The entries of a bundle, starting with the metadata.
    static func entries(described description: [UInt8]? = nil) throws -> [Entry] {
        let store = try store()
        return [
            Entry(name: "metadata.json", bytes: description ?? Array(Self.description.utf8)),
            Entry(name: "stores/ledger.sqlite", bytes: try databases()[1]),
            Entry(name: "stores/ledger.committed.sqlite", bytes: store.committed),
            Entry(name: "history/ledger.wal-history", bytes: store.history),
            Entry(name: "statements/ledger.jsonl", bytes: Array(log.utf8)),
            Entry(name: "attachments/request.txt", bytes: Array("GET /\n".utf8)),
        ]
    }

    /// Writes an archive, replacing an existing one.
    static func write(_ entries: [Entry], to path: String, level: Int = 1) throws -> String {
        try? FileSystem.remove(path)
        var writer = try ZipWriter(creating: path, level: level)
        for entry in entries {
            try writer.addEntry(
                named: entry.name, bytes: entry.bytes, modified: Timestamp(seconds: 1_700_000_000))
        }
        try writer.finish()
        return path
    }

    private static func bytes(of entries: [Entry], level: Int) throws -> [UInt8] {
        let directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-seeds-")
        defer { try? FileSystem.remove(directory) }
        return try FileSystem.contents(
            ofFile: try write(entries, to: Path.join(directory, "a.zip"), level: level))
    }

    static func bundles() throws -> [[UInt8]] {
        let bundle = try bytes(of: entries(), level: 6)
        let sharing = try bytes(of: entries(described: try sharingDescription()), level: 6)
        return [
            bundle, try bytes(of: entries(), level: 0),
            try bytes(of: [Entry(name: "inner.zip", bytes: bundle)], level: 0),
            sharing,
        ]
    }

    /// The metadata of a bundle of format 1.0 that leaves two stores to another bundle.
    private static func sharingDescription() throws -> [UInt8] {
        let shared = ["stores/shared.sqlite", "stores/shared.committed.sqlite"].map { entry in
            BundleMetadata.SharedEntry(
                entry: entry, bundle: "other.zip", bundleEntry: "stores/ledger.sqlite", bytes: 8192,
                crc32: "0123abcd")
        }
        let json = Array(description.utf8)
        var metadata = try BundleMetadata(json: json, of: "a.zip")
        var store = metadata.stores[0]
        store.name = "shared"
        (store.entry, store.committedEntry) = (shared[0].entry, shared[1].entry)
        metadata.stores.append(store)
        metadata.sharedEntries = shared
        return metadata.json()
    }

    static func archives() throws -> [[UInt8]] {
        let small = [
            Entry(name: "a/b.txt", bytes: Array("one one one one one one one one".utf8)),
            Entry(name: "é", bytes: []), Entry(name: "c.zip", bytes: [0x50, 0x4b]),
        ]
        return [
            try bytes(of: small, level: 9), try bytes(of: small, level: 0), try bytes(of: [], level: 1),
        ] + [try bundles()[2]]
    }

    // MARK: Texts

    static func descriptions() throws -> [[UInt8]] {
        [Array(description.utf8), try sharingDescription()]
    }

    static func statements() throws -> [[UInt8]] { [Array(log.utf8)] }

    /// One run with other statements, and two of the same code.
    static func baselines() throws -> [[UInt8]] {
        func run(_ facts: String, _ log: String) -> String {
            "{\"baseline\":{\"at\":\"2026-11-21T07:00:00.000000Z\"\(facts)}}\n" + log
        }
        let other = log.replacing("= 5", with: "= ?").replacing(
            "\"changes\":1", with: "\"changes\":0,\"values\":[7]")
        let common = ",\"common\":[\"UPDATE account SET balance = ? WHERE id = ?\"]"
        return [
            run(common, other),
            run(",\"commit\":\"0123abcd\"", other) + run(",\"sameBuild\":true", log),
        ].map { Array($0.utf8) }
    }

    private static let description = """
        {"formatVersion": "1.0", "test": {"framework": "XCTest", "suite": "LedgerTests", "name": "testTransfer",
        "arguments": ["1"], "attempt": 1}, "outcome": "failed", "fingerprint": "0123456789abcdef",
        "failures": [{"message": "XCTAssertEqual failed: (\\"90\\") is not equal to (\\"100\\") - gone",
        "file": "Tests/LedgerTests.swift", "line": 42, "kind": "assertion", "at": "2026-11-21T07:08:09.120Z"}],
        "stores": [{"name": "ledger", "entry": "stores/ledger.sqlite",
        "committedEntry": "stores/ledger.committed.sqlite", "originalPath": "/tmp/ledger.sqlite",
        "storage": "file", "journalMode": "wal", "transactionOpen": true,
        "statements": {"entry": "statements/ledger.jsonl", "count": 4},
        "capture": {"method": "serialize", "consistent": true, "duration": 0.01, "checkpoint": "none",
        "originalCheckpoint": {"busy": false, "log": 4, "checkpointed": 4}},
        "bytes": {"original": 4096, "wal": 12392, "copy": 8192}, "pageSize": 4096, "pageCount": 2,
        "freePageCount": 0, "userVersion": 3, "applicationID": 0, "integrity": "ok",
        "schema": [{"type": "table", "name": "account", "table": "account", "sql": "CREATE TABLE account(id)"}],
        "tables": [{"name": "account", "rows": 3, "exact": true}],
        "history": {"entry": "history/ledger.wal-history", "transactions": 3, "bytes": 9000}},
        {"name": "vanished", "storage": "temporary", "capture": {"method": "described", "consistent": false,
        "duration": 0, "checkpoint": "none", "reason": "It was removed."}, "bytes": {}}],
        "snapshots": [{"label": "failure-2", "at": "2026-11-21T07:08:09.120Z", "stores": []}],
        "attachments": [{"name": "request", "entry": "attachments/request.txt", "bytes": 6}],
        "environment": {"operatingSystem": "Debian 12", "architecture": "x86_64", "swift": "6.3",
        "sqlite": "3.40.1", "processID": 42, "ci": {"service": "GitHub Actions", "variables":
        {"GITHUB_SERVER_URL": "https://github.com", "GITHUB_REPOSITORY": "a/b", "GITHUB_SHA": "0123abcd"}}},
        "capture": {"at": "2026-11-21T07:08:09.123Z", "duration": 0.02, "limitsHit": ["A"]},
        "warnings": ["The store 'vanished' was not copied."]}
        """

    private static let log = [
        "BEGIN", "UPDATE account SET balance = 5 WHERE id = 1", "COMMIT",
        "SAVEPOINT s; INSERT INTO \\\"entry\\\" VALUES (1, 'x') -- note",
    ].enumerated().map { index, sql in
        "{\"at\":\"2026-11-21T07:08:09.\(100 + index)Z\",\"changes\":1,\"connection\":1,\"duration\":0.1,"
            + "\"error\":{\"code\":19,\"message\":\"m\"},"
            + "\"order\":\(index + 1),\"phase\":\"test\",\"sql\":\"\(sql)\",\"thread\":\"7f\"}\n"
    }.joined()
}
