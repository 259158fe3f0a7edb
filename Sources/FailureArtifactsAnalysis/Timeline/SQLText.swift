internal import FailureArtifactsSQLite

/// The tokens of a statement, and the terms of a query's conditions.
struct SQLText {
    struct Token {
        enum Kind {
            case name, text, number, parameter, sign
        }

        let kind: Kind
        /// True for a name in quotes, which is no keyword.
        let isQuoted: Bool
        /// A name or a keyword in lower case and without quotes, or the token itself.
        let text: String
        let range: Range<Int>
        let depth: Int

        func isWord(_ word: String) -> Bool { kind == .name && !isQuoted && text == word }
        func isWord(in words: Set<String>) -> Bool { kind == .name && !isQuoted && words.contains(text) }
    }

    /// A condition: the terms that `AND` joins, each as a range of tokens.
    struct Condition {
        /// The index of `WHERE`, `ON` or `HAVING`.
        let start: Int
        let terms: [Range<Int>]
        let depth: Int
    }

    let bytes: [UInt8]
    private(set) var tokens: [Token] = []

    init(_ sql: String, limit: Int = .max) {
        bytes = Array(sql.utf8)
        tokens = Self.tokens(of: sql, limit)
    }

    /// The tokens in lower case and without quotes; empty strings for texts.
    var words: [String] { tokens.map { $0.kind == .text ? "" : $0.text } }

    /// A part of the text that another one replaces.
    typealias Edit = (range: Range<Int>, text: String)

