internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

struct BlameCommand: Command {
    static let syntax = Syntax(
        command: "blame", summary: "List the transactions that touched a row, with statement and line",
        positionals: [
            .bundle, Syntax.Positional("TABLE", help: "The table of the row."),
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
            failure-artifacts blame posting 'WHERE transferID = 9'

            The first argument is BUNDLE if it has a slash, if there is a file of that name, or if it is the name of a \
            bundle or the eight digits at its end. Otherwise, it is TABLE.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let words = Array(arguments.positionals.dropFirst())
        guard let address = RowAddress(words) else {
            throw Self.syntax.usageError("'blame' needs KEY, or WHERE and a condition.")
        }
        return try console.withBundle(at: path) { bundle, scratch in
            let store = try Timeline(
                bundle.store(named: store), of: bundle, scratch: scratch, limits: console.limits.store,
                rowLimit: Blame.changeLimit)
            let blame: Blame
            do {
                blame = try Blame(address, in: store)
            } catch let error as SQLiteError where !error.isDatabaseDamaged && !error.isOverLimit {
                throw CommandError(.usage, "The rows cannot be selected: \(error.message).")
            }
            try write(blame, console) {
                BlameText(output: console.output).lines(blame, title: words.joined(separator: " "))
            }
            return .done
        }
    }
}
