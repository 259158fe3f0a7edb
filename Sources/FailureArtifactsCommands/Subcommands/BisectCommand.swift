internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// `bisect`: finds the first transaction after which a query returns a row, or another result than before.
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
                    + "transaction, healedBy, changedAfter, query (with the first rows before and after, beforeCount, "
                    + "afterCount and, if not all rows were counted, moreRows), changes, rows, rowCount and "
                    + "statements."),
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

    private let path: String
    private let sql: String
    private let store: String?
    private let isComparison: Bool
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        sql = arguments.positionals[1]
        store = arguments.value(of: "--store")
        isComparison = arguments.has("--changed")
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            let states = try Timeline(
                choice, of: bundle, scratch: scratch, limits: console.limits.store)
            let bisection: Bisection
            do {
                bisection = try states.bisect(sql, onChange: isComparison)
            } catch let error as SQLiteError {
                throw CommandError(
                    error, sql: sql, store: choice, path: states.path, isLast: true,
                    bundle: bundle.location)
            }
            let transaction: Timeline.Step? =
                switch bisection.first {
                case .transaction(let number): try states.readSteps().first { $0.number == number }
                case .openTransaction: try states.readSteps().last
                case .start, nil: nil
                }
            if isJSON {
                try console.output.writeLine(
                    JSONText.pretty(
                        BisectionReport(
                            store: choice.store.name, sql: sql, isComparison: isComparison, bisection,
                            transaction)))
            } else {
                let text = BlameText(output: console.output)
                let lines = text.lines(
                    bisection, transaction, isComparison: isComparison,
                    reason: choice.store.history?.reason)
                for line in lines { try console.output.writeLine(line) }
            }
            return bisection.first == nil ? .found : .done
        }
    }
}