    func replacing(_ edits: [Edit]) -> String {
        var result = bytes
        for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
            result.replaceSubrange(byteRange(edit.range), with: Array(edit.text.utf8))
        }
        return String(decoding: result, as: UTF8.self)
    }

    func replacing(_ range: Range<Int>, with text: String) -> String { replacing([(range, text)]) }

    func replacing(_ index: Int, with text: String) -> String {
        replacing(index..<(index + 1), with: text)
    }

    private func byteRange(_ range: Range<Int>) -> Range<Int> {
        tokens[range.lowerBound].range.lowerBound..<tokens[range.upperBound - 1].range.upperBound
    }

    /// The same statement with numbered parameters, which keep their values in another place.
    ///
    /// A statement with names for some of its parameters stays as it is.
    var numbered: SQLText {
        let parameters = tokens.indices.filter { tokens[$0].kind == .parameter }
        guard parameters.allSatisfy({ tokens[$0].text == "?" }) else { return self }
        return SQLText(
            replacing(parameters.enumerated().map { ($1..<($1 + 1), "?\($0 + 1)") }))
    }

    func text(_ range: Range<Int>) -> String {
        String(decoding: bytes[byteRange(range)], as: UTF8.self)
    }

    func text(_ index: Int) -> String { text(index..<(index + 1)) }

    /// Returns the index of the parenthesis that closes another one; nil without it.
    func closing(_ open: Int) -> Int? {
        tokens[open...].dropFirst().indices.first {
            tokens[$0].depth == tokens[open].depth && tokens[$0].text == ")"
        }
    }

    /// Returns the end of an expression that begins at an index: that of its parenthesis, its clause or its term.
    func end(ofExpressionAt start: Int, stopping words: Set<String> = []) -> Int {
        tokens.indices[start...].first {
            let token = tokens[$0]
            return token.depth < tokens[start].depth
                || token.depth == tokens[start].depth
                    && (token.isWord(in: Self.ends.union(words)) || [";", ","].contains(token.text))
        } ?? tokens.count
    }

    // MARK: - Conditions

    /// The words that end a condition at its depth.
    private static let ends: Set = [
        "group", "order", "limit", "having", "window", "union", "except", "intersect", "where", "join",
        "left",
        "right", "full", "inner", "cross", "natural", "returning",
    ]

    var conditions: [Condition] {
        tokens.indices.compactMap { index in
            guard tokens[index].isWord(in: ["where", "on", "having"]) else { return nil }
            let depth = tokens[index].depth
            var terms: [Range<Int>] = []
            var start = index + 1
            var isBetween = false
            var end = index + 1
            while end < tokens.count {
                let token = tokens[end]
                if token.depth < depth
                    || token.depth == depth && (token.isWord(in: Self.ends) || token.text == ";")
                {
                    break
                }
                if token.depth == depth {
                    if token.isWord("between") { isBetween = true }
                    if token.isWord("and") {
                        if isBetween {
                            isBetween = false
                        } else {
                            if start < end { terms.append(start..<end) }
                            start = end + 1
                        }
                    }
                }
                end += 1
            }
            if start < end { terms.append(start..<end) }
            return terms.isEmpty ? nil : Condition(start: index, terms: terms, depth: depth)
        }
    }

    /// True if a term relates the rows of several tables: without it, the query has all pairs of their rows.
    func relatesTables(_ term: Range<Int>) -> Bool {
        let qualifiers = Set(
            term.dropLast().filter { tokens[$0].kind == .name && tokens[$0 + 1].text == "." }
                .map { tokens[$0].text })
        func isColumn(_ index: Int) -> Bool {
            term.contains(index) && tokens[index].kind == .name && tokens[safe: index + 1]?.text != "("
                && !tokens[index].isWord(in: ["true", "false", "null"])
        }
        return qualifiers.count > 1
            || tables.count > 1
                && term.contains { index in
                    ["=", "=="].contains(tokens[index].text) && isColumn(index - 1)
                        && isColumn(index + 1)
                        && qualifiers.isEmpty
                }
    }

    /// The query with one term of a condition always true, for each term, and with each inner join as an outer one.
    ///
    /// The parameters stay the same. Terms that name a row by its key stay: all other rows would count as left out. So do
    /// those that relate tables.
    func relaxed(keys: Set<String>) -> [RelaxedQuery] {
        let joins = tokens.indices.compactMap { index -> RelaxedQuery? in
            guard tokens[index].isWord("join") else { return nil }
            let previous = tokens[safe: index - 1]
            if previous?.isWord(in: ["left", "cross", "outer", "natural", "right", "full"]) == true {
                return nil
            }
            let start = previous?.isWord("inner") == true ? index - 1 : index
            let table = tokens[safe: index + 1].map {
                text((index + 1)..<(index + 2)) + ($0.text == "(" ? "…" : "")
            }
            return RelaxedQuery(
                term: "JOIN " + (table ?? ""), sql: replacing(start..<(index + 1), with: "LEFT JOIN"))
        }
        return conditions.filter { !tokens[$0.start].isWord("on") }.flatMap {
            condition -> [RelaxedQuery] in
            let outer = select(around: condition.start)
            let tables = sources.filter { select(around: $0.range.lowerBound) == outer }.map(\.table)
            return condition.terms.compactMap { term -> RelaxedQuery? in
                if relatesTables(term) { return nil }
                let (text, words) = (text(term), tokens[term])
                let isIdentity =
                    words.contains { $0.kind == .sign && ["=", "=="].contains($0.text) }
                    && words.contains { $0.kind == .parameter }
                if isIdentity, words.contains(where: { keys.contains($0.text) }) { return nil }
                return RelaxedQuery(
                    term: text, sql: replacing(term, with: "(1 OR (\(text)))"), isIdentity: isIdentity,
                    tables: Set(tables))
            }
        } + joins
    }

    /// The query without one of its terms.
    struct RelaxedQuery {
        let term: String
        let sql: String
        /// True if the term compares a column with a parameter, so that it leaves out what belongs to something else.
        var isIdentity = false
        /// The tables to whose rows the term applies; nil for a join.
        var tables: Set<String>?
    }

    private static let aggregates: Set = [
        "count", "sum", "total", "avg", "min", "max", "group_concat", "json_group_array",
    ]

    /// True if the query has one row for all rows of its tables.
    var isAggregate: Bool {
        let outer = tokens.indices.filter { tokens[$0].depth == 0 }
        let from = outer.first { tokens[$0].isWord("from") } ?? tokens.count
        return !outer.contains { tokens[$0].isWord(in: ["group", "union", "over"]) }
            && outer.contains { index in
                index < from && tokens[index].isWord(in: Self.aggregates)
                    && tokens[safe: index + 1]?.text == "("
            }
    }

    // MARK: - Tables

    /// Returns the index of the `SELECT` of the query, or of the subquery, that a token belongs to; nil without one.
    func select(around index: Int) -> Int? {
        var depth = tokens[index].depth
        for place in tokens.indices[..<index].reversed() {
            depth = min(depth, tokens[place].depth)
            if tokens[place].depth <= depth, tokens[place].isWord("select") { return place }
        }
        return nil
    }

    /// A table of a `FROM` clause.
    struct Source {
        /// The database that the statement names; nil without one.
        let schema: String?
        let table: String
        /// The alias; nil without one.
        let alias: String?
        /// The tokens of the table's name, with the database.
        let range: Range<Int>

        /// The name that qualifies its columns.
        var name: String { alias ?? table }
    }

    var tables: [String] { sources.map(\.table) }

    /// The tables that the statements of a trigger write.
    var writtenTables: [String] {
        tokens.indices.compactMap { index in
            let token = tokens[index]
            let isWrite =
                token.isWord(in: ["into", "update"])
                || token.isWord("from") && tokens[safe: index - 1]?.isWord("delete") == true
            guard isWrite, token.depth == 0, tokens[safe: index - 1]?.isWord("do") != true else {
                return nil
            }
            let next = tokens[safe: index + 1]?.isWord("or") == true ? index + 3 : index + 1
            guard let name = tokens[safe: next], name.kind == .name, !name.isWord(in: ["of", "on"])
            else {
                return nil
            }
            return name.text
        }
    }

    /// The first table of the query itself, not of a subquery; nil without one.
    var outerTable: String? {
        let sources = sources
        let depth = sources.map { tokens[$0.range.lowerBound].depth }.min()
        return sources.first { tokens[$0.range.lowerBound].depth == depth }?.table
    }

    /// The tables of the `FROM` clauses of the query and its subqueries.
    var sources: [Source] {
        var isList: [Int: Bool] = [:]
        let ends = Self.ends.union(["on", "using", "set", "select"])
        return tokens.indices.dropLast().compactMap { index in
            let token = tokens[index]
            if token.isWord(in: ["from", "join"]) {
                isList[token.depth] = true
            } else if token.isWord(in: ends) {
                isList[token.depth] = false
            }
            let first = token.text == "(" ? tokens[safe: index - 1] : token
            let isStart =
                first?.isWord(in: ["from", "join"]) == true
                || token.text == "," && isList[token.depth] == true
            guard isStart, tokens[index + 1].kind == .name,
                !tokens[index + 1].isWord(in: ["select", "values", "with"])
            else { return nil }
            let isQualified = tokens[safe: index + 2]?.text == "." && index + 3 < tokens.count
            let end = index + (isQualified ? 4 : 2)
            let next = tokens[safe: end]?.isWord("as") == true ? end + 1 : end
            let alias = tokens[safe: next].flatMap { token in
                token.kind == .name && !token.isWord(in: ends.union(["indexed", "not"]))
                    ? token.text : nil
            }
            return Source(
                schema: isQualified ? tokens[index + 1].text : nil, table: tokens[end - 1].text,
                alias: alias, range: (index + 1)..<end)
        }
    }

    // MARK: - Tokens

    private static let operators: Set = ["<=", "<>", "<<", ">=", ">>", "!=", "==", "||"]

    private static func tokens(of sql: String, _ limit: Int) -> [Token] {
        var scanner = SQLScanner(sql)
        var tokens: [Token] = []
        var depth = 0
        while tokens.count < limit, let token = scanner.next() {
            let text = scanner.text(of: token)
            func append(_ kind: Token.Kind, _ text: String) {
                tokens.append(
                    Token(
                        kind: kind, isQuoted: token.kind == .quotedName, text: text, range: token.range,
                        depth: depth))
            }
            switch token.kind {
            case .space, .lineComment, .blockComment: continue
            case .string, .blob: append(.text, folded(scanner.unquoted(token)))
            case .quotedName: append(.name, folded(scanner.unquoted(token)))
            case .word: append(.name, folded(text))
            case .number: append(.number, text)
            case .parameter: append(.parameter, text)
            case .sign:
                if let last = tokens.last, last.kind == .sign,
                    last.range.upperBound == token.range.lowerBound,
                    operators.contains(last.text + text)
                {
                    tokens[tokens.count - 1] = Token(
                        kind: .sign, isQuoted: false, text: last.text + text,
                        range: last.range.lowerBound..<token.range.upperBound, depth: depth)
                    continue
                }
                if text == ")" { depth = max(0, depth - 1) }
                append(.sign, text)
                if text == "(" { depth += 1 }
            }
        }
        return tokens
    }
}
