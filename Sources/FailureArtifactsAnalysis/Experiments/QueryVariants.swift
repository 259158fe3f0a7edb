internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Queries that differ from a query in one of the ways in which queries are usually wrong.
///
/// Negated terms, another order and `DISTINCT` are none of them, because these give an expected result by chance too often.
struct QueryVariants {
    struct Variant {
        let sql: String
        /// The difference, such as "with <= in place of <".
        let text: String
        let family: Family
    }

    /// The kinds of differences.
    enum Family {
        /// `NOT IN` with a NULL in the list, which never is what was meant.
        case nulls
        /// An operator, an aggregate or a join: a few variants, so that a rare result says much.
        case form
        /// One term less: a row that should meet the term may be wrong instead.
        case lessTerms
        /// A term or a column that the query doesn't have: so many variants that a result says little.
        case others
    }

    private let query: SQLText
    private var family = Family.form
    private(set) var all: [Variant] = []

    /// The maximum number of variants of a query.
    private static let limit = 200

    init(
        of sql: String, in schema: DatabaseSchema, terms: [String: [String]],
        values: (_ table: TableShape, _ column: TableShape.Column) -> [String]
    ) {
        query = SQLText(sql)
        for index in query.tokens.indices { change(index) }
        for condition in query.conditions { change(condition) }
        family = .others
        order(in: schema)
        add(terms, in: schema, values)
        rename(in: schema)
        var seen: Set<String> = [sql]
        all = Array(all.filter { seen.insert($0.sql).inserted }.prefix(Self.limit))
    }

    private mutating func append(_ sql: String, _ text: String) {
        all.append(Variant(sql: sql, text: text, family: family))
    }

    // MARK: - Conditions

    private mutating func change(_ condition: SQLText.Condition) {
        for term in condition.terms {
            let text = query.text(term)
            family = .lessTerms
            append(query.replacing(term, with: "(1 OR (\(text)))"), "without the term \(text)")
            family = .form
            let hasOr = term.contains {
                query.tokens[$0].depth == condition.depth && query.tokens[$0].isWord("or")
            }
            if hasOr, condition.terms.count > 1 {
                append(query.replacing(term, with: "(\(text))"), "with parentheses around \(text)")
            }
        }
    }

    private mutating func replace(_ index: Int, with text: String) {
        append(
            query.replacing(index, with: text),
            "with \(text) in place of \(query.text(index..<(index + 1)))")
    }

    private mutating func change(_ index: Int) {
        let tokens = query.tokens
        let token = tokens[index]
        let next = tokens[safe: index + 1]
        switch (token.kind, token.text) {
        case (.sign, "<"), (.sign, "<="), (.sign, ">"), (.sign, ">="):
            replace(index, with: token.text.count == 2 ? String(token.text.prefix(1)) : token.text + "=")
            compareDays(before: index)
        case (.name, "between"):
            compareDays(before: tokens[safe: index - 1]?.isWord("not") == true ? index - 1 : index)
        case (.name, "in"):
            // Nothing is known not to be in a list with NULL.
            guard tokens[safe: index - 1]?.isWord("not") == true, next?.text == "(",
                let end = closing(index + 1),
                let operand = operand(before: index - 1)
            else { return }
            let (value, list) = (query.text(operand), query.text((index + 1)..<(end + 1)))
            family = .nulls
            defer { family = .form }
            append(
                query.replacing(
                    operand.lowerBound..<(end + 1), with: "NOT coalesce(\(value) IN \(list), 0)"),
                "without NULL in the list of NOT IN")
        case (.sign, "="), (.sign, "=="):
            replace(index, with: "IS")
            if let next, [.parameter, .text].contains(next.kind) {
                append(
                    query.replacing(
                        index + 1, with: query.text((index + 1)..<(index + 2)) + " COLLATE NOCASE"),
                    "without regard to case")
            }
        case (.sign, "<>"), (.sign, "!="): replace(index, with: "IS NOT")
        case (.sign, "/"): replace(index, with: "* 1.0 /")
        case (.name, "join"):
            let previous = tokens[safe: index - 1]
            if previous?.isWord("left") == true {
                append(
                    query.replacing((index - 1)..<(index + 1), with: "JOIN"),
                    "with JOIN in place of LEFT JOIN")
            } else {
                let isInner = previous?.isWord("inner") == true
                guard previous?.isWord(in: ["cross", "outer", "natural"]) != true else { return }
                family = .lessTerms
                append(
                    query.replacing((isInner ? index - 1 : index)..<(index + 1), with: "LEFT JOIN"),
                    "with LEFT JOIN in place of JOIN")
                family = .form
            }
        case (.name, "integer"), (.name, "int"):
            if tokens[safe: index - 1]?.isWord("as") == true { replace(index, with: "REAL") }
        case (.name, "union"):
            if next?.isWord("all") != true { replace(index, with: "UNION ALL") }
        case (.name, "limit"):
            guard let next, next.kind != .name else { return }
            append(
                query.replacing(
                    index + 1, with: next.kind == .parameter ? "max(\(next.text), -1) * 0 - 1" : "-1"),
                "without LIMIT")
        case (.name, "count"), (.name, "sum"), (.name, "avg"), (.name, "total"):
            guard next?.text == "(", let end = closing(index + 1), end > index + 2 else { return }
            let argument = query.text((index + 2)..<end)
            if token.text == "count", query.sources.count > 1 { countOnce(argument, (index + 2)..<end) }
            guard argument != "*", tokens[index + 2].isWord("distinct") == false else { return }
            if token.text == "count" {
                append(query.replacing((index + 2)..<end, with: "*"), "with count(*)")
            } else {
                append(
                    query.replacing((index + 2)..<end, with: "coalesce(\(argument), 0)"),
                    "with 0 in place of NULL in \(argument)")
            }
            if token.text == "sum" { replace(index, with: "total") }
        case (.name, _):
            // A column beside an arithmetic operator.
            let isQualifier = next?.text == "." || next?.text == "("
            let start = tokens[safe: index - 1]?.text == "." ? index - 2 : index
            let before = tokens[safe: start - 1]
            let signs: Set = ["+", "-", "*", "/"]
            guard !isQualifier, start >= 0,
                signs.contains(next?.text ?? "") && next?.kind == .sign
                    || signs.contains(before?.text ?? "") && before?.kind == .sign
                        && index + 1 < tokens.count
            else { return }
            let column = query.text(start..<(index + 1))
            append(
                query.replacing(start..<(index + 1), with: "coalesce(\(column), 0)"),
                "with 0 in place of NULL in \(column)")
        default: break
        }
    }

