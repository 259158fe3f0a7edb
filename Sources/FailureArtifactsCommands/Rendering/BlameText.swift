internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// Transactions with rows and statements as readable text, for `blame` and `bisect`.
struct BlameText {
    private static let maximumRows = 20
    private static let maximumColumns = 20
    private static let maximumStatements = 10
    /// The maximum number of rows shown with their values at the failure.
    private static let maximumLastRows = 5
    /// The maximum width of a value at the failure, in columns.
    private static let valueWidth = 120

    private let output: TextOutput
    private let statements: StatementText

    init(output: TextOutput) {
        self.output = output
        statements = StatementText(output: output)
    }

    // MARK: - blame

    func lines(_ blame: Blame, title: String) -> [String] {
        let heading =
            output.styled(SafeText.line(title), .heading) + " in store \(SafeText.line(blame.store))"
        guard let count = blame.transactionCount else { return [heading] + withoutHistory(blame) }
        let touched = Counted.items(Int64(blame.transactions.count), "transaction")
        let all = "\(count) in the history"
        guard !blame.rows.isEmpty else {
            return ["\(heading): no such row before or after any transaction, of \(all)"]
                + note(blame.reason)
        }
        let rows = blame.rows.count == 1 ? "" : Counted.items(Int64(blame.rows.count), "row") + ", "
        var lines = ["\(heading): \(rows)\(touched), of \(all)"] + note(blame.reason)
        if blame.isCut {
            lines += note("More rows match; only the first \(blame.rows.count) are followed.")
        }
        for transaction in blame.transactions {
            lines += self.lines(transaction, of: blame)
        }
        if blame.transactions.contains(where: \.statements.isEmpty) { lines += note(blame.logNote) }
        return lines + lastRows(blame)
    }

    private func withoutHistory(_ blame: Blame) -> [String] {
        var lines = note(blame.reason)
        for transaction in blame.transactions { lines += self.lines(transaction, of: blame) }
        lines += lastRows(blame) + note(blame.logNote)
        guard !blame.otherStatements.isEmpty else { return lines }
        lines.append(
            "Statements that wrote to \(SafeText.line(blame.table)), perhaps to other rows:")
        return lines
            + statements.lines(
                of: blame.otherStatements.suffix(Self.maximumStatements), Self.maximumStatements)
    }

    private func lines(_ transaction: Blame.Transaction, of blame: Blame) -> [String] {
        let open = blame.isRolledBack ? "transaction that was rolled back" : "uncommitted transaction"
        var rows = transaction.rows.map { Self.text(of: $0) }
        // Without the committed copy, it is unknown which rows the statements changed.
        if rows.isEmpty { rows = ["wrote to \(SafeText.line(blame.table)), perhaps to other rows"] }
        return lines(transaction.number.map(String.init) ?? open, rows, transaction.statements)
    }

    private func lastRows(_ blame: Blame) -> [String] {
        var lines: [String] = []
        for row in blame.rows.prefix(Self.maximumLastRows) {
            let key = SafeText.line(Self.text(of: row.key))
            guard let values = row.values else {
                lines.append("at the failure: no row \(key)")
                continue
            }
            let rest = values.filter { value in !row.key.contains { $0.column == value.column } }
            let cells = StoredText.pairs(
                rest.prefix(Self.maximumColumns).map(\.column), rest.map(\.value),
                width: Self.valueWidth)
            lines += TextWrap.message(
                "at the failure: \(key)" + (cells.isEmpty ? "" : ": " + cells), indent: 0, for: output)
        }
        let rest = blame.rows.count - Self.maximumLastRows
        if rest > 0 { lines.append("and \(Counted.items(Int64(rest), "more row")); see --json") }
        if blame.rows.isEmpty { lines.append("at the failure: no such row") }
        return lines
    }

    private static func text(of key: [Finding.Row.KeyValue]) -> String {
        key.map { "\($0.column) = \(StoredText.text(of: $0.value, width: 40))" }
            .joined(separator: ", ")
    }

    // MARK: - bisect

