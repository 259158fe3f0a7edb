internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// `diff`: what differs in two stores.
struct DiffCommand: Command {
    static let syntax = Syntax(
        command: "diff", summary: "Compare two stores: schema and rows",
        positionals: [
            Syntax.Positional(
                "A", help: "What there was: a bundle, as other commands take it, or an SQLite database."),
            Syntax.Positional(
                "B", isOptional: true,
                help:
                    "What it became. Without it two stores of A are compared: those that --store names, or "
                    + "what was committed and what the test saw inside its transaction, or what there was when "
                    + "the test began to use the store; or two states, with --at."
            ),
        ],
        options: [
            Syntax.Option(
                "--store", value: "NAME",
                help:
                    "The store of a bundle, as in 'query'; given twice, first that of A and then that of B. "
                    + "By default the first of A, and the one of the same name of B."),
            Syntax.Option(
                "--at", value: "COMMIT",
                help:
                    "A state of a store that has a history, as in 'query'; given twice, first that of A and "
                    + "then that of B. Without B two states of one store are compared, by default with the "
                    + "one at the failure."),
            Syntax.Option("--all", help: "All rows; otherwise the first 100 of a table."),
            .json("An object: a, b, schema, tables with the changes of all rows, equal."),
            Syntax.Option(
                "--sql", help: "A script for sqlite3 that turns A into B, schema and all rows."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Rows are found in the other store by primary key, or by rowid where there is none or it holds \
            NULL. A line begins with + for what only B has, - for what only A has, and ~ for what differs. \
            1, 1.0 and '1' are different values. What ANALYZE left is not compared.

            In stores of Core Data rows are objects: Fruit with its attributes, references such as Basket/p2, dates \
            in UTC. Z_OPT, which counts changes, is left out.

            In JSON texts and BLOBs of more than 4096 bytes are cut, and have "bytes", their size.

            The exit status is 0 where there is no difference, and 1 where there is one.
            """)

    private let paths: [String]
    private let stores: [String]
    private let commits: [CommitReference]
    private let form: Form
    private let isComplete: Bool

    private enum Form {
        case text, json, sql
    }

    init(_ arguments: ParsedArguments) throws {
        paths = arguments.positionals
        stores = arguments.values(of: "--store")
        commits = try arguments.commits(Self.syntax)
        isComplete = arguments.has("--all")
        guard !(arguments.has("--json") && arguments.has("--sql")) else {
            throw Self.syntax.usageError("'--json' and '--sql' exclude each other.")
        }
        form = arguments.has("--json") ? .json : arguments.has("--sql") ? .sql : .text
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            let (a, b) = try ComparedSide.pair(
                paths, stores: stores, commits: commits, scratch: scratch, console.limits.archive)
            let comparison = try StoreComparison(a: a.file, b: b.file, limits: console.limits.store)
            let coreData = CoreDataChanges(from: a.file, to: b.file, limits: console.limits.store)
            let isEqual: Bool
            switch form {
            case .text:
                isEqual = try DiffText(
                    output: console.output, rowLimit: isComplete ? nil : 100, coreData: coreData
                ).write(comparison, a, b)
            case .json:
                isEqual = try DiffJSON(output: console.output, coreData: coreData).write(
                    comparison, a, b)
            case .sql:
                let summary = try comparison.writeScript { try console.output.write($0) }
                for omission in summary.omissions {
                    try console.warn("The script does not give all of B: \(omission).")
                }
                isEqual = summary.isEmpty && summary.omissions.isEmpty
            }
            return isEqual ? .done : .found
        }
    }
}
