#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// The values in the message of a failed assertion: `("44") is not equal to ("49")`, or `(balance → 44) == 49`.
package struct FailureMessage: Sendable {
    struct Value: Hashable, Sendable {
        /// The text without quotes and `Optional(…)`.
        var text: String
        /// The label in the description of a structure, such as `score` in `Player(id: 3, score: 100)`.
        var label: String?
        /// True for an amount of money, which a store may have in cents.
        var isAmount = false

        var number: Double? {
            switch text {
            case "true": 1
            case "false": 0
            default: Double(text.filter { $0 != "_" })
            }
        }

        /// True if finding the value in a store says little, because many values are the same.
        var isCommon: Bool {
            if let number {
                return abs(number) < 10 && number == number.rounded()
                    || ["true", "false"].contains(text)
            }
            return text.count < 2 || text == "nil"
        }
    }

    let text: String
    /// The text without backslashes, and with one space in place of white space.
    private let plainText: String
    /// True if the second operand is the tested one: only it is an expression, as in `#expect(49 == balance)`.
    let isReversed: Bool
    /// True if the message tells which operand is the tested one; otherwise it is the first one by convention.
    let isOrderKnown: Bool
    /// The arguments of a parameterized test, by the names of its parameters.
    private let arguments: [String: String]

    init(_ text: String) { self.init(text, of: nil) }

    init(_ text: String, of test: BundleMetadata.Test?) {
        self.text = text
        let labels = test?.name.drop { $0 != "(" }.split { "(:)".contains($0) }.map(String.init) ?? []
        let values = test?.arguments ?? []
        arguments =
            labels.count == values.count
            ? Dictionary(zip(labels, values), uniquingKeysWith: { first, _ in first }) : [:]
        plainText = Self.plain(text)
        let sides = Self.comparison(in: text)
        let areExpressions = sides.map {
            (Self.arrow(in: $0.left) != nil, Self.arrow(in: $0.right) != nil)
        }
        isReversed = areExpressions.map { !$0 && $1 } ?? false
        isOrderKnown = areExpressions.map { $0 != $1 } ?? false
    }

    /// Returns the operand that a part of an expression is: a literal, or a parameter of the test; nil for another part.
    func operand(_ expression: Substring) -> Operand? {
        Operand(literal: arguments[String(expression)].map { $0[...] } ?? expression)
    }

    // MARK: - Errors

    /// True if the message has the text of one of SQLite's errors; a description of a structure that has the text
    /// escapes its quotes.
    func names(_ error: StatementRecord.Failure) -> Bool {
        let error = Self.plain(error.message)
        return !error.isEmpty
            && plainText.ranges(of: error).contains { range in
                let rest = plainText[range.upperBound...]
                // The text may be the start of another one, such as of a longer name.
                return !Self.isOfName(plainText[..<range.lowerBound].last) && !Self.isOfName(rest.first)
                    && !(rest.first == "." && Self.isOfName(rest.dropFirst().first))
            }
    }

    /// True if the message has the text of a statement, as in GRDB's errors.
    func quotes(_ sql: String) -> Bool {
        let sql = Self.plain(sql)
        return sql.utf8.count >= 5 && plainText.contains(sql)
    }

    private static func plain(_ text: String) -> String {
        text.split { $0.isWhitespace }.joined(separator: " ").filter { $0 != "\\" }
    }

    private static func isOfName(_ character: Character?) -> Bool {
        character.map { $0.isLetter || $0.isNumber || "_$".contains($0) } ?? false
    }

    /// True if the expression in the message calls a function, or reads a property, whose demangled name is given.
    func calls(_ function: String?) -> Bool {
        guard let function, let start = text.firstRange(of: "failed: ")?.upperBound,
            let match = function.firstMatch(of: /(\w+)(?:<.*>)?(?:\(|\.getter)/)
        else { return false }
        let line = text[start...].prefix { !$0.isNewline }
        return line.contains(match.0.hasSuffix("(") ? "\(match.1)(" : ".\(match.1)")
    }

    // MARK: - Parsing

    /// Returns a text without the points and commas between digits: a store has an amount of money such as 150.00 in cents.
    static func withoutPoints(_ text: String) -> String {
        let characters = Array(text)
        return String(
            characters.indices.filter { index in
                !(".,".contains(characters[index]) && characters[safe: index - 1]?.isNumber == true
                    && characters[safe: index + 1]?.isNumber == true)
            }.map { characters[$0] })
    }

    /// Returns the words and numbers of at least two characters in a text.
    static func words(of text: String) -> [Substring] {
        text.split { !$0.isLetter && !$0.isNumber }.filter { $0.count > 1 }
    }

    /// Returns the operands' texts; the right one is nil if there is only one.
    package static func operands(of text: String) -> (left: String, right: String?)? {
        let connectors =
            ["equal to", "not equal to", "identical to", "not identical to"]
            + ["less than", "greater than"].flatMap { ["not \($0)", "not \($0) or equal to"] }
        let rest = text.firstRange(of: "(\"").map { text[$0.upperBound...] } ?? ""
        let known = connectors.compactMap { rest.firstRange(of: "\") is \($0) (\"") }
        if let middle = known.min(by: { $0.lowerBound < $1.lowerBound }) {
            let tail = rest[middle.upperBound...]
            let ends = ["\") - ", "\") +/- ", "\")\n"]
            let end = ends.compactMap { tail.firstRange(of: $0)?.lowerBound }.min()
            let right = end.map { tail[..<$0] } ?? (tail.hasSuffix("\")") ? tail.dropLast(2) : tail)
            return (String(rest[..<middle.lowerBound]), String(right))
        }
        if let single = text.firstRange(of: "XCTAssertNil failed: \"")?.upperBound {
            let rest = text[single...]
            return (String(rest[..<(rest.lastIndex(of: "\"") ?? rest.endIndex)]), nil)
        }
        guard let arrow = arrow(in: text[...]) else { return nil }
        // Swift Testing: `Expectation failed: (a → 1) == (b → 2)`, or one expression with its value.
        if let sides = comparison(in: text) {
            return (value(after: sides.left), value(after: sides.right))
        }
        return (value(at: arrow, in: text), nil)
    }

    /// Returns the value behind an arrow, up to the parenthesis that ends it, as in `(list → [1, 2]).contains(3)`.
    private static func value(at arrow: Range<String.Index>, in text: String) -> String {
        var depth = 0
        var isQuoted = false
        let value = text[arrow.upperBound...].prefix { character in
            if character == "\"" { isQuoted.toggle() }
            guard !isQuoted else { return true }
            if "([{".contains(character) { depth += 1 }
            if ")]}".contains(character) { depth -= 1 }
            return depth >= 0
        }
        return String(value)
    }

    /// Returns the sides of the comparison in a message of Swift Testing; nil for other messages.
    private static func comparison(in text: String) -> (left: Substring, right: Substring)? {
        guard arrow(in: text[...]) != nil else { return nil }
        let body = text.firstRange(of: "failed: ").map { text[$0.upperBound...] } ?? text[...]
        for sign in [" == ", " != ", " < ", " > ", " <= ", " >= ", " === "] {
            guard let place = outerRange(of: sign, in: body) else { continue }
            return (body[..<place.lowerBound], body[place.upperBound...])
        }
        return nil
    }

    /// Returns the value in `(expression → value)`, or the text itself, which is then a literal.
    static func value(after text: Substring) -> String {
        var text = text
        while text.last == " " { text.removeLast() }
        while text.first == " " { text.removeFirst() }
        guard let arrow = arrow(in: text) else { return String(text) }
        var value = text[arrow.upperBound...]
        if text.first == "(", value.last == ")" { value.removeLast() }
        return String(value)
    }

    /// Returns the range of the arrow between an expression and its value, which no literal has.
    private static func arrow(in text: Substring) -> Range<String.Index>? {
        range(of: "→ ", in: text, isNested: true)
    }

    /// Returns the range of a sign outside of parentheses, brackets and quotes.
    static func outerRange(of sign: String, in text: Substring) -> Range<String.Index>? {
        range(of: sign, in: text, isNested: false)
    }

    /// Returns the range of a sign outside of quotes, and, unless it may be nested, outside of parentheses and brackets.
    private static func range(
        of sign: String, in text: Substring, isNested: Bool
    ) -> Range<String.Index>? {
        var depth = 0
        var (isQuoted, isEscaped) = (false, false)
        for index in text.indices {
            let character = text[index]
            if character == "\"", !isEscaped { isQuoted.toggle() }
            isEscaped = isQuoted && character == "\\" && !isEscaped
            guard !isQuoted else { continue }
            if "([{".contains(character) { depth += 1 }
            if ")]}".contains(character) { depth -= 1 }
            if isNested || depth == 0, text[index...].hasPrefix(sign) {
                return index..<text.index(index, offsetBy: sign.count)
            }
        }
        return nil
    }

    /// Returns the values in an operand: one, the elements of an array, or the properties of a structure.
    static func values(of operand: String, label: String? = nil, depth: Int = 0) -> [Value] {
        var text = operand[...]
        func trim() {
            while let first = text.first, first.isWhitespace { text.removeFirst() }
            while let last = text.last, last.isWhitespace { text.removeLast() }
        }
        trim()
        while text.hasPrefix("Optional("), text.hasSuffix(")") {
            text = text.dropFirst("Optional(".count).dropLast()
        }
        trim()
        if text.count >= 2, text.first == "\"", text.last == "\"" {
            return [Value(text: String(text.dropFirst().dropLast()), label: label)]
        }
        // A case is written with a point, and stored and printed without it.
        if text.first == ".", text.dropFirst().first?.isLetter == true { text.removeFirst() }
        guard depth < 3, text.count < 4096 else { return [Value(text: String(text), label: label)] }
        if text.first == "[", text.last == "]" {
            return parts(of: text.dropFirst().dropLast()).prefix(100).flatMap {
                labelled($0, label, depth)
            }
        }
        // A structure's or a tuple's description.
        if text.last == ")", let open = text.firstIndex(of: "("),
            text[..<open].allSatisfy({ $0.isLetter || $0.isNumber || "._".contains($0) }),
            text[open...].contains(": ") || open == text.startIndex || text.first?.isUppercase == true
        {
            return parts(of: text[text.index(after: open)...].dropLast()).prefix(100).flatMap {
                labelled($0, label, depth)
            }
        }
        return [Value(text: String(text), label: label)]
    }

    private static func labelled(_ part: Substring, _ label: String?, _ depth: Int) -> [Value] {
        var part = part
        while part.first == " " { part.removeFirst() }
        if let colon = part.firstRange(of: ": ") {
            let name = part[..<colon.lowerBound]
            let isKey = name.first == "\"" && name.last == "\""
            if isKey || name.allSatisfy({ $0.isLetter || $0.isNumber || "_-".contains($0) }) {
                let values = values(
                    of: String(part[colon.upperBound...]), label: isKey ? label : String(name),
                    depth: depth + 1)
                return (isKey ? Self.values(of: String(name), label: label, depth: 3) : []) + values
            }
        }
        return values(of: String(part), label: label, depth: depth + 1)
    }

    static func parts(of text: Substring) -> [Substring] {
        var parts: [Substring] = []
        var rest = text
        while let comma = outerRange(of: ", ", in: rest) {
            parts.append(rest[..<comma.lowerBound])
            rest = rest[comma.upperBound...]
        }
        if !rest.isEmpty { parts.append(rest) }
        return parts
    }
}

extension FailureMessage.Value {
    /// True if a store's value is the same; a date matches the forms in which Foundation, GRDB and Core Data store it.
    func matches(_ value: StoredValue) -> Bool {
        switch value.content {
        case .null: return text == "nil"
        case .integer(let stored):
            return number == Double(stored) || dates.contains(Double(stored))
                || isAmount && Double(FailureMessage.withoutPoints(text)) == Double(stored)
        case .real(let stored):
            if let number, abs(number - stored) <= 1e-9 * max(1, abs(number)) { return true }
            return dates.contains { abs($0 - stored) < 0.001 }
        case .text(let bytes):
            guard let stored = StoredText.valid(bytes, isCut: value.isCut) else { return false }
            if stored == text { return true }
            // "2026-11-22 09:30:00 +0000" is stored as "2026-11-22 09:30:00.000" or "2026-11-22T09:30:00Z".
            guard text.count == 25, text.hasSuffix(" +0000"), stored.count >= 19 else { return false }
            return stored.prefix(10) == text.prefix(10)
                && stored.dropFirst(11).prefix(8) == text.dropFirst(11).prefix(8)
        case .blob: return false
        }
    }

    /// True for a date as Foundation prints it.
    var isDate: Bool { !dates.isEmpty }

    /// The seconds since 1970 and since 2001 of a date as Foundation prints it; empty for other values.
    private var dates: [Double] {
        guard text.count == 25, text.hasSuffix(" +0000"),
            let time = MetadataTime.milliseconds(
                of: text.prefix(10) + "T" + text.dropFirst(11).prefix(8) + "Z")
        else { return [] }
        let seconds = Double(time / 1000)
        return [seconds, seconds - Double(MetadataTime.referenceDate)]
    }
}
