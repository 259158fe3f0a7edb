internal import FailureArtifactsAnalysis
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip
internal import Foundation
internal import Testing

/// A temporary directory for bundles, removed at the end of the test.
package struct Fixture: ~Copyable {
    package let directory: String

    package init() throws {
        directory = try FileSystem.createUniqueDirectory(in: "/tmp", prefix: "fa-commands-tests-")
    }

    deinit {
        try? FileSystem.remove(directory)
    }

    /// Returns the path of a file in the directory.
    package func path(_ name: String) -> String { Path.join(directory, name) }

    /// Writes a file and creates its parent directories.
    @discardableResult
    package func write(_ bytes: [UInt8], to name: String) throws -> String {
        let path = path(name)
        try FileSystem.createDirectory(Path.directory(of: path))
        try FileSystem.write(bytes, toNewFile: path)
        return path
    }

    /// The stores that were made, by their statements.
    private static let stores = Lock<[String: [UInt8]]>([:])

    /// Returns the bytes of the store that some statements make.
    package func store(_ sql: String) throws -> [UInt8] {
        if let made = Self.stores.withLock({ $0[sql] }) { return made }
        let path = path("made-\(UInt32.random(in: 0 ... .max)).sqlite")
        defer { try? FileSystem.remove(path) }
        try Connection(path: path, mode: .create).execute("PRAGMA synchronous = off; \(sql)")
        let made = try FileSystem.contents(ofFile: path)
        Self.stores.withLock { $0[sql] = made }
        return made
    }

    /// Writes a zip with this package's writer.
    @discardableResult
    package func zip(_ name: String, _ entries: [(String, [UInt8])]) throws -> String {
        let path = path(name)
        try FileSystem.createDirectory(Path.directory(of: path))
        var writer = try ZipWriter(creating: path)
        for (name, bytes) in entries {
            try writer.addEntry(named: name, bytes: bytes, modified: Timestamp(seconds: 1_700_000_000))
        }
        try writer.finish()
        return path
    }

    /// Writes a zip with Python's `zipfile`.
    ///
    /// The entries are files in this directory.
    @discardableResult
    package func pythonZip(_ name: String, stored: Bool, _ files: [(entry: String, file: String)]) throws
        -> String
    {
        let program = """
            import sys, zipfile
            kind = zipfile.ZIP_STORED if sys.argv[2] == "stored" else zipfile.ZIP_DEFLATED
            with zipfile.ZipFile(sys.argv[1], "w", kind) as archive:
                for pair in zip(sys.argv[3::2], sys.argv[4::2]):
                    archive.write(pair[1], pair[0])
            """
        let arguments = files.flatMap { [$0.entry, path($0.file)] }
        let made = try Program.run(
            "/usr/bin/env",
            ["python3", "-c", program, path(name), stored ? "stored" : "deflated"] + arguments)
        try #require(made.status == 0, "\(made.error)")
        return path(name)
    }

    /// Writes the ledger's bundle, as a failing test would leave it.
    @discardableResult
    package func ledger(_ name: String = "LedgerTests.testTransfer-1a2b3c4d.zip") throws -> String {
        try zip(
            name,
            [
                ("metadata.json", Array(Metadata.ledger.utf8)),
                ("stores/ledger.sqlite", try store(Metadata.ledgerSQL)),
                (
                    "stores/ledger.committed.sqlite",
                    try store("CREATE TABLE account(id INTEGER PRIMARY KEY)")
                ),
                ("attachments/request.txt", Array("GET /\n".utf8)),
                ("README.txt", Array("Read me.\n".utf8)),
            ])
    }

    /// Writes the bundle of a store without a history.
    ///
    /// `log` has statements, each with the number of rows that SQLite counted. `facts` has more keys of a statement, as JSON,
    /// by the statement's index. By default, it ran on the first connection and thread, in the test, and its line in the file
    /// `Sources/A.swift` is its number. `store` and `statements` have more keys of the store and of its log.
    package func bundleWithoutHistory(
        _ sql: String, log: [(sql: String, changes: Int?)], facts: [Int: String] = [:],
        store: String? = nil, statements: String? = nil, message: String
    ) throws -> String {
        let lines = try log.enumerated().map { index, statement in
            var keys = [
                "\"at\": \"2026-11-21T07:08:09.\(100 + index)Z\"", "\"order\": \(index + 1)",
                "\"sql\": \(try JSONText.line(statement.sql))",
            ]
            if let changes = statement.changes { keys.append("\"changes\": \(changes)") }
            let more = facts[index] ?? ""
            if !more.isEmpty { keys.append(more) }
            let defaults = [
                "connection": "1", "thread": "\"7f\"", "phase": "\"test\"",
                "source": "{\"file\": \"Sources/A.swift\", \"line\": \(index + 1)}",
            ]
            keys += defaults.filter { !more.contains("\"\($0.key)\"") }.map {
                "\"\($0.key)\": \($0.value)"
            }
            return "{\(keys.joined(separator: ", "))}\n"
        }
        let described = [
            "\"entry\": \"statements/ledger.jsonl\"", "\"count\": \(log.count)", statements,
        ]
        let keys = [
            "\"bytes\": {}", "\"statements\": {\(described.compactMap(\.self).joined(separator: ", "))}",
            store,
        ]
        let metadata = Metadata.store("ledger").replacing(
            "\"message\": \"m\"", with: "\"message\": \(try JSONText.line(message))"
        )
        .replacing("\"bytes\": {}", with: keys.compactMap(\.self).joined(separator: ", "))
        return try zip(
            "LedgerTests.test-1a2b3c4d.zip",
            [
                ("metadata.json", Array(metadata.utf8)), ("stores/ledger.sqlite", try self.store(sql)),
                ("statements/ledger.jsonl", Array(lines.joined().utf8)),
            ])
    }

    /// Writes a bundle without stores.
    @discardableResult
    package func plain(
        _ name: String, test: String = "testPlain", message: String = "XCTAssertTrue failed"
    ) throws -> String {
        try zip(name, [("metadata.json", Array(Metadata.plain(test: test, message: message).utf8))])
    }
}

