internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A way to get an assertion's value from a query's result.
enum ResultPart: Equatable {
    /// A value of the first row, perhaps between other texts; nil without a row.
    case cell(Int, prefix: String, suffix: String)
    case list(Int, isOrdered: Bool)
    /// The values of the columns that have the labels of a structure's properties, of all rows; without labels, as in a
    /// dictionary, the values of all columns.
    case properties(isOrdered: Bool)
    /// Texts that code has made of the rows.
    case texts(RowFormat)
    case rowCount
    case sum(Int)
    case existence
    /// All rows, if it isn't known which of their values the assertion compares.
    case all

    /// Returns the ways in which an operand can be a query's result, and in a longer text, unlike the other operand.
    static func all(
        giving operand: FailureMessage.Operand, in result: QueryResult,
        unlike other: FailureMessage.Operand? = nil
    ) -> [ResultPart] {
        let columns = result.columns.indices
        if operand.isList || operand.values.count > 1 {
            let ordered: [ResultPart] =
                columns.map { .list($0, isOrdered: true) } + [.properties(isOrdered: true)]
            let unordered: [ResultPart] =
                columns.map { .list($0, isOrdered: false) } + [.properties(isOrdered: false)]
            let found = ordered.filter { $0.gives(operand, in: result) }
            if !found.isEmpty { return found }
            let others = unordered.filter { $0.gives(operand, in: result) }
            let format = RowFormat(of: operand.values.map(\.text), in: result.rows)
            return others.isEmpty ? format.map { [.texts($0)] } ?? [] : others
        }
        let cells = columns.map { ResultPart.cell($0, prefix: "", suffix: "") }
        guard let value = operand.values.first, value.number != nil else {
            var parts = cells
            if let value = operand.values.first, let row = result.rows.first {
                for column in columns {
                    if let (prefix, suffix) = embedded(row[column], in: value.text),
                        other.map({ !$0.hasPart(prefix: prefix, suffix: suffix, of: value.text) })
                            ?? true
                    {
                        parts.append(.cell(column, prefix: prefix, suffix: suffix))
                    }
                }
            }
            return parts.filter { $0.gives(operand, in: result) }
        }
        // A number is first of all the whole result, or the number of rows. Most columns have small numbers, and keys are
        // numbers like those of rows. A truth value is a number in a column of its own, or the existence of a row.
        let isTruth = ["true", "false"].contains(operand.text)
        let others = columns.filter { !isTruth && !Reference.isName(result.columns[$0]) }
        let isTelling = !value.isCommon || result.rows.count == 1
        let ways: [[ResultPart]] = [
            columns.count == 1 && result.rows.count < 2 ? cells : [], [.rowCount],
            others.map { .sum($0) }, isTelling ? others.map { cells[$0] } : [], [.existence],
            result.rows.count == 1 && !value.isCommon ? cells : [],
        ]
        return ways.lazy.map { $0.filter { $0.gives(operand, in: result) } }.first { !$0.isEmpty } ?? []
    }

    /// The same way, in which the order of a list matters.
    var ordered: ResultPart {
        switch self {
        case .list(let column, _): .list(column, isOrdered: true)
        case .properties: .properties(isOrdered: true)
        case .cell, .texts, .rowCount, .sum, .existence, .all: self
        }
    }

