internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport

struct HistoryCommand: Command {
    static let syntax = Syntax(
        command: "history", summary: "List the transactions before the failure, oldest first",
        positionals: [.bundle],
        options: [
            Syntax.Option("--all", help: "List the transactions from before the test, too."), .store,
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

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let store = try Timeline(
                bundle.store(named: store), of: bundle, scratch: scratch, limits: console.limits.store)
            if let error = store.historyError { throw error }
            let known = store.store.history
            let steps = try store.readSteps().filter { $0.number != nil }
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
            let before = store.stateBeforeTest
            let earlier = arguments.has("--all") || before == steps.count ? 0 : before
            try write(report, console) {
                let text = HistoryText(output: console.output)
                let rest = "1 to \(earlier) are from before the test (listed with --all)"
                let isMissing = report.transactions.contains { $0.statements == nil }
                let note = isMissing ? store.store.olderStatements : nil
                return text.heading(store: report.store, count: steps.count, reason: report.reason)
                    + (earlier > 0 ? [console.output.styled(rest, .dim)] : [])
                    + report.transactions.dropFirst(earlier).flatMap(text.lines)
                    + [note.map { console.output.styled($0, .yellow) }].compactMap(\.self)
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
