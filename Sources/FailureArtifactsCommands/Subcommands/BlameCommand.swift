internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// `blame`: lists the transactions that touched a row.
struct BlameCommand: Command {
    static let syntax = Syntax(
        command: "blame", summary: "List the transactions that touched a row, with statement and line",
        positionals: [
            .neededBundle, Syntax.Positional("TABLE", help: "The table of the row."),
            Syntax.Positional(
                "KEY", isRepeated: true, isOptional: true,
                help:
                    "The value of each column of the primary key, or the rowid if the table has no key: 31, Paris, "
                    + "X'0A1B'. Other ways to name rows: COLUMN=VALUE, for any columns or the rowid, or WHERE and a "
                    + "condition in SQL."),
        ],
        options: [
            .store,
            .json(
                "Print a JSON object: store, table, transactionCount, reason, log (a note about missing statements), "
                    + "rows (each with its key, and its values at the failure, or null if it didn't exist then), and "
                    + "transactions (each with transaction or open, rows and statements)."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Finds the rows that match in any state of the store's history, even if they no longer exist, and follows \
            each by its key, whether it still matches or not. If the transaction that was open at the failure touched \
            a row, it is listed last.

            Each transaction has the statements that made the change. If several can have done so, the transaction runs \
            again on a copy to tell which of them did; where a statement can't run, all are listed.

            Text in single quotes is always text: 'a=b', '31'. A condition can be a single argument: \
            failure-artifacts blame BUNDLE posting 'WHERE transferID = 9'
            """)

    private let path: String
    private let address: RowAddress
    private let title: String
    private let store: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        path = arguments.positionals[0]
        let words = Array(arguments.positionals.dropFirst())
        guard let address = RowAddress(words) else {
            throw Self.syntax.usageError("'blame' needs KEY, or WHERE and a condition.")
        }
        self.address = address
        title = words.joined(separator: " ")
        store = arguments.value(of: "--store")
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let store = try Timeline(
                bundle.store(named: store), of: bundle, scratch: scratch, limits: console.limits.store,
                rowLimit: Blame.changeLimit)
            let blame: Blame
            do {
                blame = try Blame(address, in: store) { console.time.isOver }
            } catch let error as SQLiteError where !error.isDatabaseDamaged && !error.isOverLimit {
                throw CommandError(.usage, "The rows cannot be selected: \(error.message).")
            }
            if isJSON {
                try console.output.writeLine(JSONText.pretty(blame))
            } else {
                let text = BlameText(output: console.output)
                for line in text.lines(blame, title: title) { try console.output.writeLine(line) }
            }
            return .done
        }
    }
}