    /// Adds variants that count each row of a table once, because a join repeats rows.
    private mutating func countOnce(_ argument: String, _ range: Range<Int>) {
        family = .others
        defer { family = .form }
        if argument != "*" {
            append(
                query.replacing(range, with: "DISTINCT \(argument)"),
                "with each \(argument) counted once")
            return
        }
        let depth = query.tokens[range.lowerBound].depth - 1
        for source in query.sources.filter({ $0.depth == depth }).prefix(3) {
            let key = "\(quotedIdentifier(source.name)).rowid"
            append(
                query.replacing(range, with: "DISTINCT \(key)"),
                "with each row of \(source.table) counted once")
        }
    }

    /// Adds a variant that compares days in place of times.
    private mutating func compareDays(before index: Int) {
        guard let operand = operand(before: index) else { return }
        let column = query.text(operand)
        append(query.replacing(operand, with: "date(\(column))"), "with the day of \(column)")
        if let next = query.tokens[safe: index + 1], [.parameter, .text].contains(next.kind) {
            let value = query.text((index + 1)..<(index + 2))
            append(query.replacing(index + 1, with: "date(\(value))"), "with the day of \(value)")
        }
    }

    /// Returns the range of a column's name before a token, which a table's name may qualify.
    private func operand(before index: Int) -> Range<Int>? {
        guard let name = query.tokens[safe: index - 1], name.kind == .name else { return nil }
        let isQualified = query.tokens[safe: index - 2]?.text == "." && index >= 3
        return (isQualified ? index - 3 : index - 1)..<index
    }

    /// Returns the index of the parenthesis that closes another one.
    private func closing(_ open: Int) -> Int? {
        let depth = query.tokens[open].depth
        return query.tokens.indices.first {
            $0 > open && query.tokens[$0].depth == depth && query.tokens[$0].text == ")"
        }
    }

    // MARK: - Order

