internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `history`: lists the transactions before the failure.
struct HistoryCommand: Command {
    static let syntax = Syntax(
        command: "history", summary: "List the transactions before the failure, oldest first",
        positionals: [.bundle],
        options: [
            .store,
            .json(
                "Print a JSON object: store, reason, and transactions, each with number, pages, size, changes and, if "
                    + "they are known, statements."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Each transaction has the number of pages that it wrote, the size of the store after it, and the number \
            of rows inserted, updated and deleted in each table. Its statements are listed if the log reaches back \
            that far and leaves no doubt. To go to the state after a transaction, pass its number as --at to 'open', \
            'query', 'diff' or 'extract'.

            A history contains only committed transactions, so not the one that was open at the failure. That of a \
            store in WAL mode goes back to the last checkpoint at most.
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
            let log = try console.statements(of: choice.store, in: bundle)
            if !isJSON {
                let heading = text.heading(
                    store: report.store, count: history.reader.transactions.count, reason: report.reason)
                for line in heading { try console.output.writeLine(line) }
            }
            var number = 0
            try history.forEachTransaction(limits: console.limits.store) { changes in
                number = changes.number
                let known = choice.store.history
                let transaction = HistoryText.Transaction(
                    number: changes.number, pages: changes.pages, size: changes.size,
                    changes: changes.changes,
                    isMerged: known?.merged?.contains(number) == true ? true : nil,
                    isForeign: known?.foreign?.contains(number) == true ? true : nil)
                // Statements are assigned to transactions only after all transactions are known.
                if isJSON || !log.isEmpty {
                    report.transactions.append(transaction)
                } else {
                    for line in text.lines(transaction) { try console.output.writeLine(line) }
                }
                return !console.time.isOver
            }
            guard number == history.reader.transactions.count else {
                throw CommandError(
                    .inputOutput,
                    "The history took too long: transactions from \(number + 1) on are not shown. "
                        + CommandError.limitsHint)
            }
            let found = LoggedTransactions(log, of: choice.store).statements(
                of: report.transactions.map {
                    .init(number: $0.number, pages: $0.pages, changes: $0.changes)
                },
                isWhole: choice.store.history?.reason == nil)
            for (index, statements) in found.enumerated() where !statements.isEmpty {
                report.transactions[index].statements = statements
            }
            if isJSON {
                try console.output.writeLine(JSONText.pretty(report))
            } else {
                for line in report.transactions.flatMap(text.lines) {
                    try console.output.writeLine(line)
                }
                let isMissing = report.transactions.contains { $0.statements == nil }
                if isMissing, let note = choice.store.olderStatements {
                    try console.output.writeLine(console.output.styled(note, .yellow))
                }
            }
            return .done
        }
    }

    private struct Report: Encodable {
        var store: String
        var reason: String?
        var transactions: [HistoryText.Transaction]
    }
}
