import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis

/// The variants of a query, each of which is the only one with the expected result.
@Suite struct QueryVariantsTests {
    private static let schema = """
        CREATE TABLE task(id INTEGER PRIMARY KEY, owner TEXT, list INTEGER, oldListID INTEGER REFERENCES list,
            minutes INTEGER, due TEXT, code TEXT, done INTEGER);
        CREATE TABLE list(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE tag(name TEXT, taskID INTEGER, hidden INTEGER);
        INSERT INTO list VALUES (1, 'home'), (2, 'Work');
        INSERT INTO task VALUES (1, 'ann', 1, 2, 30, '2026-03-01 08:00', '9', 0),
            (2, 'Ann', 1, 2, 45, '2026-03-02 09:00', '10', 1), (3, 'ben', NULL, 1, NULL, '2026-03-03 10:00', '8', 0),
            (4, 'cleo', 2, 2, 60, '2026-03-03 11:00', '100', 1), (5, 'a_b', 2, 1, 30, '2026-03-04', '70', 0);
        INSERT INTO tag VALUES ('big', 1, 0), ('red', 1, 0), ('red', 4, 1), ('new', 5, 0), ('old', 5, 0)
        """

    /// Returns the variants of a query whose first value is the expected one, and checks that the query's own one isn't.
    private func variants(
        of sql: String, _ values: [Value] = [], giving expected: String, terms: [String: [String]] = [:]
    ) throws -> [QueryVariants.Variant] {
        let fixture = try Fixture()
        let connection = try Connection(path: fixture.directory + "/v.sqlite", mode: .create)
        try connection.execute(Self.schema)
        let schema = try DatabaseSchema("main", of: connection)
        let context = QueryVariants.Context(
            tables: schema.tables, references: try Reference.all(in: schema, of: connection),
            terms: terms)
        let operand = FailureMessage.Operand(expected)
        func isExpected(_ sql: String) throws -> Bool {
            guard let result = try QueryResult.of(sql, values, on: connection) else { return false }
            return !ResultPart.all(giving: operand, in: result).filter { part in
                ![.list(0, isOrdered: false), .properties(isOrdered: false)].contains(part)
            }.isEmpty
        }
        #expect(try !isExpected(sql))
        // Some variants have no meaning.
        return QueryVariants(of: sql, in: context).all.filter { (try? isExpected($0.sql)) ?? false }
    }

    @Test(arguments: [
        ("SELECT count(*) FROM task WHERE minutes > 45", "2", "with >= in place of >"),
        ("SELECT 45 / 2", "22.5", "with * 1.0 / in place of /"),
        ("SELECT count(*) FROM task WHERE owner = 'ann'", "2", "without regard to case"),
        ("SELECT count(*) FROM task WHERE list <> 1", "3", "with IS NOT in place of <>"),
        (
            "SELECT count(*) FROM task WHERE due BETWEEN '2026-03-01' AND '2026-03-03'", "4",
            "with the day of due"
        ),
        (
            "SELECT count(*) FROM task WHERE minutes BETWEEN 30 AND 60", "3",
            "with (minutes >= 30 AND minutes < 60) in place of minutes BETWEEN 30 AND 60"
        ),
        (
            "SELECT count(*) FROM list WHERE id NOT IN (SELECT list FROM task WHERE id < 4)", "1",
            "without NULL in the list of NOT IN"
        ),
        (
            "SELECT count(*) FROM (SELECT list FROM task UNION SELECT 9)", "6",
            "with UNION ALL in place of UNION"
        ),
        ("SELECT count(*) FROM task WHERE done = 0 AND list = 1 OR list = 2", "2", "with parentheses"),
        (
            "SELECT owner FROM task WHERE owner LIKE 'a_%'", "[\"a_b\"]",
            "with ESCAPE for the characters % and _ in 'a_%'"
        ),
    ])
    func anOperator(sql: String, expected: String, text: String) throws {
        let found = try variants(of: sql, giving: expected)
        #expect(found.contains { $0.text.hasPrefix(text) }, "\(found.map(\.text))")
    }