    /// Returns the lines of `bisect`.
    func lines(
        _ bisection: Bisection, _ transaction: Timeline.Step?, isComparison: Bool,
        reason: String?
    ) -> [String] {
        let effect = isComparison ? "the result differs" : "the query returns a row"
        let count = Counted.items(Int64(bisection.transactions), "transaction")
        guard let first = bisection.first else {
            let states = bisection.transactions + (bisection.hasOpenTransaction ? 2 : 1)
            let text =
                isComparison
                ? "The result is the same in all \(states) states"
                : "The query returns no row in any of the \(states) states"
            return [text + ", from before the first of \(count) to the failure."] + note(reason)
        }
        var lines: [String]
        switch first {
        case .start:
            lines =
                [output.styled("Already before the first of \(count) \(effect)", .heading)]
                + note(
                    "The history doesn't reach back further." + (reason.map { " " + $0 } ?? ""))
        case .transaction(let number):
            lines = [
                output.styled("Transaction \(number)", .heading)
                    + " of \(bisection.transactions) is the first after which \(effect)"
            ]
        case .openTransaction:
            lines = [
                output.styled("The uncommitted transaction", .heading)
                    + ", after \(count) in the history, is the first after which \(effect)"
            ]
        }
        lines += results(bisection, isComparison)
        if let transaction {
            lines += transaction.changes.schemaTexts.map { SafeText.line("  " + $0) }
            lines += self.lines(
                nil, transaction.rows.map { Self.text(of: $0, isNamed: true) },
                transaction.statements.map(\.record),
                of: transaction.tables.reduce(0) { $0 + Int($1.counts.total) })
        }
        return lines + healing(bisection, isComparison)
    }

    private func results(_ bisection: Bisection, _ isComparison: Bool) -> [String] {
        guard let after = bisection.after else { return [] }
        guard isComparison else { return Self.lines(of: after, after: "  ") }
        var lines: [String] = []
        for (label, result) in [("before", bisection.before), ("after", after)] {
            guard let result else { continue }
            if result.rows.isEmpty { lines.append("  \(label): no row") }
            lines += Self.lines(of: result, after: "  \(label): ")
        }
        return lines
    }

    /// Returns the rows of a result, and the number of rows that it doesn't have.
    private static func lines(of result: Bisection.Result, after label: String) -> [String] {
        let lines = result.rows.map {
            label + StoredText.pairs(result.columns.prefix(maximumColumns), $0)
        }
        let rest = result.rowCount - result.rows.count
        guard rest > 0 else { return lines }
        return lines + [label + "and \(Counted.items(Int64(rest), "more row"))"]
    }

    private func healing(_ bisection: Bisection, _ isComparison: Bool) -> [String] {
        var lines: [String] = []
        let effect = isComparison ? "the result differs" : "the query returns a row"
        if bisection.changes.count > 1 {
            let numbers = bisection.changes.dropFirst().prefix(20).map { state in
                state > bisection.transactions ? "the open one" : String(state)
            }
            let rest = bisection.changes.count - 1 - numbers.count
            lines.append(
                "It changes again after transaction \(numbers.joined(separator: ", "))"
                    + (rest > 0 ? " and \(rest) more." : "."))
        } else if bisection.states.count > 1 {
            let ranges = bisection.states.prefix(10).map { range in
                range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound)–\(range.upperBound)"
            }
            let rest = bisection.states.count - 10
            lines.append(
                "It healed in between: \(effect) in the states \(ranges.joined(separator: ", "))"
                    + (rest > 0 ? " and \(Counted.items(Int64(rest), "more range"))." : "."))
        }
        let last = isComparison ? "the result is the first one again" : "the query returns no row"
        switch bisection.healed {
        case .transaction(let number):
            lines.append("It healed: from transaction \(number) to the failure, \(last).")
        case .openTransaction: lines.append("It healed: after the uncommitted transaction, \(last).")
        case .start, nil: break
        }
        return lines
    }

    // MARK: - Both

    /// Returns the lines of a transaction.
    ///
    /// - `count`: the number of changed rows, of which `rows` has the first; nil if it has all.
    private func lines(
        _ label: String?, _ rows: [String], _ records: [StatementRecord], of count: Int? = nil
    ) -> [String] {
        let indent = label.map { TextWidth.columns(of: $0) + 2 } ?? 2
        var lines: [String] = []
        for row in rows.prefix(Self.maximumRows) {
            lines += TextWrap.message(row, indent: indent, for: output)
        }
        if let label, let first = lines.first {
            lines[0] = output.styled(label, .bold) + first.dropFirst(indent - 2)
        }
        let rest = (count ?? rows.count) - min(rows.count, Self.maximumRows)
        let spaces = String(repeating: " ", count: indent)
        if rest > 0 { lines.append(spaces + "and \(Counted.items(Int64(rest), "more row"))") }
        return lines + statements.lines(of: records, Self.maximumStatements)
    }

    /// Returns text such as `id = 31 updated: transferID NULL → 9`, after the table's name if `isNamed` is true.
    private static func text(of row: Finding.Row, isNamed: Bool = false) -> String {
        var row = row
        // The key precedes the columns.
        row.columns.removeAll { cell in
            (cell.old == nil || cell.new == nil) && row.key.contains { $0.column == cell.column }
        }
        let text = row.text(columns: maximumColumns)
        return isNamed ? text : String(text.dropFirst(SafeText.line(row.table).count + 1))
    }

    private func note(_ text: String?) -> [String] {
        text.map { [output.styled("  " + SafeText.line($0), .yellow)] } ?? []
    }
}

