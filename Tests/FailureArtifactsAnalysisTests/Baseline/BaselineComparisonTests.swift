import FailureArtifactsBundle
import FailureArtifactsSQLite
import Testing

@testable import FailureArtifactsAnalysis

/// Comparisons of the statements of two runs.
@Suite struct BaselineComparisonTests {
    /// A run of a few statements at a time of day.
    struct Run {
        var time = "12:00:00"
        var statements: [Statement]

        var baseline: Baseline {
            let at = "2026-11-28T\(time).000000Z"
            return Baseline(
                at: at, commit: nil,
                statements: statements.enumerated().map { index, statement in
                    var record = StatementRecord(
                        at: at, changes: statement.changes, connection: statement.connection,
                        order: UInt64(index + 1), phase: .test, sql: statement.sql, thread: "")
                    record.values = statement.values.map { $0.map { BoundValue($0) } }
                    record.source = statement.function.map {
                        .init(file: "A.swift", function: $0, line: 1)
                    }
                    record.callers = statement.line.map {
                        [.init(file: "Tests/ATests.swift", function: nil, line: $0)]
                    }
                    record.fullScanSteps = statement.steps
                    record.repeated = statement.repeated
                    return record
                })
        }
    }

    struct Statement {
        var sql: String
        var values: [Value]?
        var function: String?
        var connection: UInt64 = 1
        var changes: Int?
        var steps: Int?
        var repeated: Int?
        /// The line of the test that called it.
        var line: Int?

        init(
            _ sql: String, _ values: [Value]? = nil, in function: String? = nil, connection: UInt64 = 1,
            changes: Int? = nil, steps: Int? = nil, repeated: Int? = nil
        ) {
            (self.sql, self.values, self.function, self.connection) = (sql, values, function, connection)
            (self.changes, self.steps, self.repeated) = (changes, steps, repeated)
        }
    }

    private func differences(
        _ own: [Statement], from passing: [[Statement]], times: [String] = [], common: Set<String> = [],
        isOfSameBuild: Bool = false, failedAt line: Int? = nil
    ) -> [String] {
        var runs = ([own] + passing).enumerated().map { index, statements in
            Run(time: times.isEmpty ? "12:00:00" : times[index], statements: statements).baseline
        }
        runs[1].isOfSameBuild = isOfSameBuild
        let comparison = BaselineComparison(
            runs[0], Array(runs.dropFirst()),
            common: Set(common.map { CommonDifference(shape: $0) }),
            failedAt: line.map { .init(file: "Tests/ATests.swift", line: $0) })
        return (comparison?.differences ?? []).map { difference in
            "\(difference.kind) \((difference.failing ?? difference.passing)?.record.sql ?? "")"
                + (difference.times > 1 ? " ×\(difference.times)" : "")
        }
    }

    private static let insert = "INSERT INTO planet VALUES (?, ?)"
    private static let update = "UPDATE planet SET moons = ? WHERE name = ?"
    private static let read = Statement("SELECT * FROM planet WHERE name = ?", [.text("Mars")], steps: 3)
    private static let start = [
        Statement(insert, [.integer(1), .text("Earth")], changes: 1),
        Statement(insert, [.integer(2), .text("Mars")], changes: 1),
    ]

    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let own: [Statement]
        let passing: [Statement]
        let found: [String]

