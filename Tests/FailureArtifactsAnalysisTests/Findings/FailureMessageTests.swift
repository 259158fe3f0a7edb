import FailureArtifactsBundle
import FailureArtifactsReading
import Testing

@testable import FailureArtifactsAnalysis

@Suite struct FailureMessageTests {
    @Test(arguments: [
        (#"XCTAssertEqual failed: ("44") is not equal to ("49") - "#, ["44"], ["49"]),
        (
            #"XCTAssertEqual failed: ("Optional("Anna")") is not equal to ("nil") - the name"#, ["Anna"],
            ["nil"]
        ),
        (#"XCTAssertEqual failed: ("["a", "b, c"]") is not equal to ("[]")"#, ["a", "b, c"], []),
        (#"XCTAssertGreaterThan failed: ("1.5") is not greater than ("2")"#, ["1.5"], ["2"]),
        (
            #"XCTAssertEqual failed: ("say ("x") is odd") is not equal to ("y")"#,
            ["say (\"x\") is odd"], ["y"]
        ),
        (#"Expectation failed: (ledger.balance → 44) == 49"#, ["44"], ["49"]),
        (
            #"Expectation failed: (all.map({ $0.title }) → [Optional("Test")]) == ([new.title] → [Optional("test")])"#,
            ["Test"], ["test"]
        ),
        (#"Expectation failed: (names → ["a", "b"]) == (others → ["a"])"#, ["a", "b"], ["a"]),
        (#"Expectation failed: (player?.name → "Ann") == "Bo""#, ["Ann"], ["Bo"]),
        (#"Expectation failed: (player?.name → nil)"#, ["nil"], []),
        (#"Expectation failed: !(names → ["a)", "b"]).contains("b")"#, ["a)", "b"], []),
    ])
    func operandsAreParsed(text: String, left: [String], right: [String]) throws {
        let operands = try #require(FailureMessage.operands(of: text))
        #expect(FailureMessage.values(of: operands.left).map(\.text) == left)
        let values = operands.right.map { FailureMessage.values(of: $0) } ?? []
        #expect(values.map(\.text) == right)
    }

    @Test func propertiesOfStructuresHaveLabels() {
        let values = FailureMessage.values(of: #"Player(id: Optional(3), name: "Al, B.", score: 90)"#)
        #expect(values.map(\.text) == ["3", "Al, B.", "90"])
        #expect(values.map(\.label) == ["id", "name", "score"])
    }

    @Test(arguments: ["XCTAssertTrue failed - not sorted", "", "(\""])
    func messagesWithoutOperandsHaveNone(text: String) {
        #expect(FailureMessage.operands(of: text) == nil)
    }

    @Test func datesMatchTheFormsInWhichTheyAreStored() {
        let date = FailureMessage.Value(text: "2026-11-22 09:30:00 +0000")
        let forms: [StoredValue] = [
            StoredValue(.text(Array("2026-11-22 09:30:00.000".utf8))),
            StoredValue(.text(Array("2026-11-22T09:30:00Z".utf8))), StoredValue(.integer(1_795_339_800)),
            StoredValue(.real(1_795_339_800 - 978_307_200)),
        ]
        for form in forms { #expect(date.matches(form)) }
        #expect(!date.matches(StoredValue(.text(Array("2026-11-22 09:31:00.000".utf8)))))
        #expect(!date.matches(StoredValue(.integer(1_795_339_801))))
    }

    @Test func numbersMatchIntegersAndReals() {
        #expect(FailureMessage.Value(text: "49").matches(StoredValue(.integer(49))))
        #expect(FailureMessage.Value(text: "49.0").matches(StoredValue(.integer(49))))
        #expect(FailureMessage.Value(text: "0.3").matches(StoredValue(.real(0.1 + 0.2))))
        #expect(!FailureMessage.Value(text: "49").matches(StoredValue(.text(Array("490".utf8)))))
    }
}

@Suite struct FindingPartsTests {
    @Test func theNearestNameIsFound() {
        #expect(Spelling.nearest(to: "acount", among: ["entry", "account", "amount"]) == "account")
        #expect(Spelling.nearest(to: "player", among: ["entry", "account"]) == nil)
    }

    @Test func findingsAboutTheSameStatementAreOne() {
        func finding(_ evidence: Finding.Evidence, line: Int, transaction: Int) -> Finding {
            var statement = StatementRecord(
                at: "", changes: 1, connection: 1, order: UInt64(transaction), phase: .test,
                sql: "DELETE FROM t", thread: "1")
            statement.source = .init(file: "Sources/A.swift", function: nil, line: line)
            return Finding(
                code: .resultChanged, title: "\(transaction)", confidence: .possible, store: "s",
                transaction: transaction, statement: statement, explanation: "", evidence: evidence)
        }
        let ordered = Explanation.ordered([
            finding(.change, line: 1, transaction: 7), finding(.fix, line: 1, transaction: 3),
            finding(.change, line: 2, transaction: 4), finding(.approach, line: 2, transaction: 4),
            finding(.change, line: 1, transaction: 6),
        ])
        // Another effect of the statement is another finding.
        #expect(ordered.map(\.title) == ["3", "4", "7"])
        #expect(ordered.map(\.evidence) == [.fix, .approach, .change])
    }

    // MARK: - Errors

    @Test(arguments: [
        ("no such table: a", true), ("no such table: ab", false), ("no such table: a.b", false),
        ("no such table: a.", true), ("(no such table: a)", true), ("no such\n  table: a", true),
        ("no such table: b", false),
    ])
    func anErrorIsNamedByItsWholeText(text: String, isNamed: Bool) {
        let error = StatementRecord.Failure(code: 1, message: "no such table: a")
        #expect(FailureMessage("Caught error: " + text).names(error) == isNamed)
        #expect(!FailureMessage(text).names(StatementRecord.Failure(code: 1, message: "")))
    }
}
