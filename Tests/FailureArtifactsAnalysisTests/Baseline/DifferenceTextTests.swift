import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import Testing

@testable import FailureArtifactsAnalysis

/// The texts of a difference then and now.
@Suite struct DifferenceTextTests {
    @Test(
        arguments: [
            ("a b c", "a d c", "a «b» c", "a «d» c"), ("a b", "a b", "a b", "a b"),
            ("a b c d e", "a x c y e", "a «b» c «d» e", "a «x» c «y» e"),
            ("a b c", "a x y c", "a «b» c", "a «x y» c"), ("a b", "a", "a «b»", "a"),
            ("", "a", "", "«a»"), ("\u{1B}[1m a", "b a", "«\\u{1b}[1m» a", "«b» a"),
        ])
    func whatDiffersIsMarked(_ then: String, _ now: String, _ markedThen: String, _ markedNow: String) {
        let pair = MarkedText.pair(then, now)
        #expect((pair.then.text, pair.now.text) == (markedThen, markedNow))
    }

    @Test func whatIsFarFromAMarkIsLeftOut() {
        func words(_ letter: String, _ count: Int) -> String {
            (1...count).map { letter + "\($0)" }.joined(separator: " ")
        }
        let (a, b, c) = (words("a", 50), words("b", 50), words("c", 50))
        let pair = MarkedText.pair("\(a) x \(b) y \(c)", "\(a) v \(b) w \(c)")
        let middle = "\(words("b", 12)) … \((39...50).map { "b\($0)" }.joined(separator: " "))"
        #expect(
            pair.now.text
                == "… \((39...50).map { "a\($0)" }.joined(separator: " ")) «v» \(middle) «w» \(words("c", 12)) …"
        )
        // A statement may have any number of values.
        let many = MarkedText(
            (0..<9999).map { MarkedText.Part(text: "\($0)", isMarked: $0 % 2 == 0) })
        #expect(many.parts.count <= 41 && many.text.hasSuffix(" …"))
        #expect(MarkedText(String(repeating: "a", count: 9999)).text.count <= 200)
    }

    private func difference(_ then: [StatementRecord], _ now: [StatementRecord]) throws -> DifferenceText
    {
        let runs = [then, now].map {
            Baseline(at: "2026-11-28T12:04:00.000000Z", commit: nil, statements: $0)
        }
        let comparison = try #require(BaselineComparison(runs[1], [runs[0]], common: []))
        let difference = try #require(comparison.differences.first)
        return DifferenceText(difference, runs[0], after: comparison.neighbors(of: difference))
    }

    private func record(_ sql: String, _ values: Value...) -> StatementRecord {
        var record = StatementRecord(
            at: "", changes: nil, connection: 1, order: UInt64.random(in: 1 ... .max), phase: .test,
            sql: sql,
            thread: "")
        record.values = values.map { BoundValue($0) }
        return record
    }

    @Test func valuesStandInTheStatement() throws {
        let sql = "UPDATE planet SET note = ?,\n moons = ? WHERE id = ?"
        let long = String(repeating: "a", count: 300)
        let one = try difference(
            [record(sql, .text("a  b"), .integer(79), .integer(1))],
            [record(sql, .text("a  b"), .integer(97), .integer(1))])
        #expect(one.title == "UPDATE planet has the value 97, not 79 as when this test passed")
        #expect(
            one.comparison.then.text == "UPDATE planet SET note = 'a  b' , moons = «79» WHERE id = 1")
        #expect(one.comparison.now.text == "UPDATE planet SET note = 'a  b' , moons = «97» WHERE id = 1")
        // What differs of long values is shown.
        let two = try difference(
            [record(sql, .text(long + "then"), .null, .integer(1))],
            [record(sql, .text(long + "now"), .integer(7), .integer(1))])
        #expect(two.comparison.then.text.contains("then'"), "\(two.comparison.then.text)")
        #expect(two.comparison.now.text.contains("now'") && two.comparison.now.text.contains("= «7»"))
    }

    @Test func statementsThatOneRunLacksOrHasElsewhere() throws {
        let (a, b) = (record("DELETE FROM a WHERE id = ?", .integer(1)), record("SELECT 1"))
        let missing = try difference([a, b], [b]).comparison
        #expect(
            missing.then.text == "DELETE FROM a WHERE id = 1" && missing.now.text == "«nothing here»")
        let extra = try difference([b], [a, b]).comparison
        #expect(extra.then.text == "«nothing here»" && extra.now.text == "DELETE FROM a WHERE id = 1")
        let (c, d) = (record("DELETE FROM c"), record("SELECT 2"))
        let moved = try difference([a, c, b, d], [c, b, a, d])
        #expect(moved.title == "DELETE FROM a ran later than when this test passed")
        #expect(moved.comparison.then.text == "«as the first statement»")
        #expect(moved.comparison.now.text == "after «SELECT 1»")
    }

    @Test func whatRanMoreOrLessOften() throws {
        let sum = "SELECT (SELECT count(*) FROM payment) FROM fine"
        let (a, b) = (record("DELETE FROM a"), record(sum))
        #expect(
            try difference([b, a], [b, record(sum), a]).title
                == "SELECT FROM fine ran more often than when this test passed")
        #expect(
            try difference([b, record(sum), a], [b, a]).title
                == "SELECT FROM fine ran less often than when this test passed")
    }

    @Test func anotherEndAndOtherIndirectChanges() throws {
        let (begin, write) = (record("BEGIN"), record("DELETE FROM a"))
        #expect(
            try difference([begin, write, record("ROLLBACK")], [begin, write, record("COMMIT")]).title
                == "COMMIT ran, where ROLLBACK did when this test passed")
        let (save, back) = (record("SAVEPOINT s"), record("ROLLBACK TRANSACTION TO SAVEPOINT s"))
        #expect(
            try difference([save, write, back, write], [save, write, write]).title
                == "ROLLBACK TO s is missing, which ran when this test passed")
        let renumber = record("WITH o AS (SELECT 1) UPDATE entry SET seed = 1")
        #expect(
            try difference([renumber, write], [write]).title
                == "UPDATE entry is missing, which ran when this test passed")
        func changed(_ changes: Int) -> StatementRecord {
            var write = write
            (write.changes, write.ownChanges) = (changes, 1)
            return write
        }
        #expect(
            try difference([changed(3)], [changed(2)]).title
                == "DELETE FROM a changed 1 row by triggers and foreign keys, and 2 when this test passed"
        )
    }

    @Test func aMissingTransaction() throws {
        let (begin, write) = (record("BEGIN IMMEDIATE TRANSACTION"), record("DELETE FROM a"))
        let (end, other) = (record("ROLLBACK TRANSACTION"), record("DELETE FROM b"))
        let whole = try difference([other, begin, write, end, other], [other, write, other])
        #expect(whole.title == "BEGIN is missing, which ran when this test passed")
        // Of another transaction of the test, the beginning is the same.
        let first = [begin, record("INSERT INTO c VALUES (1)"), record("COMMIT")]
        let runs = [first + [begin, write, end, other], first + [write, other]].map {
            Baseline(at: "2026-11-28T12:04:00.000000Z", commit: nil, statements: $0)
        }
        let comparison = try #require(BaselineComparison(runs[1], [runs[0]], common: []))
        let titles = comparison.differences.map {
            DifferenceText($0, runs[0], after: (nil, nil)).title
        }
        #expect(
            titles.contains("A transaction is missing, which ended with ROLLBACK when this test passed"),
            "\(titles)")
    }

    @Test func namesAreWrittenAsInTheStatement() throws {
        for sql in ["INSERT INTO orderLine VALUES (?)", "INSERT INTO \"orderLine\" VALUES (?)"] {
            let text = try difference([record(sql, .integer(108))], [record(sql, .integer(99))])
            #expect(
                text.title == "INSERT INTO orderLine has the value 99, not 108 as when this test passed")
        }
        let query = record("SELECT (SELECT 1 FROM other) FROM priceList")
        #expect(
            try difference([query, record("DELETE FROM a")], [record("DELETE FROM a")]).title
                == "SELECT FROM priceList is missing, which ran when this test passed")
    }

    @Test func aSettingHasAnotherValue() throws {
        let text = try difference(
            [record("PRAGMA foreign_keys = ON")], [record("PRAGMA foreign_keys = OFF")])
        #expect(text.title == "PRAGMA foreign_keys has another value than when this test passed")
        #expect(text.comparison.now.text == "PRAGMA foreign_keys = «OFF»")
    }
}
