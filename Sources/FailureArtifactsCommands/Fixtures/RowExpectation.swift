internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// The lines of Swift that compare the rows in `found` with what an assertion expects.
struct RowExpectation {
    let assertion: RowAssertion
    let isXCTest: Bool

    init(_ assertion: RowAssertion, isXCTest: Bool) {
        self.assertion = assertion
        self.isXCTest = isXCTest
    }

    var lines: [String] {
        switch assertion.part {
        case .rows(let columns, let rows, let isOrdered):
            let cells = rows.map { $0.map(Self.literal) }
            let elements =
                columns.count == 1
                ? cells.map { $0[0] } : cells.map { "[" + $0.joined(separator: ", ") + "]" }
            let row = columns.map { "$0[\($0)]" }.joined(separator: ", ")
            let compared = "found.map { \(columns.count == 1 ? row : "[\(row)]") }"
            let element = columns.count == 1 ? "SQLiteValue" : "[SQLiteValue]"
            let (type, actual) =
                isOrdered ? ("[\(element)]", compared) : ("Set<\(element)>", "Set(\(compared))")
            return list(of: elements, type) + [comparison(actual, "expected")]
        case .value(let column, let value):
            let isNull = value.content == .null
            return [
                comparison("found.first?[\(column)]" + (isNull ? " ?? .null" : ""), Self.literal(value))
            ]
        case .count(let count): return [comparison("found.count", "\(count)")]
        case .isEmpty(true): return [comparison("found", "[]")]
        case .isEmpty(false):
            return [isXCTest ? "XCTAssertFalse(found.isEmpty)" : "#expect(!found.isEmpty)"]
        case .contains(let value, let column, let isWanted):
            let found = "found.contains { $0[\(column)] == \(Self.literal(value)) }"
            return [
                isXCTest
                    ? "XCTAssert\(isWanted ? "True" : "False")(\(found), \"\\(found)\")"
                    : "#expect(\(isWanted ? "" : "!")\(found), \"\\(found)\")"
            ]
        }
    }

    private func comparison(_ actual: String, _ expected: String) -> String {
        isXCTest
            ? "XCTAssert\(assertion.isNegated ? "NotEqual" : "Equal")(\(actual), \(expected))"
            : "#expect(\(actual) \(assertion.isNegated ? "!=" : "==") \(expected))"
    }

    /// Returns the declaration of the expected rows, with a line for each row if they are long.
    private func list(of elements: [String], _ type: String) -> [String] {
        let line = elements.joined(separator: ", ")
        return line.count < 70
            ? ["let expected: \(type) = [\(line)]"]
            : ["let expected: \(type) = ["] + elements.map { "    \($0)," } + ["]"]
    }

    /// Returns a literal of the type `SQLiteValue`.
    private static func literal(_ value: StoredValue) -> String {
        switch value.content {
        case .null: ".null"
        case .integer(let number): "\(number)"
        case .real(let number):
            number.isFinite ? "\(number)" : ".real(\(number < 0 ? "-" : "").infinity)"
        case .blob(let bytes): ".blob(\(bytes))"
        case .text(let bytes):
            "\"" + String(decoding: bytes, as: UTF8.self).unicodeScalars.map(escaped).joined() + "\""
        }
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\\", "\"": "\\\(scalar)"
        default: scalar.isControl ? SafeText.escape(scalar) : String(scalar)
        }
    }
}
