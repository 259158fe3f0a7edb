import CSuiteSQLite
import FailureArtifacts
import Foundation
import XCTest

/// Redactions that a test suite configures itself.
final class ConfiguredRedactionTests: XCTestCase {
    private let secret = ProcessInfo.processInfo.environment["SUITE_SECRET"] ?? "no secret"

    override func setUp() {
        CaptureConfiguration.current.redactions = [
            .drop(table: "sessions"), .hash("token"), .leaveOut(attachment: "*.log"), .shortenHomePaths,
        ]
        CaptureConfiguration.current.redactionSalt = "pepper"
        CaptureConfiguration.current.recordsBoundValues = true
    }

    private func makeStore() throws -> OpaquePointer? {
        let handle = try openStore(try freshPath("redacted.sqlite"))
        try execute(
            """
            CREATE TABLE users(name, token); CREATE TABLE sessions(content);
            INSERT INTO users VALUES ('ann', '\(secret)'), ('bob', '\(secret)');
            INSERT INTO sessions VALUES ('\(secret)')
            """, on: handle)
        return handle
    }

    private func insert(_ handle: OpaquePointer?, _ token: String) {
        var statement: OpaquePointer?
        sqlite3_prepare_v2(handle, "INSERT INTO users VALUES ('eve', ?)", -1, &statement, nil)
        sqlite3_bind_text(statement, 1, token, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
        XCTAssertEqual(sqlite3_step(statement), SQLITE_DONE)
        sqlite3_finalize(statement)
    }

    func testSnapshotsStatementsAndAttachments() throws {
        let handle = try makeStore()
        CurrentTest.snapshot("before")
        insert(handle, secret)
        CurrentTest.attach(Data(secret.utf8), named: "server.log")
        CurrentTest.attach(Data("kept".utf8), named: "kept.txt")
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("other.log")
        try Data(secret.utf8).write(to: file)
        CurrentTest.attach(file, named: "renamed")
        XCTFail("planned at \(NSHomeDirectory())/somewhere")
    }

    func testIsKilled() throws {
        let handle = try makeStore()
        insert(handle, secret)
        kill(getpid(), SIGKILL)
        pause()
    }
}

/// Secrets in all places of statements, some of which SQLite can't parse.
final class SecretStatementTests: XCTestCase {
    private let environment = ProcessInfo.processInfo.environment

    /// The statements, with `#` in place of the secret.
    private static let statements = [
        "CREATE TABLE users(name, token)", "CREATE TABLE sessions(content)",
        "CREATE TEMP TABLE copied AS SELECT '#' AS token",
        "INSERT INTO sessions VALUES (CAST('#' AS BLOB))",
        "INSERT INTO users VALUES ('a', '#'), ('b', \"#\"), ('c', CAST('#' AS BLOB))", "SAVEPOINT #",
        "RELEASE #",
        "SELECT token AS #, name AS \"#\", 1 AS [#], 2 AS `#` FROM users AS users_# -- #",
        "/* # */ SELECT 1",
        "WITH #(a) AS (SELECT 1) SELECT a FROM #", "PRAGMA #", "PRAGMA user_key = #",
        "PRAGMA user_key('#')",
        "EXPLAIN PRAGMA user_key = #", "DETACH #", "SELECT name FROM users WHERE token IN (:#, @#, $#)",
        "DELETE FROM users WHERE token GLOB '#'", "UPDATE users SET token = '#' || name RETURNING '#'",
        "INSERT INTO users VALUES ('x' '#')", "INSERT INTO users VALUES ('x' 'mail in \"#\" folder')",
        "INSERT INTO users VALUES ('it's #')", "INSERT INTO users VALUES (#)",
        "INSERT INTO users VALUES ('#",
        "SELECT * FROM users WHERE token = #@example.com", "SELECT # FROM users",
        "SELECT \"#\".[#].`#` FROM users",
        "SELECT RAISE(ABORT, '#')", "SELECT #() FROM users", "INSERT INTO # VALUES (1)",
        "SELECT {#} \\#$#",
        "SELECT json_extract('{#', '$.a')", "SELECT 1 COLLATE #", "# in \"# in \"'#' \" #",
        "PRAGMA key = \"#",
    ]

    private func run(_ sql: String, on stores: [OpaquePointer?]) {
        for store in stores {
            sqlite3_exec(
                store, sql.replacingOccurrences(of: "#", with: environment["SUITE_SECRET"] ?? ""), nil,
                nil, nil)
        }
    }

    func testSecrets() throws {
        var stores: [OpaquePointer?] = []
        for (path, journal) in [(":memory:", "memory"), ("a.sqlite", "wal"), ("b.sqlite", "delete")] {
            stores.append(
                try openStore(path == ":memory:" ? path : try freshPath(path), journal: journal))
        }
        for sql in Self.statements { run(sql, on: stores) }
        if environment["SUITE_RULES"] == "late" {
            CurrentTest.attach(Data((environment["SUITE_SECRET"] ?? "").utf8), named: "early.log")
            CurrentTest.snapshot("early")
            try setRulesBesideStatements()
            for sql in Self.statements.dropFirst(2) { run(sql, on: stores) }
        }
        CurrentTest.snapshot("late")
        if environment["SUITE_END"] == "kill" { kill(getpid(), SIGKILL) }
        XCTFail("planned")
    }

    /// Sets rules while other threads run statements, all of which succeed.
    private func setRulesBesideStatements() throws {
        let wasSet = DispatchSemaphore(value: 0), threads = DispatchGroup(),
            secret = environment["SUITE_SECRET"] ?? ""
        for number in 0..<2 {
            nonisolated(unsafe) let store = try openStore(
                number == 0 ? ":memory:" : try freshPath("c.sqlite"))
            let started = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                threads.enter()
                started.signal()
                while wasSet.wait(timeout: .now()) == .timedOut {
                    try! execute(
                        "INSERT INTO fruit VALUES ('\(secret)' || hex(randomblob(99)))", on: store)
                }
                wasSet.signal()
                threads.leave()
            }
            started.wait()
        }
        CaptureConfiguration.current.redactions = [
            .blank("token"), .blank("name", of: "fruit"), .drop(table: "sessions"),
            .leaveOut(attachment: "*.log"),
        ]
        wasSet.signal()
        threads.wait()
    }
}
