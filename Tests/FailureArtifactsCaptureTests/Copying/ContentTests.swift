import CFailureArtifactsSQLite
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestPrograms
import FailureArtifactsTestStores
import Foundation
import Testing

@testable import FailureArtifactsCapture

/// The content and the file layout of a store: the copy has the same rows, and is sound.
///
/// Each store is made twice by the same statements. One file is captured; the `sqlite3` program reads the other one for
/// comparison.
@Suite struct ContentTests {
    /// A kind of store.
    struct Content: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let schema: String
        /// Returns the statement of one change, chosen by random numbers.
        let change: @Sendable (inout SplitMix) -> String

        init(_ name: String, _ schema: String, _ change: @escaping @Sendable (inout SplitMix) -> String)
        {
            testDescription = name
            self.schema = schema
            self.change = change
        }
    }

    private static func number(_ random: inout SplitMix) -> Int {
        Int.random(in: 0..<300, using: &random)
    }

    /// Inserts, updates and deletes in a table `t(id INTEGER PRIMARY KEY, a)`.
    private static let plainChange: @Sendable (inout SplitMix) -> String = { random in
        let id = number(&random)
        return switch Int.random(in: 0..<4, using: &random) {
        case 0: "DELETE FROM t WHERE id BETWEEN \(id) AND \(id + 10)"
        case 1: "UPDATE t SET a = '\(number(&random))' || a WHERE id % 7 = \(id % 7)"
        default:
            "INSERT OR REPLACE INTO t(id, a) VALUES (\(id), replace(hex(zeroblob(\(number(&random)))), '00', 'x\(id)'))"
        }
    }

    private static func plain(_ name: String, _ pragma: String) -> Content {
        Content(
            name, "\(pragma); CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE INDEX i ON t(a)",
            plainChange)
    }

    static let contents: [Content] = [
        plain("pages of 512 bytes", "PRAGMA page_size = 512"),
        plain("pages of 1,024 bytes", "PRAGMA page_size = 1024"),
        plain("pages of 8,192 bytes", "PRAGMA page_size = 8192"),
        plain("pages of 65,536 bytes", "PRAGMA page_size = 65536"),
        plain("auto_vacuum full", "PRAGMA auto_vacuum = full"),
        Content(
            "auto_vacuum incremental",
            "PRAGMA auto_vacuum = incremental; CREATE TABLE t(id INTEGER PRIMARY KEY, a)"
        ) { random in
            plainChange(&random) + "; PRAGMA incremental_vacuum(\(number(&random) % 5 + 1))"
        },
        plain("UTF-16", "PRAGMA encoding = 'UTF-16le'"),
        Content("without rowid", "CREATE TABLE t(id PRIMARY KEY, a) WITHOUT ROWID", plainChange),
        Content(
            "strict and generated columns",
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, half REAL AS (id / 2.0) STORED,
              long INT AS (length(a)) VIRTUAL) STRICT;
            CREATE INDEX i ON t(long, half)
            """, plainChange),
        Content(
            "triggers and views",
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a); CREATE TABLE log(what, id);
            CREATE VIEW v AS SELECT id, length(a) AS size FROM t;
            CREATE TRIGGER x AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('in', new.id); END;
            CREATE TRIGGER y AFTER DELETE ON t BEGIN INSERT INTO log VALUES ('out', old.id); END;
            CREATE TRIGGER z INSTEAD OF DELETE ON v BEGIN DELETE FROM t WHERE id = old.id; END
            """
        ) { random in
            Bool.random(using: &random)
                ? plainChange(&random) : "DELETE FROM v WHERE size < \(number(&random) % 20)"
        },
        Content("full-text search", "CREATE VIRTUAL TABLE t USING fts5(a)") { random in
            let id = number(&random)
            return Bool.random(using: &random)
                ? "INSERT OR REPLACE INTO t(rowid, a) VALUES (\(id), 'plum pear apple\(id) fig\(number(&random))')"
                : "DELETE FROM t WHERE t MATCH 'apple\(id)'"
        },
        Content("R-Tree", "CREATE VIRTUAL TABLE t USING rtree(id, x0, x1, y0, y1)") { random in
            let (x, y) = (number(&random), number(&random))
            return Bool.random(using: &random)
                ? "INSERT OR REPLACE INTO t VALUES (\(number(&random)), \(x), \(x + 9), \(y), \(y + 5))"
                : "DELETE FROM t WHERE x0 > \(x) AND y1 < \(y % 30)"
        },
    ]

    init() { ConnectionRegistry.shared.install() }

    /// Runs statements in the application's store and in the store for comparison.
    private func run(_ sql: String, in application: ApplicationHandle, and mirror: ApplicationHandle)
        throws
    {
        try application.run(sql)
        try mirror.run(sql)
    }

    private func expectSame(_ copy: String, _ mirror: String, _ seed: UInt64) throws {
        try expectStandalone(copy)
        let dump = try sqlite3Program(mirror, ".dump")
        #expect(dump.count > 100)
        #expect(try sqlite3Program(copy, ".dump") == dump, "seed \(seed)")
    }

    @Test(arguments: contents, ["wal", "delete"])
    func theCopyHasTheSameRows(content: Content, mode: String) throws {
        let seed = UInt64(content.testDescription.utf8.reduce(7) { $0 &* 31 &+ Int($1) } & 0xffff)
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { directory in
            let (path, mirrorPath) = (directory + "/shop.sqlite", directory + "/mirror.sqlite")
            let application = try ApplicationHandle(path)
            let mirror = try ApplicationHandle(mirrorPath)
            try run(content.schema, in: application, and: mirror)
            try application.run("PRAGMA journal_mode = \(mode); PRAGMA synchronous = off")
            try mirror.run("PRAGMA synchronous = off")
            for _ in 0..<120 { try run(content.change(&random), in: application, and: mirror) }

            let outside = try captureUndisturbed(application, path: path, in: directory)
            #expect(outside.isConsistent && outside.warnings.isEmpty && !outside.hasCommittedCopy)
            try expectSame(directory + "/copy.sqlite", mirrorPath, seed)
            try FileSystem.remove(directory + "/copy.sqlite")

            try application.run("BEGIN")
            try mirror.run("BEGIN")
            for _ in 0..<40 { try run(content.change(&random), in: application, and: mirror) }
            let inside = try captureUndisturbed(application, path: path, in: directory)
            #expect(inside.method == .pageCache && inside.isConsistent && inside.warnings.isEmpty)
            // The mirror has not committed yet either.
            try expectSame(directory + "/copy.committed.sqlite", mirrorPath, seed)
            try mirror.run("COMMIT")
            try expectSame(directory + "/copy.sqlite", mirrorPath, seed)
            try application.run("COMMIT")
            #expect(try sqlite3Program(path, ".dump") == sqlite3Program(mirrorPath, ".dump"))
        }
    }

    @Test(arguments: ["wal", "delete"])
    func aThousandTables(mode: String) throws {
        try withStore { application, path, directory in
            let tables = (0..<1000).map { "CREATE TABLE t\($0)(a); INSERT INTO t\($0) VALUES (\($0))" }
            try application.run("PRAGMA journal_mode = \(mode); BEGIN; \(tables.joined(separator: ";"))")

            let inside = capture(try application.store, in: directory)
            #expect(inside.method == .pageCache && inside.hasCommittedCopy)
            let count = "SELECT count(*) FROM sqlite_schema"
            #expect(try copied(directory, count, committed: true) == "0")
            #expect(try copied(directory, count) == "1000")
            try FileSystem.remove(directory + "/copy.sqlite")

            try application.run("COMMIT")
            let outside = capture(try application.store, in: directory)
            #expect(outside.isConsistent && !outside.hasCommittedCopy)
            try expectStandalone(directory + "/copy.sqlite")
            #expect(
                try copied(directory, ".dump") == sqlite3Program(path, ".dump"))
            #expect(try copied(directory, "SELECT a FROM t999") == "999")
        }
    }
}
