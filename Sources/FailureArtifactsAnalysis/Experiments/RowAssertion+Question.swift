internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension RowAssertion {
    /// The number of values that a test compares at most.
    private static let maximumValues = 200

    /// Makes the assertion of the failed test; nil if the expectation is unknown, or about a value that code makes of the
    /// rows.
    ///
    /// - `expected`: a result that is the expected one; nil if none is known.
    init?(_ question: Question, expected: QueryResult?, _ effort: Effort) {
        var record = question.record
        record.sql = question.sql
        guard let known = question.known, question.settings.isEmpty,
            let literals = record.sqlWithLiterals
        else { return nil }
        let query = literals.trimmed
        let expectation = Expectation(question: question, known: known, expected: expected)
        guard let (part, selection) = expectation.part else { return nil }
        let sql = selection.map { "SELECT \($0) FROM (\n\(query)\n)" } ?? query
        if case .rows(let columns, let rows, let isOrdered) = part {
            guard rows.count * columns.count <= Self.maximumValues else { return nil }
            self.init(sql, Self.rows(columns, rows, isOrdered: isOrdered))
        } else {
            self.init(sql, part)
        }
        isNegated = expectation.isNegated
        tables = Set(question.reads.keys)
        isSure = question.isFailing
        let budget = StepBudget(steps: effort.steps)
        do throws(SQLiteError) {
            defer { withExtendedLifetime(budget) {} }
            let connection = try Connection.untrusted(question.path, limits: question.store.limits)
            budget.limit(connection)
            failed = try value(in: connection)
        } catch {
            return nil
        }
        guard isComplete, let failed, !holds(for: failed) else { return nil }
    }
}

/// The expectation about the result of a question.
private struct Expectation {
    let question: Question
    /// The result at the failure.
    let known: QueryResult
    /// A result that is the expected one; nil if none is known.
    let expected: QueryResult?

    private var claim: Claim { question.claim }
    private var compared: ResultPart {
        let part = expected.flatMap(question.expectedPart) ?? question.parts[0]
        return claim.isAboutOrder ? part.ordered : part
    }

    /// True if the part must not have the value.
    var isNegated: Bool {
        switch claim.condition {
        case .differs: true
        case .exists: if case .cell = compared { true } else { false }
        case .equals, .ordered, .contains, .lacks, .unknown: false
        }
    }

    /// The part with the expected value, and the expression of SQL that takes the place of the query's columns, if one is
    /// needed; nil if the expectation can't be stated.
    var part: (RowAssertion.Part, selection: String?)? {
        switch claim.condition {
        case .unknown: return nil
        case .equals(let operand), .differs(let operand):
            if case .sum(let column) = compared {
                return sum(of: column).flatMap { sum in
                    value(operand, like: known.rows.first?[safe: column])
                        .map { (.value(column: 0, $0), sum) }
                }
            }
            return part(equal: operand).map { ($0, nil) }
        case .exists:
            if case .cell(let column, _, _) = compared {
                return (.value(column: column, StoredValue(.null)), nil)
            }
            return (.isEmpty(false), nil)
        case .contains(let operand), .lacks(let operand):
            guard case .list(let column, _) = compared, let element = operand.values.first,
                let value = stored(element, in: column)
            else { return nil }
            let isWanted = if case .contains = claim.condition { true } else { false }
            return (.contains(value, column: column, isWanted), nil)
        case .ordered(let isLess, let orEqual, let bound):
            let number: String?
            switch compared {
            case .cell(let column, "", ""):
                number = known.columns[safe: column].map(quotedIdentifier)
            case .rowCount: number = "count(*)"
            case .sum(let column): number = sum(of: column)
            default: number = nil
            }
            let sign = (isLess ? "<" : ">") + (orEqual ? "=" : "")
            return number.map {
                (.value(column: 0, StoredValue(.integer(1))), "\($0) \(sign) \(ValueText.plain(bound))")
            }
        }
    }

    private func sum(of column: Int) -> String? {
        known.columns[safe: column].map { "sum(\(quotedIdentifier($0)))" }
    }

