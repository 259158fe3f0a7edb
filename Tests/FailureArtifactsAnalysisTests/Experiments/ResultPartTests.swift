@testable import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsReading
import Testing

/// The ways in which a query's result is an assertion's value.
@Suite struct ResultPartTests {
    private func value(_ value: Any?) -> StoredValue {
        switch value {
        case let number as Int: StoredValue(.integer(Int64(number)))
        case let number as Double: StoredValue(.real(number))
        case let text as String: StoredValue(.text(Array(text.utf8)))
        default: StoredValue(.null)
        }
    }

    private func result(_ columns: [String], _ rows: [[Any?]]) -> QueryResult {
        QueryResult(columns: columns, rows: rows.map { $0.map(value) })
    }

    private func parts(_ operand: String, _ result: QueryResult) -> [ResultPart] {
        ResultPart.all(giving: FailureMessage.Operand(operand), in: result)
    }

    @Test func aValueOfTheFirstRow() {
        let found = result(["id", "name"], [[3, "Ann"], [4, "Ben"]])
        #expect(parts(#""Ann""#, found) == [.cell(1, prefix: "", suffix: "")])
        #expect(parts(#""Ben""#, found).isEmpty)
        #expect(parts("2", found) == [.rowCount])
        #expect(parts("7", result(["minutes", "name"], [[3, "Ann"], [4, "Ben"]])) == [.sum(0)])
        #expect(parts("nil", result(["id"], [])) == [.cell(0, prefix: "", suffix: "")])
        #expect(parts("nil", result(["id"], [[nil]])) == [.cell(0, prefix: "", suffix: "")])
    }

