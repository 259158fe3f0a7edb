/// SQL on one line that is too narrow for it.
package enum StatementExcerpt {
    /// The least number of columns that are left of a list, and of a statement that keeps its condition.
    private static let (leastList, leastLimit) = (6, 20)

    /// Returns a statement in at most `limit` columns: its start, and its condition.
    ///
    /// The list of its columns is shortened first, and then the part before the condition. Values after a list of columns
    /// and the end of a long condition are cut.
    ///
    /// - Parameters:
    ///   - sql: The statement, without line breaks.
    ///   - limit: The maximum number of columns.
    /// - Returns: The statement; with `…` in place of what is left out.
    package static func text(of sql: String, to limit: Int) -> String {
        guard TextWidth.columns(of: sql) > limit else { return sql }
        guard limit >= leastLimit else { return TextWidth.shortened(sql, to: limit) }
        let words = topLevelWords(of: sql)
        let list = listRange(of: sql, words) ?? sql.startIndex..<sql.startIndex
        let end = words.first { $0.text == "where" && $0.range.lowerBound >= list.upperBound }?.range
            .lowerBound
        // Two thirds at most are for the condition, so that the start is left.
        let condition = TextWidth.shortened(String(sql[(end ?? sql.endIndex)...]), to: limit * 2 / 3)
        let room = limit - TextWidth.columns(of: condition)
        let (before, after) = (sql[..<list.lowerBound], sql[list.upperBound..<(end ?? sql.endIndex)])
        let left = room - TextWidth.columns(of: String(before + after))
        let start = before + TextWidth.shortened(String(sql[list]), to: max(left, leastList)) + after
        guard TextWidth.columns(of: String(start)) > room else { return start + condition }
        // The space before the condition stays.
        return condition.isEmpty
            ? TextWidth.shortened(String(start), to: room)
            : TextWidth.shortened(String(start), to: room - 1) + " " + condition
    }

    /// Returns the range of the columns that a statement reads, sets or inserts; nil if it has no such list.
    private static func listRange(
        of sql: String, _ words: [(text: String, range: Range<String.Index>)]
    ) -> Range<String.Index>? {
        func range(from first: String, to last: String) -> Range<String.Index>? {
            guard let start = words.firstIndex(where: { $0.text == first }),
                let end = words[(start + 1)...].first(where: { $0.text == last })
            else { return nil }
            return range(words[start].range.upperBound, end.range.lowerBound)
        }
        func range(_ start: String.Index, _ end: String.Index) -> Range<String.Index>? {
            guard start < end else { return nil }
            let spaces = sql[start..<end].prefix { $0 == " " }.count
            let lower = sql.index(start, offsetBy: spaces)
            let trailing = sql[lower..<end].reversed().prefix { $0 == " " }.count
            let upper = sql.index(end, offsetBy: -trailing)
            return lower < upper ? lower..<upper : nil
        }
        switch words.first?.text {
        case "select", "with": return range(from: "select", to: "from")
        case "update": return range(from: "set", to: "where")
        case "insert", "replace":
            // The names of the columns say more than placeholders, and less than values.
            guard let values = words.first(where: { $0.text == "values" }),
                sql[values.range.upperBound...].contains(where: { $0.isNumber || $0 == "'" }),
                let start = sql[..<values.range.lowerBound].firstIndex(of: "("),
                let end = sql[start..<values.range.lowerBound].lastIndex(of: ")")
            else { return nil }
            return range(sql.index(after: start), end)
        default: return nil
        }
    }

    /// Returns the words outside of parentheses and quotes, in lower case.
    private static func topLevelWords(of sql: String) -> [(text: String, range: Range<String.Index>)] {
        var words: [(text: String, range: Range<String.Index>)] = []
        var (index, depth) = (sql.startIndex, 0)
        while index < sql.endIndex {
            let character = sql[index]
            let start = index
            index = sql.index(after: index)
            switch character {
            case "(": depth += 1
            case ")": depth -= 1
            case "'", "\"", "`", "[":
                let end: Character = character == "[" ? "]" : character
                index = sql[index...].firstIndex(of: end).map { sql.index(after: $0) } ?? sql.endIndex
            case _ where character.isLetter || character == "_":
                index =
                    sql[index...].firstIndex { !$0.isLetter && !$0.isNumber && $0 != "_" }
                    ?? sql.endIndex
                if depth == 0 { words.append((sql[start..<index].lowercased(), start..<index)) }
            default: break
            }
        }
        return words
    }
}
