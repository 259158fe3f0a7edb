internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

struct ReduceCommand: Command {
    static let syntax = Syntax(
        command: "reduce", summary: "Find the smallest store that still fails",
        positionals: [.bundle],
        options: [
            Syntax.Option(
                "--check", value: "SQL",
                help: "A query that returns rows only while something is wrong."),
            .output(
                "The file of the reduced store, which must not exist. By default, the store's name with "
                    + ".reduced.sqlite, in the working directory. The SQL of a small store is written beside it, with "
                    + "the extension .sql."),
            .commit, .store,
            Syntax.Option(
                "--keep-schema", help: "Keep all tables, indexes, views and triggers."),
            Syntax.Option(
                "--max-runs", value: "N",
                help:
                    "The maximum number of runs of the check. By default, 60 for CMD, and no limit for --check."
            ),
            Syntax.Option(
                "--timeout", value: "DURATION",
                help:
                    "The time limit for one run of CMD: 90, 90s or 10m. A run that exceeds it counts as failed."
            ),
            .json(
                "Print a JSON object: store, end (complete, run-limit, time-limit or interrupted), isReliable, runs, "
                    + "before and after (rows, tables with their rows, bytes), files."),
            .timeLimit, .noLimits,
        ],
        alternatives: [["--check", "--"]],
        rest: Syntax.Positional(
            "CMD",
            help:
                "A command that fails because of the store, such as: swift test --filter LedgerTests. The variable "
                + "FAILURE_ARTIFACTS_FIXTURE has the path of the store, which the command may change."),
        needsRest: true,
        discussion: """
            Removes rows first, then values, then tables, indexes, views and triggers. The result is a store that \
            the application could have made: all constraints hold, and a row stays if another one refers to it, by a \
            foreign key or by a column name such as transferID.

            A run of CMD counts as failed if it fails at one of the lines at which it fails with the whole store. If \
            CMD prints no such lines, its exit status decides. FAILURE_ARTIFACTS is set to 'off' for CMD unless it is \
            already set.

            Ctrl-C ends the search and writes the smallest store found so far.

            The exit status is 1 if the whole store doesn't fail the check, or not every time.
            """)

    private static let scriptLimit = 64 << 10

    let arguments: ParsedArguments

    private var sql: String? { arguments.value(of: "--check") }

    func run(_ console: Console) throws -> ExitCode {
        let state = try state()
        let timeLimit = try duration(of: "--timeout")
        var options = StoreReduction.Options()
        options.keepsSchema = arguments.has("--keep-schema")
        options.maximumRuns =
            try number(of: "--max-runs", in: 4...Int(Int32.max)) ?? (sql == nil ? 60 : nil)
        return try console.withBundle(at: path) { bundle, scratch in
            let choice = try bundle.store(named: store)
            let stem = SafeName.make(
                from: Path.stem(of: Path.name(of: choice.fileName)), maximumBytes: 150)
            let target = arguments.value(of: "--output") ?? stem + ".reduced.sqlite"
            let name = Path.stem(of: Path.name(of: target)) + ".sql"
            let script = target.contains("/") ? Path.join(Path.directory(of: target), name) : name
            for file in [target, script] { try WholeFile.checkNew(file) }
            if let redactions = choice.store.redactions, !redactions.isEmpty {
                try console.warn(
                    "The store was redacted (\(redactions.joined(separator: ", "))): the check sees, and the result "
                        + "holds, what was put in place of the values.")
            }
            let original = try bundle.extract(choice, at: state, below: scratch).path
            try Self.checkIntegrity(of: original, choice, console)
            let stop = StopRequest(console.interruption)
            defer { stop.finish() }
            let command =
                arguments.rest.isEmpty
                ? nil
                : CommandCheck(
                    RepeatedCommand(
                        arguments.rest,
                        environment: console.environment.merging(["FAILURE_ARTIFACTS": "off"]) { a, _ in
                            a
                        },
                        timeLimit: timeLimit, stop: stop),
                    fixture: Path.join(scratch, stem + ".sqlite"), log: Path.join(scratch, "output.txt"))
            let query = sql.map { QueryCheck($0, limits: console.limits.store) }
            let reduction = StoreReduction(
                of: original, scratch: scratch, limits: console.limits.store, options: options
            ) { path in
                try query?.holds(for: path) ?? command?.holds(for: path) ?? false
            }
            return try reduce(
                reduction, choice, of: bundle.location, command, to: (target, script), stop: stop,
                console)
        }
    }

