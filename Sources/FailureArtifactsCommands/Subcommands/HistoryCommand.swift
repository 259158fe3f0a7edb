internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `history`: what led to the state at the failure.
struct HistoryCommand: Command {
    static let syntax = Syntax(
        command: "history", summary: "List the transactions before the failure, oldest first",
        positionals: [.bundle],
        options: [
            .store,
            .json("An object: store, reason, and transactions with number, pages, size, and changes."),
        ],
        discussion: """
            Each transaction has the pages it wrote, the size of the store after it, and for each table the \
            rows it inserted, updated and deleted. Its number is what --at takes in 'open', 'query' and \
            'extract' to go to the state after it.

            A history goes back to the last checkpoint, at most. It has what was committed: what a \
            transaction had not committed at the failure is in no history.
            """)

    private let path: String
    private let store: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        store = arguments.value(of: "--store")
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            let history = try bundle.extractHistory(of: choice, below: scratch)
            var report = Report(
                store: choice.store.name, reason: choice.store.history?.reason, transactions: [])
            let text = HistoryText(output: console.output)
            if !isJSON {
                let heading = text.heading(
                    store: report.store, count: history.reader.transactions.count, reason: report.reason)
                for line in heading { try console.output.writeLine(line) }
            }
            try forEachTransaction(of: history) { transaction in
                if isJSON {
                    report.transactions.append(transaction)
                } else {
                    for line in text.lines(transaction) { try console.output.writeLine(line) }
                }
            }
            if isJSON { try console.output.writeLine(JSONText.pretty(report)) }
            return .done
        }
    }

    private struct Report: Encodable {
        var store: String
        var reason: String?
        var transactions: [HistoryText.Transaction]
    }

    /// Goes through the states with two files, one a transaction behind the other.
    private func forEachTransaction(
        of history: borrowing ExtractedHistory, _ body: (HistoryText.Transaction) throws -> Void
    ) throws {
        let old = try history.rebuild(0)
        let new = try history.rebuild(0, to: old + ".next")
        for (index, transaction) in history.reader.transactions.enumerated() {
            try history.advance(new, from: index)
            try body(
                HistoryText.Transaction(
                    number: index + 1, pages: transaction.pages.count,
                    size: UInt64(transaction.databaseSize) * UInt64(history.reader.pageSize),
                    changes: try RowChanges.count(
                        from: old, to: new, pages: Set(transaction.pages))))
            try history.advance(old, from: index)
        }
    }
}
