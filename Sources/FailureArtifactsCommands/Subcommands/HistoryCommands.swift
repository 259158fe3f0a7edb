internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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

struct BisectCommand: Command {
    static let syntax = Syntax(
        command: "bisect", summary: "Find the first transaction after which a query returns a row",
        positionals: [
            .bundle,
            Syntax.Positional(
                "SQL", help: "A query that returns rows only while something is wrong."),
        ],
        options: [
            Syntax.Option(
                "--changed",
                help:
                    "Find the first transaction after which the query's result differs, and list all that changed it."
            ),
            .store,
            .json(
                "Print a JSON object: store, sql, changed, transactionCount, result (transaction, open-transaction, "
                    + "before-first-transaction or none), states (ranges of --at numbers) and, if they apply, "
                    + "transaction, healedBy, changedAfter, query (with the first rows before and after, beforeCount and "
                    + "afterCount), changes, rows, rowCount and statements."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Tests every state of the store's history, because a later transaction may repair the data. If a \
            transaction was open at the failure, it counts as the last one. If a state lacks a table or column that \
            the query names, the query returns no row there.

            With --changed, each result is compared with that of the first state in which the query can run. The \
            order of rows matters.

            The exit status is 0 if there is such a transaction, or if the query returns a row even before the first \
            one. Otherwise it is 1.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let sql = arguments.positionals[1]
        let isComparison = arguments.has("--changed")
        return try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            let states = try Timeline(
                choice, of: bundle, scratch: scratch, limits: console.limits.store)
            let bisection: Bisection
            do {
                bisection = try states.bisect(sql, onChange: isComparison)
            } catch let error as SQLiteError {
                throw CommandError(
                    error, sql: sql, store: choice, path: states.path,
                    bundle: bundle.location)
            }
            let transaction: Timeline.Step? =
                switch bisection.first {
                case .transaction(let number): try states.readSteps().first { $0.number == number }
                case .openTransaction: try states.readSteps().last
                case .start, nil: nil
                }
            let document = bisection.json(
                store: choice.store.name, sql: sql, isComparison: isComparison, transaction)
            try write(document, console) {
                BlameText(output: console.output).lines(
                    bisection, transaction, isComparison: isComparison,
                    reason: choice.store.history?.reason)
            }
            return bisection.first == nil ? .found : .done
        }
    }
}
