import Testing

@testable import FailureArtifactsAnalysis

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
        return "\(claim.tested?.text ?? "?") \(condition)"
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
        ("Expectation failed: try store.isOpen(3)", ["false = true"]),
        ("Expectation failed: !(try store.isOpen(3))", ["true = false"]),
        ("Expectation failed: an error was thrown when none was expected: \".full(14)\"", ["? ?"]),
        ("XCTAssertNoThrow failed: threw error \"full\"", ["? ?"]),
        ("Caught error: full", ["? ?"]),
    ])
    func ofAMessage(text message: String, claims: [String]) {
        #expect(Claim.all(in: FailureMessage(message)).map(text) == claims)
    }

    @Test(arguments: [
        ("3", true), ("9", true), ("10", false), ("0.5", false), ("abc", false), ("a", true),
        ("nil", true), ("[1, 2]", false),
    ])
    func aCommonValueSaysLittle(expected: String, isCommon: Bool) {
        #expect(
            Claim.all(in: FailureMessage("Expectation failed: (x → 44) == \(expected)"))[0].isCommon
                == isCommon)
    }
}