    private mutating func order(in schema: DatabaseSchema) {
        let tokens = query.tokens
        for index in tokens.indices
        where tokens[index].isWord("order") && tokens[safe: index + 1]?.isWord("by") == true {
            let depth = tokens[index].depth
            var end = index + 2
            while end < tokens.count, tokens[end].depth >= depth,
                !(tokens[end].depth == depth
                    && tokens[end].isWord(in: ["limit", "union", "rows", "range"]))
                    && !(tokens[end].depth == depth && [")", ";"].contains(tokens[end].text))
            { end += 1 }
            guard end > index + 2 else { continue }
            for place in (index + 2)..<end
            where tokens[place].kind == .name && tokens[place].depth == depth
                && !tokens[place].isWord(in: [
                    "asc", "desc", "collate", "nulls", "first", "last", "nocase", "binary",
                ])
                && ![".", "("].contains(tokens[safe: place + 1]?.text ?? "")
            {
                let name = query.text(place..<(place + 1))
                append(
                    query.replacing(place, with: name + " COLLATE NOCASE"),
                    "ordered without regard to case")
                append(query.replacing(place, with: name + " + 0"), "ordered by numbers")
            }
            for source in query.sources where source.depth == depth {
                for column in schema.tables[source.table]?.columns.prefix(20) ?? [] {
                    let key = "\(quotedIdentifier(source.name)).\(quotedIdentifier(column.name))"
                    let text = query.text((index + 2)..<end)
                    append(
                        query.replacing((index + 2)..<end, with: "\(text), \(key)"),
                        "with rows of equal rank ordered by \(column.name)")
                }
            }
        }
    }

    // MARK: - Further terms

    private mutating func add(
        _ terms: [String: [String]], in schema: DatabaseSchema,
        _ values: (TableShape, TableShape.Column) -> [String]
    ) {
        for source in query.sources.prefix(4) {
            guard let table = schema.tables[source.table] else { continue }
            for term in terms[source.table] ?? [] {
                add(term, "with the term \(term)", at: source.depth)
            }
            for column in table.columns.prefix(30) where column.keyPosition == 0 {
                let name = "\(quotedIdentifier(source.name)).\(quotedIdentifier(column.name))"
                if !column.isNotNull {
                    add("\(name) IS NULL", "with the term \(column.name) IS NULL", at: source.depth)
                    add(
                        "\(name) IS NOT NULL", "with the term \(column.name) IS NOT NULL",
                        at: source.depth)
                }
                for value in values(table, column) {
                    add(
                        "\(name) = \(value)", "with the term \(column.name) = \(value)", at: source.depth
                    )
                }
            }
        }
    }

    /// Adds a variant with another term in the first condition at a depth.
    private mutating func add(_ term: String, _ text: String, at depth: Int) {
        if let condition = query.conditions.first(where: {
            $0.depth == depth && query.tokens[$0.start].isWord("where")
        }) {
            let range =
                condition.terms[0].lowerBound..<condition.terms[condition.terms.count - 1].upperBound
            append(query.replacing(range, with: "(\(query.text(range))) AND \(term)"), text)
            return
        }
        let ends: Set = ["group", "order", "limit", "window", "union", "except", "intersect"]
        guard
            let from = query.tokens.indices.first(where: {
                query.tokens[$0].depth == depth && query.tokens[$0].isWord("from")
            })
        else { return }
        let end = query.tokens.indices.first {
            $0 > from
                && (query.tokens[$0].depth < depth
                    || query.tokens[$0].depth == depth
                        && (query.tokens[$0].isWord(in: ends)
                            || [")", ";"].contains(query.tokens[$0].text)))
        }
        let last = (end ?? query.tokens.count) - 1
        append(query.replacing(last, with: query.text(last..<(last + 1)) + " WHERE \(term) "), text)
    }

    // MARK: - Other columns

    /// Adds variants in which another column of the same table and type takes the place of a column.
    private mutating func rename(in schema: DatabaseSchema) {
        let tables = query.sources.compactMap { schema.tables[$0.table] }
        let places = Set(query.sources.map(\.index))
        for (index, token) in query.tokens.enumerated()
        where token.kind == .name && !places.contains(index) {
            guard query.tokens[safe: index + 1]?.text != ".", query.tokens[safe: index + 1]?.text != "("
            else { continue }
            let qualifier =
                query.tokens[safe: index - 1]?.text == "." ? query.tokens[safe: index - 2]?.text : nil
            let own = qualifier.flatMap { name in query.sources.first { $0.name == name }?.table }
                .flatMap { schema.tables[$0] }
            let candidates = own.map { [$0] } ?? tables
            guard
                let table = candidates.first(where: {
                    $0.columns.contains { folded($0.name) == token.text }
                }),
                let column = table.columns.first(where: { folded($0.name) == token.text })
            else { continue }
            let affinity = Affinity(declaredType: column.type)
            for other in table.columns.prefix(40)
            where other != column && Affinity(declaredType: other.type) == affinity {
                append(
                    query.replacing(index, with: quotedIdentifier(other.name)),
                    "with \(other.name) in place of \(column.name)")
            }
        }
    }
}