struct HistoryText {
    private static let maximumStatements = 20

    struct Transaction: Encodable, Equatable, Sendable {
        /// The transaction's number, from 1.
        var number: Int
        var pages: Int
        /// The size of the store after the transaction, in bytes.
        var size: UInt64
        var changes: StateChanges
        /// True if it stands for several transactions; otherwise nil.
        var isMerged: Bool?
        /// True if it includes changes of another process; otherwise nil.
        var isForeign: Bool?
        /// The transaction's statements; nil if the statement log doesn't reach back or the match is uncertain.
        var statements: [StatementRecord]?
    }

    private let output: TextOutput
    private let statements: StatementText

    init(output: TextOutput) {
        self.output = output
        statements = StatementText(output: output)
    }

    func heading(store: String, count: Int, reason: String?) -> [String] {
        let title = output.styled("History of store \(SafeText.line(store))", .heading)
        return ["\(title), \(Counted.items(Int64(count), "transaction"))"]
            + (reason.map { [output.styled("  " + SafeText.line($0), .yellow)] } ?? [])
    }

    /// Returns one line for the transaction and one for each object it changed.
    func lines(_ transaction: Transaction) -> [String] {
        let pages = Counted.items(Int64(transaction.pages), "page")
        var lines = [
            output.styled("\(transaction.number)", .bold)
                + "  \(pages) written, the store has \(Counted.bytes(transaction.size))"
        ]
        let notes = [
            transaction.isMerged == true ? "several transactions that were not recorded apart" : nil,
            transaction.isForeign == true ? "with changes of another process" : nil,
        ].compactMap(\.self)
        if !notes.isEmpty { lines.append(output.styled("   " + notes.joined(separator: ", "), .yellow)) }
        let changes = transaction.changes
        lines += changes.schemaTexts.map { SafeText.line("   " + $0) }
        lines += changes.tables.map { SafeText.line("   " + Self.rows(of: $0)) }
        if changes.isEmpty { lines.append("   no row changed") }
        return lines + statements.lines(of: transaction.statements ?? [], Self.maximumStatements)
    }

    /// Returns text such as `account: 1 row inserted, 2 updated`.
    private static func rows(of table: StateChanges.Table) -> String {
        if let problem = table.problem { return "\(table.name): rows cannot be compared, \(problem)" }
        let counts = [
            (table.inserted, "inserted"), (table.updated, "updated"), (table.deleted, "deleted"),
        ].filter { $0.0 > 0 }
        let texts = counts.enumerated().map { index, count in
            (index == 0 ? Counted.items(count.0, "row") : String(count.0)) + " " + count.1
        }
        return "\(table.name): " + texts.joined(separator: ", ")
    }
}
