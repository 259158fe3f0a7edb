internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

struct HistoryText {
    struct Transaction: Encodable, Equatable, Sendable {
        /// The maximum number of statements listed. A longer transaction's other statements are only counted.
        static let maximumStatements = 20

        /// The transaction's number, from 1.
        var number: Int
        /// The number of pages that the transaction wrote.
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

    /// Returns the lines before the transactions.
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
        for object in changes.schema {
            lines.append(SafeText.line("   \(object.type) \(object.name) \(object.change.rawValue)"))
        }
        if let version = changes.userVersion { lines.append("   user_version \(version)") }
        lines += changes.tables.map { SafeText.line("   " + Self.rows(of: $0)) }
        if changes.isEmpty { lines.append("   no row changed") }
        let statements = transaction.statements ?? []
        for statement in statements.prefix(Transaction.maximumStatements) {
            lines += self.statements.lines(statement, after: "     ", style: .dim)
        }
        let rest = statements.count - Transaction.maximumStatements
        if rest > 0 {
            lines.append(
                output.styled(
                    "     and \(Counted.items(Int64(rest), "statement")) more; see --json", .dim))
        }
        return lines
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
