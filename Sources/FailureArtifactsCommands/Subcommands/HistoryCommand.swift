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
            let store = try Timeline(
                bundle.store(named: store), of: bundle, scratch: scratch, limits: console.limits.store)
            if let error = store.historyError { throw error }
            let known = store.store.history
            let steps = try store.readSteps { console.time.isOver }.filter { $0.number != nil }
            let report = Report(
                store: store.name, reason: known?.reason,
                transactions: steps.map { step in
                    let number = step.number ?? 0
                    return HistoryText.Transaction(
                        number: number, pages: step.pages, size: step.size, changes: step.changes,
                        isMerged: known?.merged?.contains(number) == true ? true : nil,
                        isForeign: known?.foreign?.contains(number) == true ? true : nil,
                        statements: step.statements.isEmpty ? nil : step.statements.map(\.record))
                })
            if isJSON {
                try console.output.writeLine(JSONText.pretty(report))
            } else {
                let text = HistoryText(output: console.output)
                let heading = text.heading(
                    store: report.store, count: steps.count, reason: report.reason)
                for line in heading + report.transactions.flatMap(text.lines) {
                    try console.output.writeLine(line)
                }
                let isMissing = report.transactions.contains { $0.statements == nil }
                if isMissing, let note = store.store.olderStatements {
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