    private func part(equal operand: FailureMessage.Operand) -> RowAssertion.Part? {
        switch compared {
        case .cell(let column, let prefix, let suffix):
            if let expected {
                return .value(column: column, expected.rows.first?[safe: column] ?? StoredValue(.null))
            }
            guard prefix.isEmpty, suffix.isEmpty, let value = operand.values.first,
                operand.values.count == 1, let cell = stored(value, in: column)
            else { return nil }
            return .value(column: column, cell)
        case .list(let column, let isOrdered):
            return rows([column], of: operand, isOrdered: isOrdered)
        case .properties(let isOrdered):
            return columns(of: operand).flatMap { rows($0, of: operand, isOrdered: isOrdered) }
        case .texts(let format):
            return expected.map {
                .rows(columns: format.columns, select(format.columns, of: $0), isOrdered: true)
            }
        case .rowCount:
            return operand.values.first?.number.flatMap { Int(exactly: $0) }.map { .count($0) }
        case .existence: return .isEmpty(operand.text == "false")
        case .sum, .all: return nil
        }
    }

    private func select(_ columns: [Int], of result: QueryResult) -> [[StoredValue]] {
        result.rows.map { row in columns.compactMap { row[safe: $0] } }
    }

    /// Returns the columns of the properties that an operand's values have.
    private func columns(of operand: FailureMessage.Operand) -> [Int]? {
        let first = operand.values.isEmpty ? claim.tested?.values ?? [] : operand.values
        guard let label = first.first?.label else { return Array(known.columns.indices) }
        let structure = [first[0]] + first.dropFirst().prefix { $0.label != label }
        let columns = structure.compactMap { $0.label.flatMap(known.column) }
        return columns.isEmpty ? nil : columns
    }

    /// Returns rows with the expected values: those of the expected result, or those in the message.
    private func rows(
        _ columns: [Int], of operand: FailureMessage.Operand, isOrdered: Bool
    ) -> RowAssertion.Part? {
        if let expected {
            return .rows(columns: columns, select(columns, of: expected), isOrdered: isOrdered)
        }
        // Long lists aren't read to the end.
        guard operand.isList || operand.values.count > 1, operand.values.count < 100 else { return nil }
        var rows: [[StoredValue]] = []
        var cells: [StoredValue] = []
        for value in operand.values {
            let isUnlabelled = columns.count == 1 || value.label == nil
            let column = isUnlabelled ? columns[cells.count] : value.label.flatMap(known.column)
            // A property that no column has.
            guard let column, columns.contains(column) else { continue }
            guard column == columns[cells.count], let cell = stored(value, in: column) else {
                return nil
            }
            cells.append(cell)
            if cells.count == columns.count {
                rows.append(cells)
                cells = []
            }
        }
        return cells.isEmpty ? .rows(columns: columns, rows, isOrdered: isOrdered) : nil
    }

    private func value(
        _ operand: FailureMessage.Operand, like cell: StoredValue?
    ) -> StoredValue? {
        operand.values.count == 1 ? stored(operand.values[0], like: cell) : nil
    }

    /// Returns the value of a message as a column of the result has it.
    private func stored(_ value: FailureMessage.Value, in column: Int) -> StoredValue? {
        let cells =
            (expected ?? known).rows.compactMap { $0[safe: column] }
            + known.rows.compactMap { $0[safe: column] }
        return cells.first(where: value.matches) ?? stored(value, like: cells.first { !$0.isNull })
    }

    /// Returns the value of a message in the storage class of another value; nil if that is unknown.
    private func stored(_ value: FailureMessage.Value, like cell: StoredValue?) -> StoredValue? {
        if value.text == "nil" { return StoredValue(.null) }
        switch cell?.content {
        // A date is stored in one of several forms.
        case .text: return value.isDate ? nil : StoredValue(.text(Array(value.text.utf8)))
        case .integer, .real, nil:
            guard let number = value.number else {
                return cell == nil && !value.isDate ? StoredValue(.text(Array(value.text.utf8))) : nil
            }
            if case .real = cell?.content { return StoredValue(.real(number)) }
            return StoredValue(Int64(exactly: number).map { .integer($0) } ?? .real(number))
        case .null, .blob: return nil
        }
    }
}

extension String {
    /// The statement without spaces at its ends and a semicolon.
    var trimmed: String {
        var text = self[...]
        while let last = text.last, last.isWhitespace || last == ";" { text.removeLast() }
        return String(text.drop(while: \.isWhitespace))
    }
}
