import FailureArtifactsSQLite
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsBundle

@Suite struct StatementOutlineTests {
    @Test(arguments: [
        ("insert or ignore into \\\"T\\\"(a) values (1)", "t"), ("REPLACE INTO main.t VALUES (1)", "t"),
        ("/* x */ -- y\\n UPDATE OR IGNORE [my t] SET a = 1", "my t"), ("DELETE FROM `t` WHERE 1", "t"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "t"), ("INSERT", nil), ("/*", nil),
        ("'", nil),
    ])
    func theTableIsRead(sql: String, table: String?) {
        let plain = sql.replacing("\\\"", with: "\"").replacing("\\n", with: "\n")
        #expect(StatementOutline(plain).table == table)
    }

    /// The log of an attached store has all statements of its connections.
    @Test(arguments: [
        ("INSERT INTO vault.old VALUES (1)", false), ("UPDATE Vault.old SET a = 1", false),
        ("DELETE FROM old", false), ("DELETE FROM sailing", true), ("DELETE FROM main.old", true),
        ("DELETE FROM boat", true), ("DELETE FROM vault.boat", false),
    ])
    func aStatementOnAnotherDatabaseThanTheAttachedOne(sql: String, isElsewhere: Bool) {
        let vault = AttachedDatabase(name: "vault", tables: ["old", "boat"], hidden: ["boat"])
        #expect(StatementOutline(sql, attached: vault).isElsewhere == isElsewhere)
        #expect(
            vault.opened(#"SELECT "vault".old.a, b FROM Vault.old -- vault.old"#)
                == "SELECT old.a, b FROM old -- vault.old")
    }
    /// A name without a database means a table of the connection's own database if that has one.
    @Test(arguments: [
        ("SELECT 1 FROM vault.boat, old", "SELECT 1 FROM boat, old"), ("SELECT 1 FROM boat", nil),
        ("SELECT 1 FROM vault.boat UNION SELECT 1 FROM main.boat", nil),
        ("SELECT 1 FROM vault.old WHERE a IN (SELECT a FROM boat)", nil),
    ])
    func aQueryOnAnAttachedDatabase(sql: String, local: String?) {
        func record(_ sql: String) -> StatementRecord {
            .init(
                at: "", changes: nil, connection: 1, order: 1, phase: .test, sql: sql, thread: "1")
        }
        let store = BundleMetadata.Store(
            name: "vault", storage: .memory,
            capture: .init(method: "serialize", consistent: true, duration: 0), bytes: .init())
        let found = AttachedDatabase.all(
            store, ["old", "boat"], in: [record("ATTACH ':memory:' AS vault")],
            beside: [(["boat"], [1]), (["old"], [2])])
        #expect(Timeline.Statement(record(sql), attached: found[1]).localSQL == local)
    }

    @Test(arguments: [
        (
            "WITH a AS (SELECT 1) UPDATE task SET b = (SELECT * FROM a)", StatementOutline.Kind.update,
            "task"
        ),
        ("WITH a AS (DELETE) INSERT INTO t SELECT * FROM a", .insert, "t"),
        ("WITH a AS (SELECT 1) REPLACE INTO t SELECT * FROM a", .insert, "t"),
        ("WITH a AS (SELECT 1) SELECT replace('a', 'b', 'c') FROM a", .other, ""),
    ])
    func writesWithTableExpressions(sql: String, kind: StatementOutline.Kind, table: String) {
        let outline = StatementOutline(sql)
        #expect((outline.kind, outline.table ?? "") == (kind, table))
        #expect(outline.isSelect == (kind == .other))
    }
}
