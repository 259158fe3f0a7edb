internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Testing

extension Fixture {
    /// Writes the bundle of a store in WAL mode, with the history that a capture would record.
    ///
    /// Each of `transactions` runs between `BEGIN` and `COMMIT`. `log` contains statements and the number of rows each
    /// one changed. The bundle of a test that `passed` lies beside the failing one. `facts` has more keys of a statement,
    /// as JSON, by the statement's index. Without `connection` and `thread`, it ran on the first connection and thread.
    /// The failure is in line 8 of `file`, and `root` is the package root. `copies` names further stores with the same content. The history of
    /// a store that `isClosed` lacks the oldest transaction, as after a checkpoint. The copy was made by `method`. `historyFacts` has more keys
    /// of the history's description, and `statementFacts` of the log's. `tests` is the list of the process's tests, as JSON.
    @discardableResult
    package func walBundle(
        _ transactions: [String] = Self.transactions, base: String = Self.base,
        uncommitted: String? = nil,
        log: [(sql: String, changes: Int?)]? = nil, facts: [Int: String] = [:],
        missing: Bool = false, passed: Bool = false, message: String? = nil, file: String? = nil,
        root: String? = nil,
        copies: [String] = [], isClosed: Bool = false, method: String = "serialize",
        historyFacts: String = "", statementFacts: String = "", tests: String? = nil
    ) throws -> String {
        let live = path("live-\(UInt32.random(in: 0 ... .max)).sqlite")
        let connection = try Connection(path: live, mode: .create)
        try connection.execute(
            "PRAGMA synchronous = off; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; \(base);"
                + "PRAGMA wal_checkpoint(TRUNCATE)")
        for statements in transactions { try connection.execute("BEGIN; \(statements); COMMIT") }

        let history = live + ".wal-history"
        let committed = live + ".committed"
        let pages = try connection.integer(of: "PRAGMA page_count")
        func record(maximumBytes: UInt64) throws -> WALHistory.Summary {
            try WALHistory(maximumBytes: maximumBytes).record(
                database: try File(sharing: live), wal: try File(sharing: live + "-wal"),
                index: WriteAheadLogIndex(ofFile: live + "-shm"), committedPages: UInt64(pages),
                to: history)
        }
        var summary = try record(maximumBytes: 1 << 30)
        if isClosed {
            try FileSystem.remove(history)
            summary = try record(maximumBytes: summary.bytes - 1)
            summary.reason =
                "The oldest of the WAL's \(transactions.count) transactions is left out: a checkpoint has written "
                + "over what the database held before."
        }
        try FileSystem.copy(live, toNewFile: committed)
        try FileSystem.copy(live + "-wal", toNewFile: committed + "-wal")
        try Connection(path: committed, mode: .readWrite).execute(
            "PRAGMA synchronous = off; PRAGMA journal_mode = delete")
        var entries = [("stores/ledger.sqlite", try FileSystem.contents(ofFile: committed))]
        if let uncommitted {
            try Connection(path: committed, mode: .readWrite).execute(uncommitted)
            entries = [
                ("stores/ledger.sqlite", try FileSystem.contents(ofFile: committed)),
                ("stores/ledger.committed.sqlite", entries[0].1),
            ]
        }
        if let log {
            let lines = log.enumerated().map { index, statement in
                "{\"at\":\"2026-11-21T07:08:09.\(100 + index)Z\","
                    + (statement.changes.map { "\"changes\":\($0)," } ?? "")
                    + (facts[index]?.contains("connection") == true ? "" : "\"connection\":1,")
                    + "\"order\":\(index + 1),"
                    + (facts[index]?.contains("phase") == true ? "" : "\"phase\":\"test\",")
                    + (facts[index].map { $0 + "," } ?? "")
                    + (facts[index]?.contains("thread") == true ? "" : "\"thread\":\"7f\",")
                    + "\"sql\":\"\(statement.sql)\"}\n"
            }
            entries.append(("statements/ledger.jsonl", Array(lines.joined().utf8)))
        }
        entries.append(("history/ledger.wal-history", try FileSystem.contents(ofFile: history)))
        var metadata = Metadata.store("ledger").replacing(
            "\"bytes\": {}",
            with: """
                "bytes": {}, \(log == nil ? "" : "\"statements\": {\"entry\": \"statements/ledger.jsonl\", \"count\": 1\(statementFacts)\(missing ? ", \"reason\": \"Some are missing.\"" : "")},")
                \(uncommitted == nil ? "" : "\"committedEntry\": \"stores/ledger.committed.sqlite\",")
                "history": {"entry": "history/ledger.wal-history", "transactions": \(summary.transactions),
                "bytes": \(summary.bytes)\(historyFacts)\(summary.reason.map { ", \"reason\": \"\($0)\"" } ?? "")}
                """)
        let start = try #require(metadata.firstRange(of: "\"stores\": [")).upperBound
        let end = try #require(metadata.firstRange(of: "], \"attachments\"")).lowerBound
        let store = String(metadata[start..<end])
        let stores = ([store] + copies.map { store.replacing("ledger", with: $0) }).joined(
            separator: ", ")
        metadata.replaceSubrange(start..<end, with: stores)
        entries += copies.flatMap { name in
            entries.map { ($0.0.replacing("/ledger.", with: "/\(name)."), $0.1) }
        }
        metadata.replace("\"method\": \"serialize\"", with: "\"method\": \"\(method)\"")
        if let message {
            metadata.replace("\"message\": \"m\"", with: "\"message\": \(try JSONText.line(message))")
        }
        if let file {
            metadata.replace("\"kind\":", with: "\"file\": \"\(file)\", \"line\": 8, \"kind\":")
        }
        if let root {
            metadata.replace(
                "{\"formatVersion\"", with: "{\"packageRoot\": \"\(root)\", \"formatVersion\"")
        }
        if let tests {
            metadata.replace("{\"formatVersion\"", with: "{\"tests\": \(tests), \"formatVersion\"")
        }
        let outcome = metadata.replacing("\"outcome\": \"failed\"", with: "\"outcome\": \"passed\"")
        return try zip(
            passed ? "PlainTests.testStore-passed-1a2b3c4d.zip" : "LedgerTests.testWAL-1a2b3c4d.zip",
            [("metadata.json", Array((passed ? outcome : metadata).utf8))] + entries)
    }

    package static var base: String {
        """
        CREATE TABLE account(id INTEGER PRIMARY KEY, name, balance);
        INSERT INTO account VALUES (1, 'a', 10), (2, 'b', 20)
        """
    }

    package static var transactions: [String] {
        [
            "UPDATE account SET balance = 5 WHERE id = 1; INSERT INTO account VALUES (3, 'c', 30)",
            "CREATE TABLE entry(account, amount); INSERT INTO entry VALUES (1, -5), (2, 5); PRAGMA user_version = 4",
            "DELETE FROM account WHERE id > 1; DROP TABLE entry",
        ]
    }
}
