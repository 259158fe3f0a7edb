import FailureArtifactsReading
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct StateChangesTests {
    private func changes(_ old: String, _ new: String) throws -> StateChanges {
        let fixture = try Fixture()
        let before = try fixture.write(try fixture.store(old), to: "old.sqlite")
        let after = try fixture.write(try fixture.store(old + ";" + new), to: "new '2.sqlite")
        return try StateChanges.count(from: before, to: after)
    }

    @Test(arguments: [
        // Tables with a primary key of one column, of several columns, and without a key.
        ("id INTEGER PRIMARY KEY, a", ""), ("a, id TEXT, b DEFAULT 1, PRIMARY KEY (b, id)", ""),
        ("id PRIMARY KEY, a", "WITHOUT ROWID"), ("id, a", ""), ("id, a, rowid", ""),
        ("id, a, rowid, oid", ""),
        ("id INTEGER PRIMARY KEY, a COLLATE NOCASE", ""), ("\"id\", a, \"we \"\"ird\" DEFAULT 0", ""),
    ])
    func rowsAreCounted(columns: String, option: String) throws {
        let result = try changes(
            """
            CREATE TABLE t(\(columns)) \(option);
            INSERT INTO t(id, a) VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd'), (5, 'e');
            CREATE TABLE untouched(x); INSERT INTO untouched VALUES (1)
            """,
            """
            UPDATE t SET a = 'A' WHERE id = 1; UPDATE t SET a = 0 WHERE id = 3; UPDATE t SET a = a;
            DELETE FROM t WHERE id = 2; INSERT INTO t(id, a) VALUES (6, 'f'), (7, 'g'), (8, 'h')
            """)
        #expect(result.tables == [.init(name: "t", inserted: 3, updated: 2, deleted: 1)])
        #expect(result.schema.isEmpty && result.userVersion == nil)
    }

    @Test func theSchemaIsCompared() throws {
        let result = try changes(
            "CREATE TABLE a(x); INSERT INTO a VALUES (1); CREATE TABLE b(x); CREATE VIEW v AS SELECT 1",
            """
            ALTER TABLE a ADD COLUMN y DEFAULT 7; DROP TABLE b; DROP VIEW v; CREATE INDEX i ON a(x);
            CREATE TABLE c(x); INSERT INTO c VALUES (1), (2)
            """)
        #expect(
            result.schema == [
                .init(change: .created, type: "index", name: "i"),
                .init(change: .changed, type: "table", name: "a"),
                .init(change: .dropped, type: "table", name: "b"),
                .init(change: .created, type: "table", name: "c"),
                .init(change: .dropped, type: "view", name: "v"),
            ])
        #expect(result.tables == [.init(name: "c", inserted: 2)])
    }

    @Test func noChangeIsEmpty() throws {
        #expect(try changes("CREATE TABLE t(x)", "").isEmpty && StateChanges().isEmpty)
    }

    /// `Scripts/fuzz` found this with a view that had infinitely many rows.
    @Test(arguments: ["t", "T"]) func theRowsOfAViewAreNotThoseOfATable(view: String) throws {
        let table = "CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (3)"
        let isView = "CREATE VIEW \(view) AS SELECT 1 AS x UNION ALL SELECT 7"
        #expect(try changes(table, "DROP TABLE t; \(isView)").tables == [.init(name: "t", deleted: 3)])
        #expect(try changes(isView, "DROP VIEW t; \(table)").tables == [.init(name: "t", inserted: 3)])
    }

    /// VACUUM may renumber the rowids of a table.
    @Test func rowsWithAPrimaryKeyAreTheSameAfterVacuum() throws {
        let result = try changes(
            """
            CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('a', 1), ('b', 2), ('c', 3);
            DELETE FROM t WHERE k = 'a'
            """, "VACUUM")
        #expect(result == StateChanges())
    }
}

extension StateChanges {
    /// Counts the changes between two files.
    ///
    /// - Parameters:
    ///   - old: The earlier state.
    ///   - new: The later state.
    ///   - pages: The pages that may differ, if known.
    /// - Returns: The changes.
    /// - Throws: An error if a file can't be read.
    static func count(from old: String, to new: String, pages: Set<UInt32>? = nil) throws -> StateChanges
    {
        let comparison = try StoreComparison(
            a: .init(path: old, isPrivate: true), b: .init(path: new, isPrivate: true))
        var trees: ChangedRows.Trees?
        let changed = pages.map { comparison.changedRows(pages: $0, &trees) }
        return try comparison.changes(changed, rowLimit: 0).changes
    }
}