    /// Returns the texts before and after a value of at least three characters in a longer text; nil without it.
    private static func embedded(
        _ value: StoredValue, in text: String
    ) -> (prefix: String, suffix: String)? {
        let shown: String
        switch value.content {
        case .integer(let number): shown = "\(number)"
        case .real(let number): shown = "\(number)"
        case .text: shown = value.string ?? ""
        case .null, .blob: return nil
        }
        guard shown.count >= 3 else { return nil }
        for text in [text, FailureMessage.withoutPoints(text)] {
            guard let range = text.firstRange(of: shown), shown.count < text.count else { continue }
            return (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
        }
        return nil
    }

    var isEmbedded: Bool {
        if case .cell(_, let prefix, let suffix) = self {
            !prefix.isEmpty || !suffix.isEmpty
        } else {
            false
        }
    }

    func gives(_ operand: FailureMessage.Operand, in result: QueryResult) -> Bool {
        switch self {
        case .cell(let column, let prefix, let suffix):
            guard operand.values.count == 1, !operand.isList else { return false }
            guard let cell = result.rows.first?[safe: column] else { return operand.text == "nil" }
            if prefix.isEmpty, suffix.isEmpty { return operand.values[0].matches(cell) }
            let text = operand.values[0].text
            return [text, FailureMessage.withoutPoints(text)].contains { text in
                guard text.hasPrefix(prefix), text.dropFirst(prefix.count).hasSuffix(suffix) else {
                    return false
                }
                let middle = text.dropFirst(prefix.count).dropLast(suffix.count)
                return FailureMessage.Value(text: String(middle)).matches(cell)
            }
        case .list(let column, let isOrdered):
            let cells = result.rows.compactMap { $0[safe: column] }
            guard operand.isList || operand.values.count > 1, cells.count == operand.values.count else {
                return false
            }
            if isOrdered { return zip(operand.values, cells).allSatisfy { $0.matches($1) } }
            return Self.isSame(cells, operand.values)
        case .properties(let isOrdered):
            return Self.areProperties(operand.values, of: result, isOrdered: isOrdered)
        case .texts(let format): return format.gives(operand.values.map(\.text), of: result.rows)
        case .rowCount:
            return operand.values.count == 1 && !operand.isList && !result.isAggregate
                && !["true", "false"].contains(operand.text)
                && operand.values[0].number == Double(result.rows.count)
        case .sum(let column):
            guard operand.values.count == 1, !operand.isList, result.rows.count > 1,
                let number = operand.values[0].number, let sum = Self.sum(of: column, in: result)
            else { return false }
            return abs(sum - number) <= 1e-9 * max(1, abs(number))
        case .existence:
            return !result.isAggregate && operand.text == (result.rows.isEmpty ? "false" : "true")
        case .all: return false
        }
    }

    private static func sum(of column: Int, in result: QueryResult) -> Double? {
        var sum = 0.0
        for row in result.rows {
            guard let number = row[safe: column]?.number else { return nil }
            sum += number
        }
        return sum
    }

    private static func isSame(_ cells: [StoredValue], _ values: [FailureMessage.Value]) -> Bool {
        var rest = values
        for cell in cells {
            guard let place = rest.firstIndex(where: { $0.matches(cell) }) else { return false }
            rest.remove(at: place)
        }
        return rest.isEmpty
    }

    /// True if values with labels are those of the rows' columns with similar names, at least half of them, and if values
    /// without labels are those of all columns.
    private static func areProperties(
        _ values: [FailureMessage.Value], of result: QueryResult, isOrdered: Bool
    ) -> Bool {
        let count = result.rows.count
        guard count > 0, !values.isEmpty, values.count.isMultiple(of: count) else { return false }
        let width = values.count / count
        let names = result.columns.map(label)
        let structures = (0..<count).map { Array(values[($0 * width)..<(($0 + 1) * width)]) }
        func isOf(_ row: [StoredValue], _ structure: [FailureMessage.Value]) -> Bool {
            let isOfAll = width > 1 && width == row.count && structure.allSatisfy { $0.label == nil }
            let cells = structure.enumerated().compactMap { index, value in
                (isOfAll ? index : value.label.flatMap { names.firstIndex(of: label($0)) })
                    .map { (value, row[$0]) }
            }
            return 2 * cells.count >= width && cells.allSatisfy { $0.matches($1) }
        }
        if isOrdered { return zip(result.rows, structures).allSatisfy(isOf) }
        var rest = structures
        for row in result.rows {
            guard let place = rest.firstIndex(where: { isOf(row, $0) }) else { return false }
            rest.remove(at: place)
        }
        return true
    }

    /// Returns the names of the columns that have properties of an operand, if it has other properties, too; otherwise nil.
    func columns(of operand: FailureMessage.Operand?, in result: QueryResult) -> [String]? {
        let labels = Set((operand?.values ?? []).compactMap(\.label).map(Self.label))
        let columns = result.columns.filter { labels.contains(Self.label($0)) }
        return columns.count < labels.count ? columns.map(SafeText.line) : nil
    }

    /// Returns a name for comparing columns such as `folder_id` with properties such as `folderID`.
    static func label(_ name: String) -> String { folded(name).filter { $0 != "_" } }

    // MARK: - Values

    func texts(of result: QueryResult) -> [String] {
        func text(_ value: StoredValue) -> String { StoredText.text(of: value, width: 40) }
        switch self {
        case .cell(let column, _, _):
            return [result.rows.first?[safe: column].map(text) ?? "no row"]
        case .list(let column, let isOrdered):
            let texts = result.rows.compactMap { $0[safe: column].map(text) }
            return isOrdered ? texts : texts.sorted()
        case .properties(let isOrdered): return Self.texts(result, isOrdered: isOrdered)
        case .rowCount: return [Counted.items(Int64(result.rows.count), "row")]
        case .sum(let column):
            return [Self.sum(of: column, in: result).map { ValueText.plain($0) } ?? "NULL"]
        case .existence: return [result.rows.isEmpty ? "no row" : "a row"]
        case .texts, .all: return Self.texts(result, isOrdered: true)
        }
    }

    private static func texts(_ result: QueryResult, isOrdered: Bool) -> [String] {
        let texts = result.rows.map { row in
            row.count == 1
                ? StoredText.text(of: row[0], width: 40)
                : "(" + row.map { StoredText.text(of: $0, width: 40) }.joined(separator: ", ") + ")"
        }
        return isOrdered ? texts : texts.sorted()
    }

    /// Returns a text about values with their place in a result of several values.
    func description(of text: String, in result: QueryResult) -> String {
        switch self {
        case .cell(let column, _, _) where !result.isValue && !result.rows.isEmpty:
            let count = result.rows.count
            return text + Self.place(of: column, in: result)
                + (count > 1 ? " of the first of \(count) rows" : "")
        case .list(let column, _) where result.columns.count > 1:
            return text + Self.place(of: column, in: result)
        case .sum where result.rows.isEmpty: return "no row"
        case .sum(let column):
            return
                "rows whose \(result.columns[safe: column].map(SafeText.line) ?? "values") add up to \(text)"
        default: return text
        }
    }

    private static func place(of column: Int, in result: QueryResult) -> String {
        result.columns[safe: column].map { " in column \(SafeText.line(Self.shortened($0)))" } ?? ""
    }

    /// Returns the name of a column; without an alias, it is the text of the expression.
    private static func shortened(_ column: String) -> String {
        TextWidth.shortened(column.split { $0.isWhitespace }.joined(separator: " "), to: 40)
    }

    func number(in result: QueryResult) -> Double? {
        switch self {
        case .cell(let column, "", ""): result.rows.first?[safe: column]?.number
        case .rowCount: Double(result.rows.count)
        case .sum(let column): Self.sum(of: column, in: result)
        case .cell, .list, .properties, .texts, .existence, .all: nil
        }
    }

    func meets(_ condition: Claim.Condition, in result: QueryResult) -> Bool {
        switch condition {
        case .equals(let operand): return gives(operand, in: result)
        case .exists:
            guard case .cell(let column, _, _) = self else { return !result.rows.isEmpty }
            return result.rows.first?[safe: column].map { !$0.isNull } ?? false
        case .ordered(let isLess, let orEqual, let bound):
            guard let number = number(in: result) else { return false }
            return orEqual && number == bound || (isLess ? number < bound : number > bound)
        case .contains(let operand):
            return has(operand, in: result) ?? false
        case .lacks(let operand):
            return has(operand, in: result).map { !$0 } ?? false
        // Any other value would do, so that none is the expected one.
        case .differs, .unknown: return false
        }
    }

    /// Returns the ways in which a list with or without an element can be a query's result.
    static func lists(for claim: Claim, in result: QueryResult) -> [ResultPart] {
        guard let element = claim.element else { return [] }
        let isText = result.columns.indices.map { column in
            result.rows.contains { $0[safe: column]?.string != nil }
        }
        let columns = result.columns.indices.filter { isText[$0] || result.rows.isEmpty }
        let lists = columns.map { ResultPart.list($0, isOrdered: true) }
        guard case .lacks = claim.condition else { return lists }
        return lists.filter { $0.has(element, in: result) ?? false }
    }

    /// True if the part is a list with an element; nil if it is no list.
    private func has(_ operand: FailureMessage.Operand, in result: QueryResult) -> Bool? {
        guard case .list(let column, _) = self, let value = operand.values.first else { return nil }
        return result.rows.contains { $0[safe: column].map(value.matches) ?? false }
    }

    /// Returns the distance of a result from the expected value; nil if there is no measure.
    func distance(of result: QueryResult, from claim: Claim) -> Double? {
        guard let expected = claim.expected else { return nil }
        if let number = number(in: result), let other = expected.values.first?.number {
            return abs(number - other)
        }
        return difference(of: result, from: expected).map { Double($0.superfluous + $0.missing.count) }
    }

    /// Returns the number of values of a result that an expected list lacks, and the values that only that list has; nil
    /// without a list.
    func difference(
        of result: QueryResult, from expected: FailureMessage.Operand
    ) -> (superfluous: Int, missing: [FailureMessage.Value])? {
        switch self {
        case .list(let column, _): return Self.difference(of: column, in: result, from: expected.values)
        case .properties:
            let names = result.columns.map(Self.label)
            let values = Dictionary(grouping: expected.values) {
                $0.label.flatMap { names.firstIndex(of: Self.label($0)) }
            }
            return values.reduce(into: (0, [])) { sum, entry in
                guard let column = entry.key else { return }
                let difference = Self.difference(of: column, in: result, from: entry.value)
                sum.0 += difference.superfluous
                sum.1 += difference.missing
            }
        case .cell, .texts, .rowCount, .sum, .existence, .all: return nil
        }
    }

    private static func difference(
        of column: Int, in result: QueryResult, from values: [FailureMessage.Value]
    ) -> (superfluous: Int, missing: [FailureMessage.Value]) {
        var missing = values
        var superfluous = 0
        for row in result.rows {
            guard let cell = row[safe: column],
                let place = missing.firstIndex(where: { $0.matches(cell) })
            else {
                superfluous += 1
                continue
            }
            missing.remove(at: place)
        }
        return (superfluous, missing)
    }
}

extension FailureMessage.Operand {
    /// True if the operand has the same text around and including a part of another text.
    fileprivate func hasPart(prefix: String, suffix: String, of text: String) -> Bool {
        self.text.hasPrefix(text.dropLast(suffix.count))
            || self.text.hasSuffix(text.dropFirst(prefix.count))
    }
}
