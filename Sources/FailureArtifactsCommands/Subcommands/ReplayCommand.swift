internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `replay`: runs the logged statements again, and finds the first transaction with another result.
struct ReplayCommand: Command {
    static let syntax = Syntax(
        command: "replay", summary: "Run the recorded statements again and compare the result",
        positionals: [.bundle],
        options: [
            .store,
            Syntax.Option(
                "--output", short: "-o", value: "FILE",
                help: "Write the replayed store to FILE, which must not exist."),
            .json(
                "Print a JSON object: store, start (history, baseline or empty), transactions, replayed, result (same, "
                    + "different or incomplete), skipped and, if there is one, firstDifference."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            The replay starts with the state before the first transaction of the store's history. Without a history, \
            it starts with the baseline that the test's configuration asked for, or else with an empty store. With a \
            history, the result of each transaction is compared with the recorded one; otherwise only the last result \
            is compared.

            If the results differ, a statement that is not in the log or another process wrote to the store, or a \
            statement's result depends on the time or on chance.

            The log has the values of parameters (?) only if CaptureConfiguration.recordsBoundValues is set. A \
            transaction without them is skipped, and the next one starts with the recorded state.

            The exit status is 0 if the result is the captured store, and 1 otherwise.
            """)

    private let path: String
    private let store: String?
    private let output: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        store = arguments.value(of: "--store")
        output = arguments.value(of: "--output")
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            if let output { try WholeFile.checkNew(output) }
            if let redactions = choice.store.redactions, !redactions.isEmpty {
                try console.warn(
                    "The store was redacted (\(redactions.joined(separator: ", "))), so statements can have another "
                        + "result.")
            }
            let replay = try Replay(
                of: choice, in: bundle, scratch: scratch, limits: console.limits.store)
            if let output {
                try WholeFile.create(output) { try FileSystem.copy(replay.path, toNewFile: $0) }
            }
            if isJSON {
                try console.output.writeLine(JSONText.pretty(ReplayReport(replay)))
            } else {
                for line in Self.lines(replay) { try console.output.writeLine(line) }
            }
            return replay.result == .same ? .done : .found
        }
    }

    /// The maximum number of skipped transactions, rows and statements in a text.
    private static let limit = 10

    private static func lines(_ replay: Replay) -> [String] {
        let start =
            switch replay.start {
            case .history: "the state before the first transaction"
            case .baseline: "the state when the test began"
            case .empty: "an empty store"
            }
        var lines: [String] = []
        let name = SafeText.line(replay.store)
        if let difference = replay.difference {
            lines.append(
                difference.transaction.map {
                    "\(name): replayed, transaction \($0) of \(replay.transactionCount) has another result"
                } ?? "\(name): the replayed store differs from the captured one")
            lines += difference.schema.map { "  " + SafeText.line($0) }
            lines += difference.rows.prefix(limit).map { "  \($0.text)" }
            if difference.rowCount > limit {
                lines.append("  … \(Counted.number(Int64(difference.rowCount - limit))) more rows")
            }
            lines.append("  (from the replayed to the captured value)")
            for statement in difference.statements.suffix(limit) {
                lines.append("     " + text(statement.sql))
                if let source = statement.source {
                    let function = source.function.map { SafeText.line($0) + " " } ?? ""
                    lines.append("       " + function + SafeText.line(source.place))
                }
            }
            if let word = difference.unsteadyWord {
                lines.append("  Its result depends on the time or on chance: \(SafeText.line(word))")
            }
        } else {
            lines.append(
                "\(name): \(replay.replayedCount) of \(Counted.items(Int64(replay.transactionCount), "transaction")) "
                    + "replayed from \(start), "
                    + (replay.result == .same
                        ? "and the result is the captured store" : "without a difference"))
        }
        if !replay.skipped.isEmpty { lines.append("Not replayed:") }
        for skipped in replay.skipped.prefix(limit) {
            let place = skipped.transaction.map { "transaction \($0), " } ?? ""
            lines.append(
                "  " + place + SafeText.line(skipped.reason)
                    + (skipped.sql.map { ": " + text($0) } ?? ""))
        }
        if replay.skipped.count > limit {
            lines.append("  … \(replay.skipped.count - limit) more")
        }
        return lines
    }

    private static func text(_ sql: String) -> String {
        let line = sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return TextWidth.shortened(SafeText.line(line), to: 200)
    }
}

/// The result of `replay`, for JSON.
private struct ReplayReport: Encodable {
    struct Skipped: Encodable {
        var transaction: Int?
        var statement: String?
        var reason: String
    }

    struct Statement: Encodable {
        var sql: String
        var source: StatementRecord.Source?
    }

    struct Difference: Encodable {
        var transaction: Int?
        var rows: [Finding.Row]
        var rowCount: Int
        var schema: [String]
        var statements: [Statement]
        var unsteadyWord: String?
    }

    var store: String
    var start: Replay.Start
    var transactions: Int
    var replayed: Int
    var result: Replay.Result
    var skipped: [Skipped]
    var firstDifference: Difference?

    init(_ replay: Replay) {
        store = replay.store
        start = replay.start
        transactions = replay.transactionCount
        replayed = replay.replayedCount
        result = replay.result
        skipped = replay.skipped.map {
            Skipped(transaction: $0.transaction, statement: $0.sql, reason: $0.reason)
        }
        firstDifference = replay.difference.map { difference in
            Difference(
                transaction: difference.transaction, rows: difference.rows,
                rowCount: difference.rowCount, schema: difference.schema,
                statements: difference.statements.map { Statement(sql: $0.sql, source: $0.source) },
                unsteadyWord: difference.unsteadyWord)
        }
    }
}