    /// Keys are numbers like those of rows, and small numbers are in most columns.
    @Test func aNumberIsAResultBeforeItIsACell() {
        let cell = { ResultPart.cell($0, prefix: "", suffix: "") }
        let rows = result(["id", "stars"], [[3, 2], [5, 3], [7, 3]])
        #expect(
            parts("3", rows) == [.rowCount] && parts("15", rows).isEmpty && parts("8", rows) == [.sum(1)]
        )
        #expect(parts("2", rows).isEmpty)
        #expect(parts("3", result(["id", "stars"], [[3, 5]])).isEmpty)
        #expect(parts("5", result(["id", "stars"], [[3, 5]])) == [cell(1)])
        #expect(parts("31", result(["id", "stars"], [[31, 5]])) == [cell(0)])
        #expect(parts("1", result(["count(*)"], [[1]])) == [cell(0)])
        var count = result(["count(*)"], [[7]])
        #expect(parts("1", count) == [.rowCount] && parts("true", count) == [.existence])
        count.isAggregate = true
        #expect(parts("1", count).isEmpty && parts("true", count).isEmpty)
    }

    @Test func aListInItsOrderOrInAnother() {
        let found = result(["id", "name"], [[3, "Ann"], [4, "Ben"]])
        #expect(parts(#"["Ann", "Ben"]"#, found) == [.list(1, isOrdered: true)])
        #expect(parts(#"["Ben", "Ann"]"#, found) == [.list(1, isOrdered: false)])
        #expect(parts(#"["Ann"]"#, found).isEmpty)
        #expect(parts("[]", result(["id"], [])).first == .list(0, isOrdered: true))
    }

    @Test func aDictionaryHasTheValuesOfAllColumns() {
        let found = result(["owner", "sum"], [["ann", 35], ["ben", 65]])
        #expect(parts(#"["ann": 35, "ben": 65]"#, found) == [.properties(isOrdered: true)])
        #expect(parts(#"["ben": 65, "ann": 35]"#, found) == [.properties(isOrdered: false)])
        #expect(parts(#"["ben": 35, "ann": 65]"#, found).isEmpty)
    }

    @Test func textsWithTheValuesOfEachRow() {
        let found = result(["name", "count", "cents"], [["Ann", 3, 4612], ["Ben", 3, 300]])
        let texts = parts(#"["Ann: 3, 46.12", "Ben: 3, 3.00"]"#, found)
        #expect(texts.count == 1)
        let expected = FailureMessage.Operand(#"["Ann: 3, 46.12", "Ben: 4, 5.00"]"#)
        #expect(!texts[0].gives(expected, in: found))
        let other = result(found.columns, [["Ann", 3, 4612], ["Ben", 4, 500]])
        #expect(texts[0].gives(expected, in: other))
        // Another row has no such text, and equal texts have no values.
        #expect(parts(#"["Ann: 3, 46.12", "Ben: 3; 3.00"]"#, found).isEmpty)
        #expect(parts(#"["yes", "yes"]"#, found).isEmpty)
    }

    @Test func aColumnOfTextsMayHaveNumbers() {
        let found = result(["floor", "number"], [[1, "101"], [1, "102"]])
        let numbers = FailureMessage.Operand(#"["101"]"#).values
        #expect(found.onlyColumn(like: numbers) == nil)
        #expect(
            result(["name", "number"], [["a", "101"], ["b", "102"]]).onlyColumn(like: numbers) == 1)
    }

    @Test func propertiesOfStructures() {
        let found = result(["id", "folder_id", "name"], [[3, 9, "Ann"]])
        let properties = ResultPart.properties(isOrdered: true)
        #expect(parts(#"Person(id: 3, folderID: 9, name: "Ann")"#, found) == [properties])
        #expect(parts(#"Person(id: 3, folderID: 8, name: "Ann")"#, found).isEmpty)
        // One label of four is no reason to take the row for the structure.
        #expect(parts("Lesson(id: 3, day: 1, room: 2, length: 5)", found).isEmpty)
    }

    @Test func aTruthValueIsARowOrAColumnOfItsOwn() {
        #expect(parts("false", result(["n"], [[0]])) == [.cell(0, prefix: "", suffix: "")])
        #expect(parts("false", result(["id", "n"], [[1, 0]])).isEmpty)
        #expect(parts("false", result(["id", "n"], [])) == [.existence])
        #expect(parts("true", result(["id", "n"], [[1, 0]])) == [.existence])
    }

    @Test func aValueInsideAText() {
        let found = parts(#""Total: 1250 EUR""#, result(["total"], [[1250]]))
        #expect(found == [.cell(0, prefix: "Total: ", suffix: " EUR")])
        let expected = FailureMessage.Operand(#""Total: 1300 EUR""#)
        #expect(found[0].gives(expected, in: result(["total"], [[1300]])))
        #expect(!found[0].gives(expected, in: result(["total"], [[1301]])))
    }

    @Test(arguments: [("9", 7, true), ("9", 9, false), ("5", 7, false)])
    func conditions(bound: String, number: Int, isMet: Bool) throws {
        let message = FailureMessage(
            "XCTAssertLessThan failed: (\"\(number)\") is not less than (\"\(bound)\")")
        let claim = try #require(Claim.all(in: message).first)
        #expect(
            ResultPart.cell(0, prefix: "", suffix: "").meets(
                claim.condition, in: result(["n"], [[number]])) == isMet)
    }

    @Test func theDistanceFromTheExpectedValue() throws {
        let claim = try #require(
            Claim.all(in: FailureMessage("Expectation failed: (x → 44) == 49")).first)
        let part = ResultPart.cell(0, prefix: "", suffix: "")
        #expect(part.distance(of: result(["n"], [[44]]), from: claim) == 5)
        let list = try #require(
            Claim.all(in: FailureMessage(#"Expectation failed: (x → ["a", "b"]) == ["a", "c", "d"]"#))
                .first)
        #expect(
            ResultPart.list(0, isOrdered: true).distance(of: result(["n"], [["a"], ["b"]]), from: list)
                == 3)
    }
}

/// The claims of assertions, as messages of both frameworks state them.
@Suite struct ClaimTests {
    /// Returns a claim as text.
    private func text(_ claim: Claim) -> String {
        let condition =
            switch claim.condition {
            case .equals(let operand): "= \(operand.text)"
            case .differs(let operand): "≠ \(operand.text)"
            case .exists: "exists"
            case .ordered(let isLess, let orEqual, let bound):
                "\(isLess ? "<" : ">")\(orEqual ? "=" : "") \(bound)"
            case .contains(let operand): "contains \(operand.text)"
            case .lacks(let operand): "lacks \(operand.text)"
            case .unknown: "?"
            }
        return (claim.tested?.text ?? "?") + (claim.member.map { " \($0)" } ?? "") + " \(condition)"
    }

    @Test(arguments: [
        (#"XCTAssertEqual failed: ("44") is not equal to ("49")"#, ["44 = 49", "49 = 44"]),
        (
            #"XCTAssertEqual failed: ("Optional("a")") is not equal to ("nil") - text"#,
            [#""a" = nil"#, #"nil = "a""#]
        ),
        (#"XCTAssertNotEqual failed: ("1") is equal to ("1")"#, ["1 ≠ 1", "1 ≠ 1"]),
        (#"XCTAssertLessThan failed: ("9") is not less than ("7")"#, ["9 < 7.0", "7 > 9.0"]),
        (
            #"XCTAssertGreaterThanOrEqual failed: ("5") is not greater than or equal to ("7")"#,
            ["5 >= 7.0", "7 <= 5.0"]
        ),
        ("XCTAssertTrue failed", ["false = true"]), ("XCTAssertFalse failed - text", ["true = false"]),
        (#"XCTAssertNil failed: "5""#, ["5 = nil"]),
        ("XCTAssertNotNil failed", ["nil exists"]),
        ("XCTUnwrap failed: expected non-nil value of type \"Int\"", ["nil exists"]),
        ("Expectation failed: (balance → 44) == 49", ["44 = 49"]),
        ("Expectation failed: 49 == (balance → 44)", ["44 = 49"]),
        ("Expectation failed: (names → [\"a\"]).contains(\"b\")", ["[\"a\"] contains \"b\""]),
        ("Expectation failed: !(names → [\"a\"]).contains(\"a\")", ["[\"a\"] lacks \"a\""]),
        ("Expectation failed: list.contains { $0.title == \"Clock\" }", ["? contains Clock"]),
        ("Expectation failed: !list.contains { $0.title == \"Clock\" }", ["? lacks Clock"]),
        ("Expectation failed: list.first { $0.name == \"Lea\" } → nil", ["? contains Lea"]),
        ("Expectation failed: (row → nil)", ["nil exists"]),
        ("Expectation failed: (isOpen → false)", ["false = true"]),
        ("Expectation failed: try store.total() == 49", ["? = 49"]),
        ("Expectation failed: 49 == (try store.total())", ["? = 49"]),
        ("Expectation failed: try store.names() == [\"a\", \"b == c\"]", [#"? = ["a", "b == c"]"#]),
        ("Expectation failed: try store.names() == expected", ["? ?"]),
        ("Expectation failed: try store.name(1) == \"of \\(id)\"", ["? ?"]),
        ("Expectation failed: try store.names().isEmpty", ["? = []"]),
        ("Expectation failed: !(try store.names().isEmpty)", ["? exists"]),
        ("Expectation failed: try store.person(3) != nil", ["? exists"]),
        ("Expectation failed: try store.total() != 3", ["? ≠ 3"]),
        ("Expectation failed: try store.total() >= 30", ["? >= 30.0"]),
        ("Expectation failed: 30 < (try store.total())", ["? > 30.0"]),
        ("Expectation failed: try store.isOpen(3) || x == 3", ["? ?"]),
        ("Expectation failed: try store.invoice(3).total == 49", ["? total = 49"]),
        (#"Expectation failed: try store.tags().map(\.name) == ["a"]"#, [#"? name = ["a"]"#]),
        (#"Expectation failed: try store.log() == ["a → b"]"#, [#"? = ["a → b"]"#]),
        (#"Expectation failed: (log → ["a → b"]) == ["b → a"]"#, [#"["a → b"] = ["b → a"]"#]),
        ("Expectation failed: try store.isOpen(3)", ["false = true"]),
        ("Expectation failed: !(try store.isOpen(3))", ["true = false"]),
        ("Expectation failed: an error was thrown when none was expected: \".full(14)\"", ["? ?"]),
        ("XCTAssertNoThrow failed: threw error \"full\"", ["? ?"]),
        ("Caught error: full", ["? ?"]),
    ])
    func ofAMessage(text message: String, claims: [String]) {
        #expect(Claim.all(in: FailureMessage(message)).map(text) == claims)
    }

    /// A parameter has its argument as the value; its name may have another meaning in another test.
    @Test(arguments: [
        ("total(fee:seller:)", ["100", #""Ann""#], "try sum() == fee", "100"),
        ("total(fee:seller:)", ["100", #""Ann""#], "try name() == seller", "Ann"),
        ("total(fee:seller:)", ["100", #""Ann""#], "try name() == buyer", nil),
        ("total(fee:)", ["100", "7"], "try sum() == fee", nil), ("total", nil, "try sum() == fee", nil),
    ])
    func ofAParameter(name: String, arguments: [String]?, expression: String, expected: String?) {
        let test = BundleMetadata.Test(
            framework: "swift-testing", suite: "Tests", name: name, arguments: arguments)
        let claim = Claim.all(in: FailureMessage("Expectation failed: " + expression, of: test))[0]
        #expect(claim.expected?.values.first?.text == expected)
    }

    @Test(arguments: [
        ("3", true), ("9", true), ("10", false), ("4.0", true), ("0.5", false), ("abc", false),
        ("a", true),
        ("nil", true), ("[1, 2]", false),
    ])
    func aCommonValueSaysLittle(expected: String, isCommon: Bool) {
        #expect(
            Claim.all(in: FailureMessage("Expectation failed: (x → 44) == \(expected)"))[0].isCommon
                == isCommon)
    }
}
