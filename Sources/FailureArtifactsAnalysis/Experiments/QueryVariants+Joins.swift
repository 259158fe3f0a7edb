internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension QueryVariants {
    private static let aggregates: Set = ["avg", "count", "sum", "total"]

    /// Adds variants with other joins, other conditions of them, and without the rows that they repeat.
    mutating func changeJoins() {
        for index in query.tokens.indices {
            let token = query.tokens[index]
            if token.isWord("join") { changeKind(ofJoinAt: index) }
            if token.isWord("select"), query.tokens[safe: index + 1]?.isWord("distinct") == false {
                append([(index..<(index + 1), "SELECT DISTINCT")], "with DISTINCT")
            }
            if token.text == "=" { changeColumns(ofJoinAt: index) }
        }
        for source in sources { moveTerms(on: source) }
        countOnce()
    }

    private mutating func changeKind(ofJoinAt index: Int) {
        let previous = query.tokens[safe: index - 1]
        if previous?.isWord("left") == true {
            replace((index - 1)..<(index + 1), with: "JOIN")
        } else if previous?.isWord(in: ["cross", "outer", "natural"]) != true {
            let isInner = previous?.isWord("inner") == true
            replace((isInner ? index - 1 : index)..<(index + 1), with: "LEFT JOIN", .outerJoin)
        }
    }

    /// Adds variants that join two tables by other columns of references between them.
    private mutating func changeColumns(ofJoinAt index: Int) {
        guard query.tokens[safe: index + 2]?.text == ".", index + 3 < query.tokens.count, index > 0,
            let left = source(ofColumnAt: index - 1), let right = source(ofColumnAt: index + 3),
            left.range != right.range
        else { return }
        for (column, source, other) in [(index - 1, left, right), (index + 3, right, left)] {
            for name in columns(relating: source.table, to: other.table)
            where folded(name) != query.tokens[column].text {
                replace((column - 2)..<(column + 1), with: "\(query.text(column - 2)).\(name)")
            }
        }
    }

    /// Returns the columns by which a table refers to another one or is referred to by it, and those whose names look like
    /// references to an unknown table.
    private func columns(relating table: String, to other: String) -> [String] {
        let own = context.references.filter { folded($0.table) == table && $0.columns.count == 1 }
        let referring = own.filter { folded($0.parent) == other }.map { $0.columns[0] }
        let keys = context.references.filter { folded($0.parent) == table && folded($0.table) == other }
            .flatMap(\.parentColumns)
        let taken = Set(own.flatMap(\.columns).map(folded))
        let unknown = (context.tables[table]?.columns ?? []).map(\.name).filter {
            Reference.isName($0) && !["id", "uuid"].contains(folded($0)) && !taken.contains(folded($0))
        }
        var seen: Set<String> = []
        return (referring + keys + unknown).filter { seen.insert(folded($0)).inserted }
    }

    /// Adds a variant in which the terms of WHERE on a table that is joined with LEFT JOIN are in ON, where they keep the
    /// rows without a match.
    private mutating func moveTerms(on source: SQLText.Source) {
        let start = source.range.lowerBound
        let depth = query.tokens[start].depth
        let conditions = query.conditions.filter { $0.start > start && $0.depth == depth }
        let words = query.tokens[..<start].suffix(3).filter { !$0.isWord("outer") }.map(\.text)
        guard words.suffix(2) == ["left", "join"], let on = conditions.first,
            query.tokens[on.start].isWord("on"),
            let place = conditions.first(where: { query.tokens[$0.start].isWord("where") })
        else { return }
        let moved = place.terms.filter { onlySource(in: $0)?.range == source.range }
        let range = on.terms[0].lowerBound..<on.terms[on.terms.count - 1].upperBound
        guard !moved.isEmpty, range.upperBound <= place.start else { return }
        let all = ([range] + moved).map { "(\(query.text($0)))" }.joined(separator: " AND ")
        append(
            moved.map { ($0, "1") } + [(range, all)],
            "with \(moved.map(query.text).joined(separator: " AND ")) in ON in place of WHERE")
    }

    /// Adds variants in which the aggregates of a table's columns, and of its rows, don't have a row again that a join
    /// repeats; and one in which none does, if they are of several tables.
    private mutating func countOnce() {
        var joined: [Int: [SQLText.Source]] = [:]
        for source in sources {
            if let select = query.select(around: source.range.lowerBound) {
                joined[select, default: []].append(source)
            }
        }
        for (select, sources) in joined.sorted(by: { $0.key < $1.key }) where sources.count > 1 {
            let found = sources.compactMap { source -> (SQLText.Source, [SQLText.Edit])? in
                let edits = countingOnce(source, in: select)
                return edits.isEmpty ? nil : (source, edits)
            }
            for (source, edits) in found {
                append(edits, "with each row of \(name(of: source)) counted once")
            }
            let tables = found.map { name(of: $0.0) }.joined(separator: " and ")
            let all = found.flatMap(\.1)
            let places = Set(all.map(\.range.lowerBound))
            if found.count > 1, places.count == all.count {
                append(
                    all.sorted { $0.range.lowerBound < $1.range.lowerBound },
                    "with each row of \(tables) counted once")
            }
        }
    }

    private func countingOnce(_ source: SQLText.Source, in select: Int) -> [SQLText.Edit] {
        guard let table = context.tables[source.table] else { return [] }
        let name = quotedIdentifier(source.name)
        // The rowid isn't visible outside of joins in parentheses.
        let row =
            (table.integerKey.map(quotedIdentifier) ?? table.rowidName).map { "\(name).\($0)" }
            ?? table.primaryKey.map { "quote(\(name).\(quotedIdentifier($0.name)))" }
            .joined(separator: " || ' ' || ")
        guard !row.isEmpty else { return [] }
        return query.tokens.indices.compactMap { index -> SQLText.Edit? in
            let token = query.tokens[index]
            guard token.isWord(in: Self.aggregates), query.tokens[safe: index + 1]?.text == "(",
                query.select(around: index) == select, let end = query.closing(index + 1),
                end > index + 2, !query.tokens[index + 2].isWord("distinct")
            else { return nil }
            let argument = (index + 2)..<end
            if query.text(argument) == "*" { return (argument, "DISTINCT \(row)") }
            guard onlySource(in: argument)?.range == source.range else { return nil }
            return (
                index..<(end + 1),
                "(SELECT \(token.text)(json_extract(value, '$[1]')) FROM json_each(json_group_array("
                    + "DISTINCT json_array(\(row), \(query.text(argument))))))"
            )
        }
    }
}