        init(_ title: String, _ own: [Statement], _ passing: [Statement], _ found: [String]) {
            (testDescription, self.own, self.passing, self.found) = (title, own, passing, found)
        }
    }

    private static let wrong = Statement(update, [.integer(97), .text("Mars")], changes: 1)
    private static let right = Statement(update, [.integer(79), .text("Mars")], changes: 1)

    static let cases = [
        Case("no difference", start + [read], start + [read], []),
        Case(
            "spaces and comments", [Statement("SELECT 1")], [Statement("SELECT  -- one\n1")], []),
        Case("a value", start + [wrong, read], start + [right, read], ["values([0]) \(update)"]),
        Case(
            "an unknown value", start + [Statement(update, nil, changes: 1), read],
            start + [right, read],
            []),
        Case(
            "transactions that only read",
            start + [Statement("BEGIN"), read, read, Statement("COMMIT"), Statement("BEGIN"), read],
            start + [read, Statement("BEGIN"), read, Statement("COMMIT"), read], []),
        Case(
            "a transaction that writes",
            [Statement("BEGIN"), read] + start + [Statement("COMMIT"), read],
            [read] + start + [read], ["extra BEGIN", "extra COMMIT"]),
        Case(
            "a text", start + [Statement("SELECT * FROM planet WHERE moons <= 3")],
            start + [Statement("SELECT * FROM planet WHERE moons < 3")],
            ["text SELECT * FROM planet WHERE moons <= 3"]),
        Case(
            "changed rows", start + [Statement(update, right.values, changes: 0), read],
            start + [right, read], ["changes \(update)"]),
        Case(
            "scanned rows", start + [Statement(read.sql, read.values, steps: 4)], start + [read],
            ["scanned \(read.sql)"]),
        Case("a missing statement", start + [read], start + [right, read], ["missing \(update)"]),
        Case("an additional statement", start + [wrong, read], start + [read], ["extra \(update)"]),
        Case(
            "what the passing run did after the failure", start + [read],
            start + [read, right, Statement("DELETE FROM planet"), read], []),
        Case(
            "a moved statement comes after others",
            [wrong] + start + [Statement("DELETE FROM moon"), read],
            start + [wrong, Statement("DELETE FROM moon WHERE id = 1"), read],
            ["text DELETE FROM moon", "moved \(update)"]),
        Case(
            "a loop counts once", Array(repeating: wrong, count: 5) + [read],
            Array(repeating: right, count: 5) + [read], ["values([0]) \(update) ×5"]),
        Case(
            "at the same place, what ran comes first",
            start + [wrong, read], start + [Statement("ANALYZE"), right, read],
            ["values([0]) \(update)", "missing ANALYZE"]),
        Case(
            "reading the schema", start + [Statement("PRAGMA table_info(planet)"), read],
            start + [Statement("SELECT * FROM main.sqlite_master"), read], []),
        Case(
            "the set-up of a pool's further connections",
            [Statement("PRAGMA foreign_keys = ON"), read]
                + (2...4).flatMap {
                    [
                        Statement("PRAGMA foreign_keys = ON", connection: $0),
                        Statement("SELECT 1", connection: $0),
                    ]
                },
            [Statement("PRAGMA foreign_keys = ON"), read]
                + (2...4).map { Statement("SELECT 1", connection: $0) },
            []),
        Case(
            "the set-up of the first connection", [Statement("PRAGMA foreign_keys = OFF"), read],
            [Statement("PRAGMA foreign_keys = ON"), read],
            ["text PRAGMA foreign_keys = OFF"]),
        Case(
            "a setting among others",
            [Statement("PRAGMA cache_size = 9"), Statement("PRAGMA main.synchronous = OFF"), read],
            [Statement("PRAGMA synchronous = FULL"), Statement("PRAGMA foreign_keys = ON"), read],
            [
                "extra PRAGMA cache_size = 9", "text PRAGMA main.synchronous = OFF",
                "missing PRAGMA foreign_keys = ON",
            ]),
        Case(
            "numbers of executions that the log has dropped",
            [Statement(update, right.values, repeated: 40), read],
            [Statement(update, right.values, repeated: 41), read],
            ["count(passing: 41, failing: 40) \(update)"]),
        Case(
            "the log has dropped the values of one run",
            [Statement(update, wrong.values, repeated: 2), read], [right, right, read], []),
    ]

    @Test(arguments: cases) func differencesInOrder(_ example: Case) {
        #expect(differences(example.own, from: [example.passing]) == example.found)
    }

    /// A later statement of the passing run may be more like the failing query than its counterpart.
    @Test(arguments: [8, 9, nil]) func nothingAfterTheFailedAssertionIsMissing(line: Int?) {
        func read(_ name: String, _ line: Int) -> Statement {
            var read = Statement(Self.read.sql, [.text(name)], in: "moons(of:)")
            read.line = line
            return read
        }
        let found = differences(
            Self.start + [read("Earth", 8)],
            from: [Self.start + [read("Mars", 8), Self.right, read("Earth", 9)]],
            failedAt: line)
        #expect(
            found
                == (line == 8
                    ? ["values([0]) \(Self.read.sql)"]
                    : ["missing \(Self.update)", "missing \(Self.read.sql)"]))
    }

    /// The assertion's line runs nothing, and the passing run ends with the query with which the failing one ended.
    @Test func nothingAfterAnAssertionWithoutStatementsIsMissing() {
        func read(_ line: Int) -> Statement {
            var read = Self.read
            read.line = line
            return read
        }
        let found = differences(
            Self.start + [Self.wrong, read(7)],
            from: [Self.start + [Self.right, read(7), Self.wrong, read(9)]],
            failedAt: 8)
        #expect(found == ["values([0]) \(Self.update)"])
    }

    /// The assertion's call ran a query when it passed, and none when it failed.
    @Test func theQueryOfTheFailedAssertionIsMissing() {
        var read = Self.read
        read.line = 8
        let after = Statement("DELETE FROM planet")
        #expect(
            differences(Self.start, from: [Self.start + [read, after]], failedAt: 8)
                == ["missing \(Self.read.sql)"])
        #expect(differences(Self.start, from: [Self.start + [read, after]], failedAt: 9) == [])
    }

    /// Equal statements beside each other belong together by their functions.
    @Test func equalStatementsOfSeveralFunctions() throws {
        let check = Statement(Self.read.sql, in: "check()")
        let find = Statement(Self.read.sql, in: "find()")
        for both in [[find, check], [check, find]] {
            let (long, short) = (Self.start + both + [Self.right], Self.start + [check, Self.right])
            for (own, passing) in [(long, short), (short, long)] {
                let comparison = try #require(
                    BaselineComparison(
                        Run(statements: own).baseline, [Run(statements: passing).baseline], common: []))
                let found = comparison.differences.map { $0.failing ?? $0.passing }
                #expect(found.map { $0?.record.source?.function } == ["find()"])
            }
        }
    }

    /// A missing statement has the line beside its place, and no numbers of the passing run.
    @Test func theRecordOfAMissingStatement() throws {
        var (own, read) = (Self.right, Self.read)
        (own.function, read.function) = ("correct()", "correct()")
        let comparison = try #require(
            BaselineComparison(
                Run(statements: Self.start + [own]).baseline,
                [Run(statements: Self.start + [read, own]).baseline], common: []))
        let record = try #require(comparison.differences.first.flatMap(comparison.record))
        #expect(record.sql == read.sql && record.fullScanSteps == nil && record.changes == nil)
    }

    /// Without a line of the tests, the assertion may have run the query.
    @Test func theQueryWithWhichAPassingRunWentOn() throws {
        func next(_ further: [Statement]) -> String? {
            BaselineComparison(
                Run(statements: Self.start).baseline, [Run(statements: Self.start + further).baseline],
                common: [], failedAt: .init(file: "Tests/ATests.swift", line: 9))?.next?.sql
        }
        var ofTest = Self.read
        ofTest.line = 10
        #expect(next([Self.read, Self.right]) == Self.read.sql)
        #expect(next([ofTest]) == nil && next([Self.right, Self.read]) == nil && next([]) == nil)
    }

    /// A later query may read a table through a view.
    @Test func aTableThatAViewReads() throws {
        let view = Statement("SELECT * FROM bright")
        let comparison = try #require(
            BaselineComparison(
                Run(statements: Self.start + [Self.wrong, view]).baseline,
                [Run(statements: Self.start + [Self.right, view]).baseline], common: [],
                views: ["bright": ["planet"]]))
        #expect(comparison.differences.map(comparison.isReadLater) == [true])
        let other = try #require(
            BaselineComparison(
                Run(statements: Self.start + [Self.wrong, view]).baseline,
                [Run(statements: Self.start + [Self.right, view]).baseline], common: []))
        #expect(other.differences.map(other.isReadLater) == [false])
    }

    /// A statement that both runs have isn't missing, and none that only one has is repeated.
    @Test func whatRanMoreOrLessOften() throws {
        func isRepeated(_ own: [Statement], _ passing: [Statement]) throws -> [Bool] {
            let comparison = try #require(
                BaselineComparison(
                    Run(statements: own).baseline, [Run(statements: passing).baseline], common: []))
            return comparison.differences.map(\.isRepeated)
        }
        #expect(try isRepeated(Self.start + [Self.read, Self.read], Self.start + [Self.read]) == [true])
        #expect(
            try isRepeated(Self.start + [Self.read], Self.start + [Self.read, Self.read, Self.right])
                == [])
        #expect(
            try isRepeated(Self.start + [Self.right, Self.read], Self.start + [Self.read]) == [false])
    }

    /// The tables of a transaction that isn't rolled back, and of a row that an INSERT with a query reads.
    @Test func whatADifferenceIsAbout() throws {
        func comparison(_ own: [Statement], _ passing: [Statement]) throws -> BaselineComparison {
            try #require(
                BaselineComparison(
                    Run(statements: own).baseline, [Run(statements: passing).baseline], common: []))
        }
        let ended = try comparison(
            Self.start + [Self.right, Self.read],
            Self.start + [Statement("BEGIN"), Self.right, Statement("ROLLBACK"), Self.read])
        #expect(ended.differences.map { ended.tables(of: $0) } == [["planet"], ["planet"]])
        let (delete, copy) = (
            Statement("DELETE FROM moon"), Statement("INSERT INTO planet SELECT id, name FROM moon")
        )
        let moved = try comparison([delete, copy], [copy, delete])
        #expect(moved.differences.map { moved.isReadLater($0) } == [true])
        let unread = try comparison([delete, Self.right], [Self.right, delete])
        #expect(unread.differences.map { unread.isReadLater($0) } == [false])
    }

    private static func generated(_ first: String, _ second: String, _ time: String, _ day: String)
        -> [Statement]
    {
        let add = "INSERT INTO note(id, parentID, at, day, text) VALUES (?, ?, ?, ?, ?)"
        func row(_ id: String, _ parent: String) -> Statement {
            Statement(
                add,
                [
                    .text(id), .text(parent), .text("2026-11-28 \(time)"), .text(day),
                    .text("note \(id) at \(time)"),
                ])
        }
        return [row(first, first), row(second, first)]
    }

    private static let uuids = (1...4).map { "6F9619FF-8B86-D011-B42D-00CF4FC9640\($0)" }

    @Test func generatedValues() {
        let passing = Self.generated(Self.uuids[0], Self.uuids[1], "12:00:01", "2026-12-28")
        let own = Self.generated(Self.uuids[2], Self.uuids[3], "12:30:01", "2026-12-28")
        #expect(
            differences(own, from: [passing], times: ["12:30:00", "12:00:00"]).count == 1,
            "text with a time")
        let times = ["12:00:05", "12:00:00"]
        let same = Self.generated(Self.uuids[2], Self.uuids[3], "12:00:01", "2026-12-28")
        #expect(differences(same, from: [passing], times: times) == [])
        var wrong = same
        wrong[1].values?[1] = .text(Self.uuids[3])
        #expect(
            differences(wrong, from: [passing], times: times).map { $0.prefix(11) } == ["values([1])"])
        let late = Self.generated(Self.uuids[2], Self.uuids[3], "12:00:01", "2026-12-29")
        #expect(
            differences(late, from: [passing], times: times).map { $0.prefix(11) } == ["values([3])"])
    }

    /// Rowids of a shared store grow; one that is used only once may be wrong.
    @Test func generatedKeys() {
        func run(_ id: Int64, _ amount: Int64) -> [Statement] {
            (0..<3).map {
                Statement(
                    "UPDATE entry SET amount = ? WHERE id = ?", [.integer(amount + $0), .integer(id)])
            }
        }
        #expect(differences(run(70, 5), from: [run(40, 5)]) == [])
        #expect(differences(run(70, 9), from: [run(40, 5)]).count == 1)
        let once = [run(70, 5)[0]]
        #expect(differences(once, from: [[run(40, 5)[0]]]).count == 1)
    }

    @Test func secondPassingRunMasksWhatDiffersInEveryRun() {
        func run(_ random: Int64, _ moons: Int64, _ hasReading: Bool) -> [Statement] {
            [Statement("INSERT INTO dice VALUES (?)", [.integer(random)]), Self.read]
                + (hasReading ? [Statement("SELECT * FROM dice")] : [])
                + [Statement(Self.update, [.integer(moons), .text("Mars")])]
        }
        let own = run(3, 97, true)
        #expect(differences(own, from: [run(4, 79, false)]).count == 3)
        #expect(
            differences(own, from: [run(4, 79, false), run(5, 79, true)]) == [
                "values([0]) \(Self.update)"
            ])
    }

    @Test func differencesOfPassingTestsComeLast() {
        let own = [Statement("CREATE TABLE a(b, c)")] + Self.start + [Self.wrong, Self.read]
        let passing = [Statement("CREATE TABLE a(b)")] + Self.start + [Self.right, Self.read]
        let (table, value) = ("text CREATE TABLE a(b, c)", "values([0]) \(Self.update)")
        #expect(differences(own, from: [passing]) == [table, value])
        let common: Set = [StatementShape("CREATE TABLE a(b)").shape]
        #expect(differences(own, from: [passing], common: common) == [value, table])
    }

    /// Two logs without a common statement, and with one that all statements equal.
    @Test(arguments: [(3000, true), (3000, false)])
    func workIsLimited(_ count: Int, _ isEqual: Bool) {
        func run(_ name: String) -> [Statement] {
            (0..<count).map { Statement("INSERT INTO \(name)\(isEqual ? 0 : $0 % 50) VALUES (1)") }
                + [Statement("SELECT \(name)0 FROM t")]
        }
        #expect(!differences(run("a"), from: [run("b")]).isEmpty)
        var alignment = Alignment(steps: 1000)
        let pairs = alignment.pairs(
            [9] + Array(repeating: 1, count: count) + [8], [7] + Array(repeating: 1, count: count))
        #expect(pairs.count > count / 2)
        // The last element may take as many steps as the other list has elements.
        #expect(alignment.steps > -count - 2)
    }

    /// Comparing a parameter with the columns of a long list takes as many steps as the list has columns.
    @Test func keysAreAmongTheFirstParameters() {
        var texts = ComparedTexts()
        let (columns, values) = (
            (0..<500).map { "a\($0)id" }.joined(separator: ", "),
            Array(repeating: "?", count: 500).joined(separator: ", ")
        )
        let run = Run(statements: [
            Statement("INSERT INTO t(a, id) VALUES (?, ?)"),
            Statement("INSERT INTO t(\(columns)) VALUES (\(values))"),
            Statement(
                "SELECT 1 FROM t WHERE "
                    + Array(repeating: "id = ?", count: 500).joined(separator: " OR ")),
        ])
        let compared = ComparedRun(run.baseline.statements, at: "", &texts)
        #expect(compared.executions[0].text.keys == [1])
        #expect(compared.executions.dropFirst().allSatisfy { $0.text.keys.count <= 100 })
    }

    /// With the same code, the order tells what led to what.
    @Test func differencesOfTheSameCodeAreInOrder() {
        let inserts = ["Earth", "Mars", "Venus"].map {
            Statement(Self.insert, [.integer(1), .text($0)])
        }
        let passing = inserts + [Self.right, Self.read]
        let own = [inserts[1], inserts[2], inserts[0], Self.wrong, Self.read]
        let kinds = [
            "moved \(Self.insert)", "values([0]) \(Self.update)",
        ]
        #expect(differences(own, from: [passing]) == kinds.reversed())
        #expect(differences(own, from: [passing], isOfSameBuild: true) == kinds)
    }
}
