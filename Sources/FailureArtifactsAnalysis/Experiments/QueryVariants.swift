internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Queries that differ from a query in one of the ways in which queries are usually wrong.
///
/// Each is made from the query's tokens, the schema, or the other queries of the test. SQLite refuses those without
/// meaning.
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
        /// An operator, a condition or a join: a few variants, so that a rare result says much.
        case form
        /// The same rows in another order, one variant for each column.
        case order
        /// A join that keeps rows without a match: these may be wrong instead.
        case outerJoin
    }

    /// The facts about the store and the test that the query doesn't have.
    struct Context {
        /// The tables, by their folded names.
        var tables: [String: TableShape] = [:]
        var references: [Reference] = []
        /// The terms that queries have for the columns of one table, by the table's folded name.
        var terms: [String: [String]] = [:]
    }

    /// The query with numbered parameters, so that a variant can move and repeat them.
    let query: SQLText
    let context: Context
    let sources: [SQLText.Source]
    /// True if a parameter is a text, which may be a time.
    private let hasTexts: Bool
    private(set) var all: [Variant] = []

    private static let limit = 300
    private static let replacements = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "=": "IS", "==": "IS", "<>": "IS NOT",
        "!=": "IS NOT",
        "/": "* 1.0 /",
    ]

    init(of sql: String, hasTexts: Bool = true, in context: Context) {
        query = SQLText(sql).numbered
        self.context = context
        self.hasTexts = hasTexts
        sources = query.sources
        for index in query.tokens.indices { change(index) }
        for condition in query.conditions { addParentheses(condition) }
        changeJoins()
        addTerms()
        changeOrders()
        var seen: Set<String> = [query.replacing([])]
        all = Array(all.filter { seen.insert($0.sql).inserted }.prefix(Self.limit))
    }

    mutating func append(_ edits: [SQLText.Edit], _ text: String, _ family: Family = .form) {
        // The query has no numbers.
        let text = text.replacing(/\?[0-9]+/, with: "?")
        all.append(Variant(sql: query.replacing(edits), text: text, family: family))
    }

    mutating func replace(_ range: Range<Int>, with text: String, _ family: Family = .form) {
        append([(range, text)], "with \(text) in place of \(query.text(range))", family)
    }

    /// Returns the name of a table as the schema has it.
    func name(of source: SQLText.Source) -> String {
        context.tables[source.table]?.name ?? source.table
    }

    /// Returns the table of a column at an index; nil if it is no column of one of the sources, or of several.
    func source(ofColumnAt index: Int) -> SQLText.Source? {
        let token = query.tokens[index]
        guard token.kind == .name, !["(", "."].contains(query.tokens[safe: index + 1]?.text) else {
            return nil
        }
        if query.tokens[safe: index - 1]?.text == "." {
            return sources.last { $0.name == query.tokens[index - 2].text }
        }
        let owners = sources.filter { source in
            context.tables[source.table]?.columns.contains { folded($0.name) == token.text } ?? false
        }
        return owners.count == 1 ? owners[0] : nil
    }

    /// Returns the table whose columns a range has; nil without a column, or for columns of several tables.
    func onlySource(in range: Range<Int>) -> SQLText.Source? {
        let found = range.compactMap(source(ofColumnAt:))
        return found.allSatisfy { $0.range == found[0].range } ? found.first : nil
    }

    private mutating func addParentheses(_ condition: SQLText.Condition) {
        for term in condition.terms where !query.relatesTables(term) {
            let hasOr = term.contains {
                query.tokens[$0].depth == condition.depth && query.tokens[$0].isWord("or")
            }
            if hasOr, condition.terms.count > 1 {
                let text = query.text(term)
                append([(term, "(\(text))")], "with parentheses around \(text)")
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
            let isNegated = previous?.isWord("not") == true
            compareDays(before: isNegated ? index - 1 : index, with: index + 1)
            if !isNegated { excludeBound(of: index) }
        case (.sign, "="), (.sign, "=="):
            guard let next, [.parameter, .text].contains(next.kind) else { return }
            append(
                [((index + 1)..<(index + 2), query.text(index + 1) + " COLLATE NOCASE")],
                "without regard to case")
        case (.name, "like"): escape(index)
        case (.name, "in"):
            // Nothing is known not to be in a list with NULL.
            guard previous?.isWord("not") == true, next?.text == "(",
                let end = query.closing(index + 1), let operand = operand(before: index - 1)
            else { return }
            let (value, list) = (query.text(operand), query.text((index + 1)..<(end + 1)))
            append(
                [(operand.lowerBound..<(end + 1), "NOT coalesce(\(value) IN \(list), 0)")],
                "without NULL in the list of NOT IN", .nulls)
        case (.name, "union"):
            if next?.isWord("all") != true { replace(index..<(index + 1), with: "UNION ALL") }
        default: break
        }
    }

    /// Adds variants in which a bound of `BETWEEN` isn't part of the range, as in half-open ranges.
    private mutating func excludeBound(of between: Int) {
        guard let operand = operand(before: between),
            query.tokens[safe: between + 2]?.isWord("and") == true, between + 3 < query.tokens.count
        else { return }
        let (column, low, high) = (
            query.text(operand), query.text(between + 1), query.text(between + 3)
        )
        for (first, last) in [(">=", "<"), (">", "<=")] {
            replace(
                operand.lowerBound..<(between + 4),
                with: "(\(column) \(first) \(low) AND \(column) \(last) \(high))")
        }
    }

    /// Adds a variant in which the characters of a pattern that aren't at its ends match only themselves.
    private mutating func escape(_ like: Int) {
        guard like + 1 < query.tokens.count else { return }
        let end = query.end(ofExpressionAt: like + 1, stopping: ["and", "or", "escape", "then"])
        guard end > like + 1, query.tokens[safe: end]?.isWord("escape") != true else { return }
        let pattern = query.text((like + 1)..<end)
        let inner = [#"\"#, "%", "_"].reduce("substr(\(pattern), 2, max(length(\(pattern)) - 2, 0))") {
            #"replace(\#($0), '\#($1)', '\\#($1)')"#
        }
        append(
            [
                (
                    (like + 1)..<end,
                    #"(substr(\#(pattern), 1, 1) || \#(inner) || substr(\#(pattern), -1)) ESCAPE '\'"#
                )
            ], #"with ESCAPE for the characters % and _ in \#(pattern)"#)
    }

    /// Adds variants that compare days in place of times.
    private mutating func compareDays(before index: Int, with value: Int) {
        // Numbers are no days.
        guard let operand = operand(before: index), let next = query.tokens[safe: value],
            next.kind != .number, next.kind != .parameter || hasTexts
        else { return }
        let column = query.text(operand)
        append([(operand, "date(\(column))")], "with the day of \(column)")
        if [.parameter, .text].contains(next.kind) {
            let text = query.text(value)
            append([(value..<(value + 1), "date(\(text))")], "with the day of \(text)")
        }
    }

    /// Returns the range of a column's name before a token, which a table's name may qualify.
    private func operand(before index: Int) -> Range<Int>? {
        guard let name = query.tokens[safe: index - 1], name.kind == .name else { return nil }
        let isQualified = query.tokens[safe: index - 2]?.text == "." && index >= 3
        return (isQualified ? index - 3 : index - 1)..<index
    }

    /// Adds variants that read only the rows of a table for which a term of another query is true.
    private mutating func addTerms() {
        for source in sources {
            for term in context.terms[source.table] ?? [] {
                let alias = source.alias == nil ? " AS \(quotedIdentifier(source.table))" : ""
                append(
                    [
                        (
                            source.range,
                            "(SELECT * FROM \(query.text(source.range)) WHERE \(term))\(alias)"
                        )
                    ],
                    "with \(term) for \(name(of: source)), as another query of the test has it")
            }
        }
    }
}

extension QueryVariants.Context {
    /// Finds the terms that the test's other queries have, and this one lacks.
    init(_ store: Timeline, of question: Question) {
        tables = store.schema.tables
        references = store.references
        var seen: Set<String> = [question.record.sql]
        var found = Set(Self.terms(of: SQLText(question.sql), tables).map(\.words))
        for statement in store.testStatements where statement.outline.isSelect {
            guard seen.insert(statement.record.sql).inserted else { continue }
            for term in Self.terms(of: SQLText(statement.record.sql), tables)
            where question.reads[term.table] != nil && found.insert(term.words).inserted {
                terms[term.table, default: []].append(term.text)
            }
        }
    }

    private struct Term {
        /// The only table whose columns the term has, as a folded name.
        let table: String
        /// The text without the table's name.
        let text: String
        let words: [String]
    }

    /// Returns the terms of a query without parameters on columns of one table.
    private static func terms(of query: SQLText, _ tables: [String: TableShape]) -> [Term] {
        let sources = query.sources
        return query.conditions.filter { !query.tokens[$0.start].isWord("having") }.flatMap(\.terms)
            .compactMap { term in
                var term = term
                while query.tokens[term.lowerBound].text == "(",
                    query.closing(term.lowerBound) == term.upperBound - 1, term.count > 2
                {
                    term = (term.lowerBound + 1)..<(term.upperBound - 1)
                }
                let tokens = query.tokens[term]
                let isPlain = !tokens.contains { $0.kind == .parameter || $0.isWord("select") }
                let qualifiers = Set(term.dropLast().filter { query.tokens[$0 + 1].text == "." })
                let names = Set(qualifiers.map { query.tokens[$0].text })
                let owners = sources.filter { names.isEmpty ? sources.count == 1 : names == [$0.name] }
                guard isPlain, owners.count == 1, let shape = tables[owners[0].table],
                    tokens.contains(where: { token in
                        token.kind == .name && shape.columns.contains { folded($0.name) == token.text }
                    })
                else { return nil }
                let rest = term.filter { !qualifiers.contains($0) && !qualifiers.contains($0 - 1) }
                let texts = rest.map(query.text)
                return Term(
                    table: owners[0].table, text: texts.joined(separator: " "),
                    words: rest.map {
                        query.tokens[$0].kind == .text ? query.text($0) : query.tokens[$0].text
                    }
                )
            }
    }
}
