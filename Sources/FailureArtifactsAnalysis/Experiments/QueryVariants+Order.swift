internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension QueryVariants {
    /// Adds variants with another order, and with other pages.
    mutating func changeOrders() {
        for index in query.tokens.indices {
            let token = query.tokens[index]
            if token.isWord("limit") { changePage(index) }
            if token.isWord("order"), query.tokens[safe: index + 1]?.isWord("by") == true {
                changeOrder(index + 2)
            }
        }
        if !query.tokens.contains(where: { $0.depth == 0 && $0.isWord("order") }) { addOrder() }
    }

    private mutating func changePage(_ limit: Int) {
        guard let count = query.tokens[safe: limit + 1], count.kind != .name else { return }
        append(
            [
                (
                    (limit + 1)..<(limit + 2),
                    count.kind == .parameter ? "max(\(count.text), -1) * 0 - 1" : "-1"
                )
            ], "without LIMIT")
        guard query.tokens[safe: limit + 2]?.isWord("offset") == true,
            let skipped = query.tokens[safe: limit + 3]
        else { return }
        for (sign, text) in [("-", "before"), ("+", "after")] {
            append(
                [((limit + 3)..<(limit + 4), "max(\(skipped.text) \(sign) \(count.text), 0)")],
                "with the page \(text) it")
        }
    }

    private mutating func changeOrder(_ start: Int) {
        var item = start
        while item < query.tokens.count {
            let end = query.end(ofExpressionAt: item)
            guard end > item else { break }
            let last = query.tokens[end - 1]
            let hasDirection = last.isWord(in: ["asc", "desc"])
            let expression = query.text(item..<(hasDirection && end - 1 > item ? end - 1 : end))
            let direction = last.isWord("desc") ? " DESC" : ""
            let others = [
                expression + (last.isWord("desc") ? "" : " DESC"),
                "CAST(\(expression) AS REAL)" + direction,
                expression + " COLLATE NOCASE" + direction,
            ]
            for other in others { replace(item..<end, with: other, .order) }
            guard query.tokens[safe: end]?.text == "," else { break }
            item = end + 1
        }
        guard start < query.tokens.count else { return }
        for column in columns(atDepth: query.tokens[start].depth) {
            append(
                [(start..<(start + 1), "\(column), \(query.text(start))")], Self.text(ofOrder: column),
                .order)
        }
    }

    /// Adds variants of a query without an order.
    private mutating func addOrder() {
        let end =
            query.tokens.indices.first {
                query.tokens[$0].depth == 0
                    && (query.tokens[$0].isWord("limit") || query.tokens[$0].text == ";")
            } ?? query.tokens.count
        guard end > 0 else { return }
        for column in columns(atDepth: 0) {
            append(
                [((end - 1)..<end, "\(query.text(end - 1)) ORDER BY \(column)")],
                Self.text(ofOrder: column), .order)
        }
    }

    private static func text(ofOrder column: String) -> String {
        "with ORDER BY \(column.filter { $0 != "\"" })"
    }

    /// Returns the columns of the tables in a query or subquery, in both directions.
    private func columns(atDepth depth: Int) -> [String] {
        sources.filter { query.tokens[$0.range.lowerBound].depth == depth }.flatMap { source in
            (context.tables[source.table]?.columns ?? []).flatMap { column in
                let name = quotedIdentifier(source.name) + "." + quotedIdentifier(column.name)
                return [name, name + " DESC"]
            }
        }
    }
}
