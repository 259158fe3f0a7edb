internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

struct OpenCommand: Command {
    static let syntax = Syntax(
        command: "open", summary: "Open a scratch copy of a store in sqlite3", positionals: [.bundle],
        options: [
            .store, .commit, .noLimits,
        ],
        rest: Syntax.Positional(
            "ARGS", help: "Arguments for sqlite3, such as -box or a statement to run."),
        discussion: """
            When sqlite3 ends, the copy is removed, with all changes made to it. The bundle never changes. The \
            exit status is that of sqlite3.

            sqlite3 doesn't trust the schema of the store: its views, triggers and computed columns can't call \
            functions with side effects, and '.dbconfig defensive' is on. Statements that you type can do all that \
            sqlite3 can.

            To run one statement and get its rows as JSON or CSV, use 'failure-artifacts query', which doesn't \
            need sqlite3.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let state = try state()
        return try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            guard
                let shell = ChildProcess.executable(named: "sqlite3", environment: console.environment)
            else {
                throw CommandError(
                    .noInput,
                    "There is no sqlite3 in PATH. Install it with 'apt install sqlite3' or 'brew install sqlite', "
                        + "or use 'failure-artifacts query'.")
            }
            let file = try bundle.extract(choice, at: state, below: scratch)
            for line in try header(bundle.metadata, choice, file, console.error) { console.say(line) }
            let status = try ChildProcess.run(
                shell, arguments: [file.path] + Self.precautions + arguments.rest,
                environment: console.environment, interruption: console.interruption)
            return ExitCode(rawValue: status)
        }
    }

    /// Returns the lines that describe the test and the store.
    private func header(
        _ metadata: BundleMetadata, _ choice: StoreChoice, _ file: StoreFile, _ output: TextOutput
    ) throws -> [String] {
        var lines = [BundleText.title(metadata.test.title, metadata.outcome, for: output)]
        let size = try FileSystem.status(of: file.path)?.size ?? 0
        var seen = ""
        if let state = file.state {
            seen = ", " + state.description
        } else if choice.isCommitted {
            seen = ", what was committed"
        } else if choice.store.transactionOpen == true {
            seen =
                choice.store.isBeforeRollback
                ? ", before the rollback of a transaction" : ", inside the open transaction"
        }
        lines.append(
            output.styled("Store \(SafeText.line(choice.name))", .heading)
                + " (\(Counted.bytes(size)))\(seen)")
        if let tables = choice.store.inspected(copyAt: file.path)?.tables, !tables.isEmpty {
            lines.append("  " + tables.summary)
        }
        lines.append(output.styled("This is a scratch copy: changes to it are lost.", .dim))
        return lines
    }

    /// The shell's first commands, which prevent the store's schema from causing side effects.
    ///
    /// Views, triggers and computed columns can't call functions with side effects, such as the shell's functions that
    /// write files or start an editor. Defensive mode also prevents writes that bypass SQL.
    ///
    /// `-safe` would disable the shell's file commands for the user too. `-readonly` would prevent changes, which are
    /// the purpose of the scratch copy. `.once /dev/null` hides the line that `.dbconfig` prints.
    private static let precautions = [
        "-cmd", "PRAGMA trusted_schema = 0", "-cmd", ".once /dev/null", "-cmd", ".dbconfig defensive on",
    ]
}
