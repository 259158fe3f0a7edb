internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The parts of a statement that tell which rows it can have changed, as far as its text has them.
///
/// Bound values count as literals.
struct WriteTerms {
    /// A literal, in lower case.
    private typealias Literals = [String: String]

    /// The literals that an `UPDATE` sets columns to.
    private var assigned: Literals = [:]
    /// The literals that columns must be equal to.
    private var required: Literals = [:]
    /// The literals of each row that an `INSERT` lists; nil if it may insert other rows.
    private var inserted: [Literals]?
    /// True if the statement changes each row of its table that ``required`` fits.
    private var isExact = false
    /// The columns that it sets; nil if they are unknown.
    let columns: Set<String>?

    /// Creates the parts of a statement.
    ///
    /// - Parameters:
    ///   - record: The statement.
    ///   - outline: Its kind and table.
    ///   - tableColumns: The folded names of the table's columns, in order; empty if they are unknown.
    init(_ record: StatementRecord, _ outline: StatementOutline, tableColumns: [String] = []) {
        let sql = record.sqlWithLiterals
        let isWhole = record.cut != true && sql.utf8.count <= StatementOutline.maximumLength
        let tokens = StatementOutline.tokens(of: sql, limit: StatementOutline.Parts.maximumWords)
        let parts = StatementOutline.Parts(record.sql)
        let isComplete = isWhole && tokens.count < StatementOutline.Parts.maximumWords
        if isComplete, outline.kind == .insert, !outline.mayHaveNoEffect {
            inserted = Self.insertedRows(tokens, tableColumns)
        }
        guard isComplete,
            outline.kind == .delete || !parts.hasRowAssignment && !parts.assigned.isEmpty
        else {
            columns = nil
            return
        }
        columns = Set(parts.assigned)
        let names = tokens.map { $0.isText ? "" : $0.text }
        // A subquery has conditions of its own, and FROM joins other rows.
        guard !names.contains("select"), outline.kind == .delete || !names.contains("from") else {
            return
        }
        let end = names.firstIndex { ["returning", "limit", "order", ";"].contains($0) } ?? tokens.count
        let condition = names[..<end].firstIndex(of: "where")
        if let set = names.firstIndex(of: "set"), outline.kind == .update {
            for term in Self.terms(of: tokens[(set + 1)..<(condition ?? end)], separator: ",") {
                if let (column, value) = Self.equality(term) { assigned[column] = value }
            }
        }
        let isPlain = names.starts(with: ["update", outline.table ?? ""]) || outline.kind == .delete
        guard let condition else {
            isExact = isPlain && (end == tokens.count || names[end] == ";")
            return
        }
        let words = tokens[(condition + 1)..<end]
        guard Set(names[condition..<end]).isDisjoint(with: ["or", "case", "between"]) else { return }
        let terms = Self.terms(of: words, separator: "and")
        let equalities = terms.compactMap(Self.equality)
        required = Literals(equalities, uniquingKeysWith: { first, _ in first })
        isExact =
            isPlain && equalities.count == terms.count && required.count == terms.count
            && (end == tokens.count || names[end] == ";")
    }

    /// Returns the parts between separators outside of parentheses.
    private static func terms(
        of words: ArraySlice<StatementOutline.Word>, separator: String
    ) -> [ArraySlice<StatementOutline.Word>] {
        var depth = 0
        return words.split(omittingEmptySubsequences: false) { word in
            guard !word.isText else { return false }
            if word.text == "(" { depth += 1 }
            if word.text == ")" { depth -= 1 }
            return depth == 0 && word.text == separator
        }
    }

    /// Returns the column and the value of `column = literal`; nil for other expressions.
    private static func equality(
        _ words: ArraySlice<StatementOutline.Word>
    ) -> (String, String)? {
        var words = words
        if words.count > 2, words.dropFirst().first?.text == "." { words = words.dropFirst(2) }
        guard let column = words.popFirst(), !column.isLiteral, words.popFirst()?.text == "=" else {
            return nil
        }
        return literal(words).map { (column.text, $0) }
    }

