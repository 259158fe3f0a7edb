internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The statement of an assertion about a value, as far as the failure's message tells it.
struct Claim {
    enum Condition {
        case equals(FailureMessage.Operand)
        case differs(FailureMessage.Operand)
        case exists
        /// A number on one side of another one, or that one itself.
        case ordered(isLess: Bool, orEqual: Bool, Double)
        case contains(FailureMessage.Operand)
        case lacks(FailureMessage.Operand)
        case unknown
    }

    /// The value that the test got; nil if the message doesn't have it.
    let tested: FailureMessage.Operand?
    let condition: Condition
    /// The property of the result that the assertion compares, if only the expression tells it; nil otherwise.
    var member: String?

    var expected: FailureMessage.Operand? {
        if case .equals(let operand) = condition { operand } else { nil }
    }

    /// True if many queries have the expected value as their result.
    var isCommon: Bool {
        if case .contains(let element) = condition { return element.values.allSatisfy(\.isCommon) }
        return expected?.isCommon ?? true
    }

    /// True if one of many experiments may give the expected value by chance.
    var isChance: Bool {
        if case .contains(let element) = condition { return element.isChance }
        return expected?.isChance ?? true
    }

    /// True if the operands have the same elements, so that only their order is wrong.
    var isAboutOrder: Bool {
        guard let tested, let expected else { return false }
        return tested.values.count > 1
            && tested.values.map(\.text).sorted() == expected.values.map(\.text).sorted()
    }

    /// True if the expected value is what a query of an empty table returns.
    var expectsNothing: Bool {
        guard let expected else { return false }
        return expected.values.allSatisfy { $0.text == "nil" || $0.number == 0 }
    }

    /// The element that a list must or must not have; nil for other claims.
    var element: FailureMessage.Operand? {
        switch condition {
        case .contains(let operand), .lacks(let operand): operand
        case .equals, .differs, .exists, .ordered, .unknown: nil
        }
    }

    /// The expected value, or the expected kind of list, as it can be shown; nil if neither is known.
    var shown: String? {
        switch condition {
        case .equals(let operand): operand.shown
        case .contains(let operand): "list with \(operand.shown)"
        case .lacks(let operand): "list without \(operand.shown)"
        case .differs, .exists, .ordered, .unknown: nil
        }
    }

    static func all(in message: FailureMessage) -> [Claim] {
        let text = message.text
        func has(_ part: String) -> Bool { text.contains(part) }
        let (yes, no, none) = (
            FailureMessage.Operand("true"), FailureMessage.Operand("false"),
            FailureMessage.Operand("nil")
        )
        if has("XCTAssertTrue failed") || has("XCTAssert failed") {
            return [Claim(tested: no, condition: .equals(yes))]
        }
        if has("XCTAssertFalse failed") { return [Claim(tested: yes, condition: .equals(no))] }
        if has("XCTAssertNotNil failed") || has("expected non-nil value") {
            return [Claim(tested: none, condition: .exists)]
        }
        guard let operands = FailureMessage.operands(of: text) else {
            return [unevaluated(in: message)]
        }
        let left = FailureMessage.Operand(operands.left)
        if operands.right == nil, left.text == "nil", let element = literal(in: text[...]) {
            return [Claim(tested: nil, condition: .contains(element))]
        }
        if let contains = element(in: text) {
            let isNegated = text.contains("Expectation failed: !")
            return [Claim(tested: left, condition: isNegated ? .lacks(contains) : .contains(contains))]
        }
        guard let other = operands.right else {
            if has("XCTAssertNil failed") { return [Claim(tested: left, condition: .equals(none))] }
            // `#require` of an optional value, or one expression that is false.
            switch left.text {
            case "nil": return [Claim(tested: left, condition: .exists)]
            case "false": return [Claim(tested: left, condition: .equals(yes))]
            case "true": return [Claim(tested: left, condition: .equals(no))]
            default: return [Claim(tested: left, condition: .unknown)]
            }
        }
        let right = FailureMessage.Operand(other)
        let usual = Claim(tested: left, condition: condition(in: text, right, isSwapped: false))
        let swapped = Claim(tested: right, condition: condition(in: text, left, isSwapped: true))
        if message.isReversed { return [swapped] }
        return message.isOrderKnown ? [usual] : [usual, swapped]
    }