    private func reduce(
        _ reduction: StoreReduction, _ choice: StoreChoice, of bundle: BundleLocation,
        _ command: CommandCheck?, to files: (store: String, script: String), stop: StopRequest,
        _ console: Console
    ) throws -> ExitCode {
        let before = try StoreReduction.size(of: reduction.best, limits: console.limits.store)
        try confirm(reduction, choice, of: bundle, command, stop, console)
        if let signal = stop.signal { return ExitCode(rawValue: 128 + signal) }
        if let place = command?.expected { console.say("The command fails \(place).") }

        reduction.isInterrupted = { stop.signal != nil }
        let end = try reduction.run()
        let isReliable = try end == .interrupted || reduction.confirm(times: command == nil ? 3 : 1) > 0
        let after = try StoreReduction.size(of: reduction.best, limits: console.limits.store)

        var report = ReductionReport(
            store: choice.name, end: end, isReliable: isReliable, runs: reduction.runs,
            before: before,
            after: after)
        report.files = try write(reduction.best, to: files, console)
        try write(report, console) { report.lines }
        for note in report.notes(isCommand: command != nil) { try console.warn(note) }
        if let signal = stop.signal { return ExitCode(rawValue: 128 + signal) }
        guard isReliable else {
            throw Self.unreliable(
                "it no longer held for the reduced store, for which it had held before")
        }
        return .done
    }

    /// Checks that the whole store fails, and that it does each time.
    private func confirm(
        _ reduction: StoreReduction, _ choice: StoreChoice, of bundle: BundleLocation,
        _ command: CommandCheck?, _ stop: StopRequest, _ console: Console
    ) throws {
        let times = command == nil ? 3 : 2
        let count: Int
        do {
            count = try reduction.confirm(times: times)
        } catch let error as SQLiteError {
            guard let sql else { throw error }
            throw CommandError(
                error, sql: sql, store: choice, path: reduction.best,
                bundle: bundle)
        }
        guard stop.signal == nil else { return }
        guard count > 0 else {
            for line in try command?.lastOutput() ?? [] { console.say("  " + SafeText.line(line)) }
            throw CommandError(
                .found,
                command == nil
                    ? "The check returns no row for the whole store, so there is nothing to reduce."
                    : "The command succeeds with the whole store, so there is nothing to reduce. Does it use the store "
                        + "that FAILURE_ARTIFACTS_FIXTURE names?")
        }
        guard count == times else { throw Self.unreliable("it held in \(count) of \(times) runs") }
    }

    /// Writes the reduced store and, if it is small, its script.
    private func write(
        _ store: String, to files: (store: String, script: String), _ console: Console
    ) throws -> [String] {
        try WholeFile.create(files.store) { try FileSystem.copy(store, toNewFile: $0) }
        let script = try StoreScript.bytes(
            of: store, limits: console.limits.store, maximum: Self.scriptLimit)
        guard let script else { return [files.store] }
        try WholeFile.create(files.script) { try FileSystem.write(script, toNewFile: $0) }
        return [files.store, files.script]
    }

    private static func unreliable(_ evidence: String) -> CommandError {
        CommandError(
            .found,
            "The check is unreliable: \(evidence). Make its result depend on the store only, and not on time, "
                + "chance or order.")
    }

    /// Throws an error if the store is damaged, because a store without rows of it may be damaged differently.
    private static func checkIntegrity(
        of path: String, _ choice: StoreChoice, _ console: Console
    ) throws {
        let connection = try Connection.untrusted(path, limits: console.limits.store)
        let result = try connection.text(of: "PRAGMA integrity_check(1)")
        guard result != "ok" else { return }
        throw CommandError(
            .badData,
            "The store '\(choice.name)' is damaged, so rows can't be left out of it: \(SafeText.line(result))."
        )
    }
}