/// Metadata as literal JSON, so that the tests of the reader don't depend on the writer.
package enum Metadata {
    package static let ledgerSQL = """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name TEXT NOT NULL, balance INTEGER);
        INSERT INTO account VALUES (1, 'チェッキング', 90), (2, 'Savings, "old"', NULL), (3, '', -5);
        CREATE VIEW rich AS SELECT * FROM account WHERE balance > 50;
        """

    package static let environment = """
        {"operatingSystem": "Debian 12", "architecture": "x86_64", "swift": "6.3.1", "sqlite": "3.40.1",
         "processID": 42,
         "ci": {"service": "GitHub Actions", "variables": {"GITHUB_RUN_ID": "7", "GITHUB_JOB": "test"}}}
        """

    package static let capture = """
        {"at": "2026-11-21T07:08:09.123Z", "duration": 0.02, "limitsHit": []}
        """

    package static let ledger = """
        {"formatVersion": "1.0", "addedLater": {"x": [1]},
         "test": {"framework": "XCTest", "suite": "LedgerTests", "name": "testTransfer", "attempt": 1},
         "outcome": "failed", "fingerprint": "0123456789abcdef",
         "failures": [
           {"message": "XCTAssertEqual failed: (\\"90\\") is not equal to (\\"100\\") - the money is gone",
            "file": "Tests/LedgerTests.swift", "line": 42, "kind": "assertion",
            "at": "2026-11-21T07:08:09.120Z"}],
         "stores": [
           {"name": "ledger", "entry": "stores/ledger.sqlite",
            "committedEntry": "stores/ledger.committed.sqlite", "originalPath": "/tmp/ledger.sqlite",
            "storage": "file", "journalMode": "wal", "transactionOpen": true,
            "capture": {"method": "serialize", "consistent": true, "duration": 0.01, "checkpoint": "none"},
            "bytes": {"original": 4096, "wal": 12392, "copy": 8192}, "pageSize": 4096, "pageCount": 2,
            "freePageCount": 0, "userVersion": 3, "applicationID": 0, "integrity": "ok",
            "tables": [{"name": "account", "rows": 3, "exact": true}]},
           {"name": "vanished", "storage": "file", "originalPath": "/tmp/vanished.sqlite",
            "capture": {"method": "described", "consistent": false, "duration": 0, "checkpoint": "none",
                        "reason": "The file was removed before the failure."},
            "bytes": {}}],
         "attachments": [{"name": "request", "entry": "attachments/request.txt", "bytes": 6}],
         "environment": \(environment), "capture": \(capture),
         "warnings": ["The store 'vanished' was not copied."]}
        """

    /// The best finding about the ledger's bundle, without its store.
    package static let ledgerFinding =
        "The open transaction changed a value that the message names, in account"

    package static func plain(test: String, message: String, version: String = "\"1.0\"") -> String {
        """
        {"formatVersion": \(version),
         "test": {"framework": "XCTest", "suite": "PlainTests", "name": "\(test)", "attempt": 1},
         "outcome": "failed", "fingerprint": "0",
         "failures": [{"message": "\(message)", "kind": "assertion", "at": "2026-11-21T07:08:09.120Z"}],
         "stores": [], "attachments": [], "environment": \(environment), "capture": \(capture),
         "warnings": []}
        """
    }

    /// Returns metadata with one store, `stores/<name>.sqlite`.
    package static func store(_ name: String) -> String {
        plain(test: "testStore", message: "m").replacing(
            "\"stores\": []",
            with: """
                "stores": [{"name": "\(name)", "entry": "stores/\(name).sqlite", "storage": "memory",
                "capture": {"method": "serialize", "consistent": true, "duration": 0, "checkpoint": "none"},
                "bytes": {}}]
                """)
    }
}