    /// Returns the condition that relates the tested operand to the other one.
    private static func condition(
        in text: String, _ other: FailureMessage.Operand, isSwapped: Bool
    ) -> Condition {
        func has(_ xctest: String, _ sign: String) -> Bool {
            text.contains("\") is \(xctest) (\"") || text.contains(" \(sign) ")
        }
        if has("not equal to", "==") || has("not identical to", "===") { return .equals(other) }
        if has("equal to", "!=") { return other.text == "nil" ? .exists : .differs(other) }
        guard other.values.count == 1, let number = other.values[0].number else { return .unknown }
        for (isLess, name, sign) in [(true, "less than", "<"), (false, "greater than", ">")] {
            let orEqual = has("not \(name) or equal to", sign + "=")
            if orEqual || has("not \(name)", sign) {
                return .ordered(isLess: isLess != isSwapped, orEqual: orEqual, number)
            }
        }
        return .unknown
    }

    /// Returns the argument of `contains`, as in `(names → ["a"]).contains("b")`; nil for other messages.
    private static func element(in text: String) -> FailureMessage.Operand? {
        guard let start = text.firstRange(of: ").contains(")?.upperBound else { return nil }
        let rest = text[start...]
        guard let end = rest.lastIndex(of: ")") else { return nil }
        return FailureMessage.Operand(FailureMessage.value(after: rest[..<end]))
    }

    /// Returns the only text in the closure of `contains` or `first`, as in `list.contains { $0.title == "Clock" }`; nil
    /// without it.
    private static func literal(in text: Substring) -> FailureMessage.Operand? {
        let line = text.prefix { !$0.isNewline }
        let starts = [".contains {", ".contains(where:", ".first {", ".first(where:"]
        guard let start = starts.compactMap({ line.firstRange(of: $0)?.upperBound }).min() else {
            return nil
        }
        let parts = line[start...].split(separator: "\"", omittingEmptySubsequences: false)
        return parts.count == 3 ? FailureMessage.Operand(String(parts[1])) : nil
    }

    /// Returns the claim of an expression whose values the message doesn't have, from the literals in it, and from the
    /// test's arguments.
    private static func unevaluated(in message: FailureMessage) -> Claim {
        let text = message.text
        let unknown = Claim(tested: nil, condition: .unknown)
        guard let start = text.firstRange(of: "Expectation failed: ")?.upperBound else { return unknown }
        let whole = expression(in: text[start...])[...]
        let line =
            FailureMessage.outerRange(of: " // ", in: whole).map { whole[..<$0.lowerBound] } ?? whole
        if line.hasPrefix("an error was") || line.hasPrefix("an unexpected error") { return unknown }
        let isCompound = [" && ", " || "].contains { FailureMessage.outerRange(of: $0, in: line) != nil }
        guard !isCompound else { return unknown }
        for sign in [" == ", " != ", " <= ", " >= ", " < ", " > "] {
            guard let place = FailureMessage.outerRange(of: sign, in: line) else { continue }
            let sides = [line[..<place.lowerBound], line[place.upperBound...]]
            let operands = sides.map(message.operand)
            guard let index = operands.lastIndex(where: { $0 != nil }), let literal = operands[index]
            else { return unknown }
            return Claim(
                tested: nil, condition: condition(in: sign, literal, isSwapped: index == 0),
                member: member(of: sides[1 - index]))
        }
        let isNegated = line.first == "!"
        if let element = literal(in: line) {
            return Claim(tested: nil, condition: isNegated ? .lacks(element) : .contains(element))
        }
        if line.hasSuffix(".isEmpty") || line.hasSuffix(".isEmpty)") {
            return Claim(
                tested: nil, condition: isNegated ? .exists : .equals(FailureMessage.Operand("[]")))
        }
        return Claim(
            tested: FailureMessage.Operand(isNegated ? "true" : "false"),
            condition: .equals(FailureMessage.Operand(isNegated ? "false" : "true")))
    }

    /// Returns an expression on one line: its further lines are indented, unlike a comment after it.
    private static func expression(in text: Substring) -> String {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let further = lines.dropFirst().prefix { $0.first?.isWhitespace == true }
        guard !further.isEmpty else { return String(lines[0]) }
        return ([lines[0]] + further).joined(separator: " ").split(separator: " ")
            .joined(separator: " ").replacing("[ ", with: "[").replacing("( ", with: "(")
            .replacing(/,? (?=[\])])/, with: "")
    }

    /// Returns the property that an expression takes last: `total` in `try invoice(1).total` and in
    /// `try invoices().map(\.total)`; nil without one.
    private static func member(of expression: Substring) -> String? {
        let pattern = /\.(?:(?:compactMap|map)(?:\(\\\.|\s*\{\s*\$0\.)(\w+)\s*[)}]|(\w+))\s*$/
        return expression.firstMatch(of: pattern).flatMap { $0.1 ?? $0.2 }.map(String.init)
    }
}

