import FailureArtifactsSQLite
import Testing

@testable import FailureArtifactsReading

@Suite struct DefinitionTextTests {
    @Test(arguments: [
        "CREATE TABLE t(a)", "create table t(a /* ; */, b DEFAULT ';', \"c;\", [d;], `e;`)",
        "CREATE VIEW v AS SELECT '--', 'it''s;'", "CREATE INDEX i ON t(a) WHERE a > '/*'",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; SELECT ';'; END",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; /* end */ END",
        "CREATE TABLE trigger_log(a)",
        "CREATE TRIGGER r BEFORE DELETE ON \"end\" BEGIN SELECT CASE WHEN 1 THEN 2 END; END",
    ])
    func aStatementIsKept(_ sql: String) {
        #expect(DefinitionText.statement(sql) == sql + ";")
    }

    @Test func aCommentDoesNotSwallowTheEnd() {
        #expect(DefinitionText.statement("CREATE TABLE t(a) -- x") == "CREATE TABLE t(a) -- x\n;")
    }

    @Test(arguments: [
        "", "-- CREATE", "DROP TABLE t", "; CREATE TABLE t(a)", "CREATE TABLE t(a);",
        "CREATE TABLE t(a);\n.quit",
        "CREATE TABLE t(a); DROP TABLE u", "CREATE TABLE t('", "CREATE TABLE t(\"a)",
        "CREATE TABLE t(a) /* ;",
        "CREATE TABLE t([a)", "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END;\n.shell true",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1; END; DROP TABLE t; END",
        "CREATE TRIGGER r AFTER INSERT ON t BEGIN SELECT 1", "CREATE TABLE \"\u{1B}[31m\"(a)",
        "CREATE TABLE x(trigger); DROP TABLE t; END", "CREATE TABLE trigger(a); DROP TABLE t; END",
    ])
    func anythingElseIsNot(_ sql: String) {
        #expect(DefinitionText.statement(sql) == nil)
    }

    @Test(arguments: [
        ("CREATE VIRTUAL TABLE t USING fts5(a)", "fts5"),
        ("CREATE VIRTUAL TABLE \"using x\" /* using y */ USING\nRTree_i32(a)", "rtree_i32"),
        ("CREATE VIRTUAL TABLE t USING \"csv\"(a)", ""), ("CREATE TABLE t(a)", nil),
    ])
    func theModuleIsFound(_ sql: String, _ module: String?) {
        #expect(VirtualTable("t", definition: sql)?.module == module)
    }
}