/// The result of `reduce`, for JSON and for text.
struct ReductionReport: JSONDocument {
    let store: String
    let end: StoreReduction.End
    let isReliable: Bool
    let runs: Int
    let before: StoreReduction.Size
    let after: StoreReduction.Size
    var files: [String] = []

    var json: JSONObject {
        func json(_ size: StoreReduction.Size) -> JSONObject {
            ["rows": size.rowCount, "tables": size.rows, "bytes": size.bytes]
        }
        return [
            "store": store, "end": end, "isReliable": isReliable, "runs": runs, "before": json(before),
            "after": json(after), "files": files,
        ]
    }

    var lines: [String] {
        func text(_ size: StoreReduction.Size) -> String {
            let tables = Counted.items(Int64(size.rows.values.count { $0 > 0 }), "table")
            return
                "\(Counted.number(Int64(size.rowCount))) \(size.rowCount == 1 ? "row" : "rows") in \(tables)"
        }
        var lines = [
            "\(SafeText.line(store)): \(text(before)) became \(text(after)), after "
                + Counted.items(Int64(runs), "run") + " of the check"
        ]
        for (table, rows) in after.rows.sorted(by: { $0.key < $1.key }) where rows > 0 {
            lines.append("  \(SafeText.line(table)) \(Counted.items(Int64(rows), "row"))")
        }
        return lines + files.map(SafeText.line)
    }

    /// Returns full sentences about a search that ended early, and about a check that doesn't need the rows.
    func notes(isCommand: Bool) -> [String] {
        var notes: [String] = []
        switch end {
        case .runLimit:
            notes.append(
                "The search ended after \(runs) runs, and a smaller store may fail, too. '--max-runs' sets another limit."
            )
        case .timeLimit:
            notes.append(
                "The search ended because its time was up, and a smaller store may fail, too. '--time-limit' sets "
                    + "another limit.")
        case .interrupted: notes.append("The search was interrupted, and a smaller store may fail, too.")
        case .complete: break
        }
        if isCommand, after.rowCount == 0, before.rowCount > 0 {
            notes.append(
                "The command fails with empty tables, too, so its failure may have nothing to do with the rows."
            )
        }
        return notes
    }
}

/// A check that holds for a store if a command fails with it in the same way as it did first.
final class CommandCheck {
    struct Failure: CustomStringConvertible {
        let end: RepeatedCommand.End
        /// The lines of source code at which tests failed.
        let places: Set<String>

        var description: String {
            if !places.isEmpty { return "at " + places.sorted().prefix(3).joined(separator: ", ") }
            return switch end {
            case .timedOut: "by its time limit"
            case .ended(let status): "with status \(status.code)"
            }
        }

        func isLike(_ other: Failure) -> Bool {
            // Another test may fail, too, because its rows are gone.
            other.places.isEmpty ? end == other.end : !places.isDisjoint(with: other.places)
        }
    }

    private let command: RepeatedCommand
    private let fixture: String
    private let log: String
    private(set) var expected: Failure?

    init(_ command: RepeatedCommand, fixture: String, log: String) {
        self.command = command
        self.fixture = fixture
        self.log = log
    }

    /// Runs the command with a store; true if the command fails like the first time.
    func holds(for path: String) throws -> Bool {
        for suffix in ["", "-journal", "-wal", "-shm"] { try? FileSystem.remove(fixture + suffix) }
        try FileSystem.rename(path, to: fixture)
        let end = try command.run(setting: ["FAILURE_ARTIFACTS_FIXTURE": fixture], output: log)
        guard end != .ended(.exited(0)) else { return false }
        let failure = Failure(end: end, places: try FailurePlaces.places(inOutput: log))
        guard let expected else {
            expected = failure
            return true
        }
        return failure.isLike(expected)
    }

    func lastOutput() throws -> [String] {
        let bytes = try FileSystem.contents(ofFile: log).suffix(8 << 10)
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).suffix(10)
            .map(String.init)
    }
}