extension FailureMessage {
    struct Operand {
        let text: String
        /// The value, the elements of a list, or the properties of structures.
        private(set) var values: [Value]

        init(_ text: String) {
            var rest = text[...]
            while rest.hasPrefix("Optional("), rest.hasSuffix(")") {
                rest = rest.dropFirst("Optional(".count).dropLast()
            }
            self.text = String(rest)
            values = FailureMessage.values(of: self.text)
        }

        /// Makes a list of values, without the properties' labels in its text.
        init(_ values: [Value]) {
            text = "[" + values.map(\.text).joined(separator: ", ") + "]"
            self.values = values
        }

        /// Makes the operand of a literal, or of a call such as `euros("7.35")`; nil for another expression.
        init?(literal text: Substring) {
            let amount = text.wholeMatch(of: /\w+\((?:\w+: )?"(-?[0-9]+\.[0-9]{2})"\)/)
            guard amount != nil || Self.isLiteral(text) else { return nil }
            self.init(amount.map { String($0.1) } ?? String(text))
            if amount != nil { values[0].isAmount = true }
        }

        /// True for the text of a number, a text, a truth value, nil, a case, or an array or a structure of these.
        static func isLiteral(_ text: Substring) -> Bool {
            let number = /[-+]?[0-9][0-9_]*(?:\.[0-9_]+)?(?:e[-+]?[0-9]+)?/
            let literal = /true|false|nil|\.\w+|"(?:[^"\\]|\\[^(])*"/
            if text.wholeMatch(of: number) != nil || text.wholeMatch(of: literal) != nil { return true }
            if let structure = text.wholeMatch(of: /[A-Z][\w.]*\((.+)\)/) {
                return FailureMessage.parts(of: structure.1).allSatisfy { part in
                    isLiteral(
                        part.prefixMatch(of: /\s*\w+:\s+/).map { part[$0.range.upperBound...] } ?? part)
                }
            }
            guard text.first == "[", text.last == "]" else { return false }
            return FailureMessage.parts(of: text.dropFirst().dropLast()).allSatisfy { part in
                // An array's element, or a dictionary's.
                FailureMessage.outerRange(of: ": ", in: part).map {
                    isLiteral(part[..<$0.lowerBound]) && isLiteral(part[$0.upperBound...])
                } ?? isLiteral(part)
            }
        }

        /// The values that say much where they are found again.
        var telling: [Value] { values.filter { !$0.isCommon } }

        /// True if many queries have the operand as their result: a small number, a letter, a truth value, or no row.
        var isCommon: Bool { values.count < 2 && telling.isEmpty }

        /// True if one of many queries may have the operand as its result by chance: two such values are enough.
        var isChance: Bool { values.count < 3 && telling.isEmpty }

        /// True if the operand has a column's value, which is rare and no number in a key: numbers of rows are the same.
        func names(_ value: StoredValue, in column: String, isKey: Bool) -> Bool {
            telling.contains { own in
                let isNumber = own.number != nil && (isKey || Reference.isName(column))
                return own.matches(value) && (!isNumber || own.label.map(folded) == folded(column))
            }
        }

        var isList: Bool { text.hasPrefix("[") && text.hasSuffix("]") }

        /// The number of values of each of a list's elements; 1 for other operands.
        var width: Int {
            guard isList else { return 1 }
            let count = FailureMessage.parts(of: text.dropFirst().dropLast()).count
            return count > 0 && values.count.isMultiple(of: count) ? values.count / count : 1
        }

        /// True if the values have an order that the rows of a result may lack.
        func hasOrder(in result: QueryResult) -> Bool {
            let first = isList ? FailureMessage.parts(of: text.dropFirst().dropLast()).first : nil
            // A dictionary has none.
            return result.rows.count > 1
                && first.map { FailureMessage.outerRange(of: ": ", in: $0) == nil } ?? true
        }

        /// True if the values have labels.
        var isStructured: Bool { values.contains { $0.label != nil } }

        var shown: String { TextWidth.shortened(SafeText.line(text), to: 80) }
    }
}
