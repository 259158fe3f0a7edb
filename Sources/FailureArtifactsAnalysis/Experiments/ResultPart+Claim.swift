extension ResultPart {
    /// Returns the parts of a result that an assertion can compare whose message has only the expression; empty if that
    /// is uncertain.
    static func compared(by claim: Claim, in result: QueryResult) -> [ResultPart] {
        guard claim.tested == nil else { return [] }
        let named = claim.member.flatMap(result.column(of:))
        let isRowCount = claim.member == "count" && named == nil
        guard claim.member == nil || named != nil || isRowCount else { return [] }
        let column = named ?? (result.columns.count == 1 ? 0 : nil)
        let cell = column.map { ResultPart.cell($0, prefix: "", suffix: "") }
        switch claim.condition {
        case .unknown: return []
        case .contains, .lacks: return lists(for: claim, in: result)
        case .exists: return [(result.isValue || named != nil ? cell : nil) ?? .existence]
        case .equals(let list) where list.isStructured:
            let properties = ResultPart.properties(isOrdered: result.isSorted)
            return list.values.contains { $0.label.flatMap(result.column(of:)) != nil }
                ? [properties] : []
        case .equals(let list) where list.isList, .differs(let list) where list.isList:
            // Each element of a dictionary, or of structures without labels, has several values.
            if list.width > 1 {
                return list.width == result.columns.count
                    ? [.properties(isOrdered: result.isSorted)] : []
            }
            let isAny = list.values.isEmpty || result.rows.isEmpty
            let likely = isAny ? column ?? 0 : named ?? result.onlyColumn(like: list.values)
            guard let column = likely, !isPart(column, of: list.values, in: result) else { return [] }
            return [.list(column, isOrdered: true)]
        case .equals, .differs, .ordered:
            if isRowCount { return result.isAggregate ? [] : [.rowCount] }
            return result.rows.count < 2 || named != nil ? cell.map { [$0] } ?? [] : []
        }
    }

    /// Returns the ways in which the tested value of a claim can be a query's result, but for those in which it would meet
    /// the claim, too.
    static func tested(by claim: Claim, in result: QueryResult) -> [ResultPart] {
        guard let tested = claim.tested else { return [] }
        return all(giving: tested, in: result, unlike: claim.expected).filter { part in
            let part = claim.isAboutOrder ? part.ordered : part
            return !part.gives(tested, in: result) || !part.meets(claim.condition, in: result)
        }
    }

    /// True if texts have values of a column among others, so that code has made them of the rows.
    private static func isPart(
        _ column: Int, of values: [FailureMessage.Value], in result: QueryResult
    ) -> Bool {
        let cells = result.rows.compactMap { $0[safe: column]?.string }.filter { $0.count > 1 }
        return !cells.contains { cell in values.contains { $0.text == cell } }
            && cells.contains { cell in values.contains { $0.text.contains(cell) } }
    }

    /// Returns the ways in which a result can meet a claim whose tested value isn't in the message.
    static func all(for claim: Claim, in result: QueryResult) -> [ResultPart] {
        guard claim.tested == nil, let expected = claim.expected, !claim.isCommon else { return [] }
        return all(giving: expected, in: result).filter {
            switch $0 {
            // If the query has no order, the code or the test gives it one.
            case .list(_, let isOrdered), .properties(let isOrdered): isOrdered || !result.isSorted
            case .cell: result.isValue && !$0.isEmbedded
            case .texts, .rowCount, .sum, .existence, .all: true
            }
        }
    }
}
