import Testing

@testable import FailureArtifactsAnalysis

@Suite struct StatementOutlineTests {
    @Test(arguments: [
        ("insert or ignore into \\\"T\\\"(a) values (1)", "t"), ("REPLACE INTO main.t VALUES (1)", "t"),
        ("/* x */ -- y\\n UPDATE OR IGNORE [my t] SET a = 1", "my t"), ("DELETE FROM `t` WHERE 1", "t"),
        ("WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", nil), ("INSERT", nil), ("/*", nil),
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
    ])
    func aStatementOnAnotherDatabaseThanTheAttachedOne(sql: String, isElsewhere: Bool) {
        let vault = AttachedDatabase(name: "vault", tables: ["old"])
        #expect(StatementOutline(sql, attached: vault).isElsewhere == isElsewhere)
        #expect(
            vault.opened(#"SELECT "vault".old.a, b FROM Vault.old -- vault.old"#)
                == "SELECT old.a, b FROM old -- vault.old")
    }
}
