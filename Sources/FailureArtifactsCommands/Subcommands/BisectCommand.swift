internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

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