    /// Returns the literals of the rows of `INSERT INTO t (a, b) VALUES (1, 'x'), …`, by column; nil for other forms.
    private static func insertedRows(
        _ tokens: [StatementOutline.Word], _ tableColumns: [String]
    ) -> [Literals]? {
        let names = tokens.map { $0.isText ? "" : $0.text }
        guard let values = names.firstIndex(of: "values"), !names.contains("select") else { return nil }
        var columns = tableColumns
        if let start = names[..<values].firstIndex(of: "("),
            let end = names[start..<values].firstIndex(of: ")")
        {
            columns = terms(of: tokens[(start + 1)..<end], separator: ",").compactMap(\.first?.text)
        }
        let end = names.firstIndex { ["returning", ";"].contains($0) } ?? tokens.count
        return terms(of: tokens[(values + 1)..<max(end, values + 1)], separator: ",").map { row in
            let terms = terms(of: row.dropFirst().dropLast(), separator: ",")
            // Without the names of the columns, nothing is known about the row.
            guard terms.count == columns.count else { return [:] }
            let pairs = zip(columns, terms).compactMap { column, term in
                literal(term).map { (column, $0) }
            }
            return Literals(pairs, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Returns a literal, with its sign; nil for other expressions.
    private static func literal(_ words: ArraySlice<StatementOutline.Word>) -> String? {
        var words = words
        let isNegative = words.first == .init(text: "-", isText: false)
        if isNegative { words = words.dropFirst() }
        guard let value = words.first, value.isLiteral else { return nil }
        var text = (isNegative ? "-" : "") + value.text
        // A decimal fraction
        if words.count == 3, words.dropFirst().first?.text == "." {
            text += "." + (words.last?.text ?? "")
        } else if words.count != 1 {
            return nil
        }
        guard value.isText ? !isNegative : Double(text) != nil else { return nil }
        return text
    }

    /// The columns whose values the condition names.
    var requiredColumns: Set<String> { Set(required.keys) }

    /// True unless a row differs from what the statement required or wrote.
    ///
    /// - Parameters:
    ///   - row: The row after the transaction, or before it if it was deleted.
    ///   - others: The columns that any `UPDATE` of the transaction set.
    ///   - later: The columns that a later one set.
    /// - Returns: False if the statement can't have changed the row.
    func mayHaveChanged(_ row: Finding.Row, others: Set<String>, later: Set<String>) -> Bool {
        let isOther = { (terms: Literals, steady: Set<String>) in
            terms.contains { column, literal in
                guard !steady.contains(column), let value = Self.value(of: column, in: row) else {
                    return false
                }
                return Self.isOther(literal, value)
            }
        }
        let isListed = inserted?.contains { !isOther($0, later) } ?? true
        return !isOther(required, others) && !isOther(assigned, later) && isListed
    }

    /// True if the statement has certainly set columns of a row, and not by adding to their values.
    ///
    /// - Parameters:
    ///   - columns: The columns.
    ///   - row: The row after the transaction.
    ///   - others: The columns that any `UPDATE` of the transaction set.
    /// - Returns: False if it may not have changed the row.
    func hasSet(_ columns: Set<String>, of row: Finding.Row, others: Set<String>) -> Bool {
        guard isExact, let own = self.columns, !columns.isEmpty, columns.isSubset(of: own) else {
            return false
        }
        return required.allSatisfy { column, literal in
            guard !others.contains(column),
                case .integer(let number)? = Self.value(of: column, in: row)?.content
            else { return false }
            return Int64(literal) == number
        }
    }

    /// Returns a value of a row; nil if it is unknown.
    private static func value(of column: String, in row: Finding.Row) -> StoredValue? {
        if let key = row.key.first(where: { folded($0.column) == column }) { return key.value }
        let cell = row.columns.first { folded($0.column) == column }
        return cell.flatMap { row.change == .deleted ? $0.old : $0.new }
    }

    /// True if a value can't be equal to a literal, in any of SQLite's collations and after a conversion of its type.
    private static func isOther(_ literal: String, _ value: StoredValue) -> Bool {
        func trimmed(_ text: String) -> String {
            String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
        }
        guard !value.isCut else { return false }
        let text = trimmed(literal)
        switch value.content {
        case .null: return true
        case .integer, .real: return Double(text) != value.number
        case .text:
            let stored = trimmed(value.string ?? "").lowercased()
            return stored != text && (Double(stored) == nil || Double(stored) != Double(text))
        case .blob: return false
        }
    }
}

/// The statements of one transaction on one table, in order.
struct TableWrites {
    private let statements: [(record: StatementRecord, outline: StatementOutline)]
    private let terms: [WriteTerms]

    /// - Parameters:
    ///   - statements: The statements that insert, update or delete rows of the table.
    ///   - columns: The folded names of the table's columns, in order; empty if they are unknown.
    init(
        _ statements: [(record: StatementRecord, outline: StatementOutline)], columns: [String] = []
    ) {
        self.statements = statements
        terms = statements.map { WriteTerms($0.record, $0.outline, tableColumns: columns) }
    }

    /// Returns the columns that statements set; nil if they are unknown.
    ///
    /// An `INSERT` may set columns of a row that exists.
    private func columns(setBy indices: Range<Int>) -> Set<String>? {
        var columns: Set<String> = []
        for index in indices {
            let outline = statements[index].outline
            if outline.kind == .delete || outline.kind == .insert && !outline.mayHaveNoEffect {
                continue
            }
            guard outline.kind == .update, let own = terms[index].columns else { return nil }
            columns.formUnion(own)
        }
        return columns
    }

    /// True unless the text of a statement shows that it didn't change a row.
    func mayHaveChanged(_ row: Finding.Row, at index: Int) -> Bool {
        guard let others = columns(setBy: statements.indices),
            let later = columns(setBy: index + 1..<statements.count)
        else { return true }
        return terms[index].mayHaveChanged(row, others: others, later: later)
    }

    /// True if an `UPDATE` has certainly set columns of a row, so that their earlier values don't matter.
    func hasSet(_ columns: Set<String>, of row: Finding.Row, at index: Int) -> Bool {
        guard statements[index].outline.kind == .update, row.change != .deleted,
            let others = self.columns(setBy: statements.indices),
            StatementOutline.Parts(statements[index].record.sql).relative.isDisjoint(with: columns)
        else { return false }
        // The row may have been inserted later, unless the condition has its key.
        let key = Set(row.key.map { folded($0.column) })
        let hasKey = key.isSubset(of: terms[index].requiredColumns)
        let after = statements[(index + 1)...].map(\.outline.kind)
        guard !after.contains(.delete), hasKey || row.change == .updated || !after.contains(.insert)
        else { return false }
        return terms[index].hasSet(columns, of: row, others: others)
    }
}