    @Test(arguments: [
        (
            "SELECT count(*) FROM task JOIN list ON list.id = task.list", "5",
            "with LEFT JOIN in place of JOIN"
        ),
        (
            "SELECT sum(minutes) FROM task LEFT JOIN tag ON tag.taskID = task.id", "165",
            "with each row of task counted once"
        ),
        (
            "SELECT count(*) FROM task t LEFT JOIN tag ON tag.taskID = t.id", "5",
            "with each row of task counted once"
        ),
        (
            "SELECT coalesce(sum(minutes), 0) FROM task LEFT JOIN tag ON tag.taskID = task.id", "165",
            "with each row of task counted once"
        ),
        (
            "SELECT coalesce(sum(t.minutes), 0) * 100 + sum(l.id) FROM list l "
                + "LEFT JOIN (task t LEFT JOIN tag g ON g.taskID = t.id) ON t.list = l.id", "16503",
            "with each row of list and task counted once"
        ),
        (
            "SELECT sum(minutes) FROM task JOIN list ON list.id = task.list WHERE list.name = 'Work'",
            "135",
            "with task.oldListID in place of task.list"
        ),
        (
            "SELECT t.owner FROM task t JOIN tag ON tag.taskID = t.id WHERE t.id < 4", "[\"ann\"]",
            "with DISTINCT"
        ),
        (
            "SELECT count(DISTINCT task.id) FROM task LEFT JOIN tag g ON g.taskID = task.id WHERE g.hidden = 0 AND minutes >= 30",
            "4", "with g.hidden = 0 in ON in place of WHERE"
        ),
    ])
    func aJoin(sql: String, expected: String, text: String) throws {
        let found = try variants(of: sql, giving: expected)
        #expect(found.contains { $0.text.hasPrefix(text) }, "\(found.map(\.text))")
    }

    @Test(arguments: [
        (
            "SELECT owner FROM task ORDER BY code LIMIT 2", #"["ben", "ann"]"#,
            "with CAST(code AS REAL) in place of code"
        ),
        ("SELECT name FROM list ORDER BY id", #"["Work", "home"]"#, "with id DESC in place of id"),
        (
            "SELECT owner FROM task WHERE id < 3 ORDER BY owner, id", #"["ann", "Ann"]"#,
            "with owner COLLATE NOCASE in place of owner"
        ),
        ("SELECT owner FROM task t ORDER BY id LIMIT 1", "a_b", "with ORDER BY t.due DESC"),
        (
            "SELECT owner FROM task WHERE minutes > 30", #"["cleo", "Ann"]"#,
            "with ORDER BY task.minutes DESC"
        ),
        (
            "SELECT owner FROM task ORDER BY id LIMIT 2 OFFSET 2", #"["ann", "Ann"]"#,
            "with the page before it"
        ),
        (
            "SELECT owner FROM task ORDER BY id LIMIT 2 OFFSET 0", #"["ben", "cleo"]"#,
            "with the page after it"
        ),
    ])
    func anOrder(sql: String, expected: String, text: String) throws {
        let found = try variants(of: sql, giving: expected)
        #expect(found.contains { $0.text.hasPrefix(text) }, "\(found.map(\.text))")
    }

    @Test(arguments: ["task", "task AS t", "main.task"]) func aTermOfOtherQueries(table: String) throws {
        let found = try variants(
            of: "SELECT sum(minutes) FROM \(table)", giving: "105", terms: ["task": ["done = 1"]])
        #expect(found.map(\.text) == ["with done = 1 for task, as another query of the test has it"])
    }

    @Test func variantsKeepTheParameters() throws {
        let sql =
            "SELECT count(*) FROM task LEFT JOIN tag ON tag.taskID = task.id AND name <> ? WHERE owner = ? AND "
            + "tag.hidden = ? AND minutes BETWEEN ? AND ?"
        // The parameter of the moved term keeps its value.
        let found = try variants(
            of: sql, [.text("big"), .text("cleo"), .integer(0), .integer(1), .integer(90)], giving: "1")
        #expect(found.contains { $0.text == "with tag.hidden = ? in ON in place of WHERE" }, "\(found)")
    }
}
