/// Queries that differ from a query in one of the ways in which queries are usually wrong.
///
/// Others, such as with one term less or in another order, give an expected result by chance too often.
struct QueryVariants {
    struct Variant {
        let sql: String
        /// The difference, such as "with <= in place of <".
        let text: String
        let family: Family
    }

    enum Family {
        /// `NOT IN` with a NULL in the list, which never is what was meant.
        case nulls
        /// An operator or a join: a few variants, so that a rare result says much.
        case form
        /// A join that keeps rows without a match: these may be wrong instead.
        case outerJoin
    }

    private let query: SQLText
    /// True if a parameter is a text, which may be a time.
    private let hasTexts: Bool
    private(set) var all: [Variant] = []

    private static let limit = 200
    private static let replacements = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "IS", "==": "IS", "<>": "IS NOT",
        "!=": "IS NOT",
        "/": "* 1.0 /",
    ]

    init(of sql: String, hasTexts: Bool = true) {
        query = SQLText(sql)
        self.hasTexts = hasTexts
        for index in query.tokens.indices { change(index) }
        for condition in query.conditions { change(condition) }
        var seen: Set<String> = [sql]
        all = Array(all.filter { seen.insert($0.sql).inserted }.prefix(Self.limit))
    }

    private mutating func append(_ sql: String, _ text: String, _ family: Family = .form) {
        all.append(Variant(sql: sql, text: text, family: family))
    }

    private mutating func replace(
        _ range: Range<Int>, with text: String, _ family: Family = .form
    ) {
        append(
            query.replacing(range, with: text), "with \(text) in place of \(query.text(range))", family)
    }

    private mutating func change(_ condition: SQLText.Condition) {
        for term in condition.terms where !query.relatesTables(term) {
            let hasOr = term.contains {
                query.tokens[$0].depth == condition.depth && query.tokens[$0].isWord("or")
            }
            if hasOr, condition.terms.count > 1 {
                let text = query.text(term)
                append(query.replacing(term, with: "(\(text))"), "with parentheses around \(text)")
            }
        }
    }

    private mutating func change(_ index: Int) {
        let token = query.tokens[index]
        let (previous, next) = (query.tokens[safe: index - 1], query.tokens[safe: index + 1])
        if token.kind == .sign, let other = Self.replacements[token.text] {
            replace(index..<(index + 1), with: other)
        }
        switch (token.kind, token.text) {
        case (.sign, "<"), (.sign, "<="), (.sign, ">"), (.sign, ">="):
            compareDays(before: index, with: index + 1)
        case (.name, "between"):
            compareDays(
                before: previous?.isWord("not") == true ? index - 1 : index, with: index + 1)
        case (.sign, "="), (.sign, "=="):
            guard let next, [.parameter, .text].contains(next.kind) else { return }
            append(
                query.replacing(
                    index + 1, with: query.text((index + 1)..<(index + 2)) + " COLLATE NOCASE"),
                "without regard to case")
        case (.name, "in"):
            // Nothing is known not to be in a list with NULL.
            guard previous?.isWord("not") == true, next?.text == "(", let end = closing(index + 1),
                let operand = operand(before: index - 1)
            else { return }
            let (value, list) = (query.text(operand), query.text((index + 1)..<(end + 1)))
            append(
                query.replacing(
                    operand.lowerBound..<(end + 1), with: "NOT coalesce(\(value) IN \(list), 0)"),
                "without NULL in the list of NOT IN", .nulls)
        case (.name, "join"):
            if previous?.isWord("left") == true {
                replace((index - 1)..<(index + 1), with: "JOIN")
            } else if previous?.isWord(in: ["cross", "outer", "natural"]) != true {
                let isInner = previous?.isWord("inner") == true
                replace((isInner ? index - 1 : index)..<(index + 1), with: "LEFT JOIN", .outerJoin)
            }
        case (.name, "union"):
            if next?.isWord("all") != true { replace(index..<(index + 1), with: "UNION ALL") }
        case (.name, "limit"):
            guard let next, next.kind != .name else { return }
            append(
                query.replacing(
                    index + 1, with: next.kind == .parameter ? "max(\(next.text), -1) * 0 - 1" : "-1"),
                "without LIMIT")
        default: break
        }
    }

    /// Adds variants that compare days in place of times.
    private mutating func compareDays(before index: Int, with value: Int) {
        // Numbers are no days.
        guard let operand = operand(before: index), let next = query.tokens[safe: value],
            next.kind != .number, next.kind != .parameter || hasTexts
        else { return }
        let column = query.text(operand)
        append(query.replacing(operand, with: "date(\(column))"), "with the day of \(column)")
        if [.parameter, .text].contains(next.kind) {
            let text = query.text(value..<(value + 1))
            append(query.replacing(value, with: "date(\(text))"), "with the day of \(text)")
        }
    }

    /// Returns the range of a column's name before a token, which a table's name may qualify.
    private func operand(before index: Int) -> Range<Int>? {
        guard let name = query.tokens[safe: index - 1], name.kind == .name else { return nil }
        let isQualified = query.tokens[safe: index - 2]?.text == "." && index >= 3
        return (isQualified ? index - 3 : index - 1)..<index
    }

    private func closing(_ open: Int) -> Int? {
        let depth = query.tokens[open].depth
        return query.tokens.indices.first {
            $0 > open && query.tokens[$0].depth == depth && query.tokens[$0].text == ")"
        }
    }
}
