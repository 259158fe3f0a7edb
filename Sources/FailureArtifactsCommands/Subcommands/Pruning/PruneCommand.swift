internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// `prune`: removes old bundles.
struct PruneCommand: Command {
    static let syntax = Syntax(
        command: "prune", summary: "Remove the oldest bundles, by number, age or total size",
        positionals: [Syntax.Positional("DIR", help: "The directory of bundles.")],
        options: PruneLimits.options + [
            Syntax.Option(
                "--dry-run", help: "List the bundles that would be removed, and remove nothing."),
            .json(
                "Print a JSON object: dryRun, removed and kept (each with bundles and bytes), and the bundles."
            ),
            .noLimits,
        ],
        discussion: """
            Removes bundles from DIR and its subdirectories, the oldest first, until the rest is within all given \
            limits. At least one limit is required. The age of a bundle is the time since its capture, not the age of \
            its file. Prints a line for each removed bundle, as 'list' does, and then the totals.

            Everything else stays: other files, zips that are not bundles, symbolic links and their targets, and \
            hidden directories. A damaged zip stays too, with a warning. Tests may run at the same time: their new \
            bundles stay, and the space of the removed ones is free for them.

            The exit status is 74 if a bundle could not be removed; the others are removed nevertheless.
            """)

    private let directory: String
    private let limits: PruneLimits
    private let isDryRun: Bool
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        directory = arguments.positionals[0]
        isDryRun = arguments.has("--dry-run")
        isJSON = arguments.has("--json")
        limits = try PruneLimits(arguments, Self.syntax)
    }

    func run(_ console: Console) throws -> ExitCode {
        try PathCheck.directory(directory)
        var code = ExitCode.done
        let bundles = try bundles(console, &code)
        let plan = PrunePlan(bundles, within: limits, now: Timestamp.now.nanoseconds / 1_000_000)
        let removal = isDryRun ? nil : BundleRemoval(plan)
        let removed = plan.removed.filter { removal?.removed.contains($0.path) ?? true }
        let gone = removal?.gone.count ?? 0
        try report(
            removed, Amount(of: removed),
            kept: Amount(of: bundles, without: Set(removed.map(\.path)).union(removal?.gone ?? [])),
            all: bundles.count - gone, console)
        for warning in removal?.warnings ?? [] { try console.warn(warning) }
        for error in removal?.errors ?? [] {
            code = .inputOutput
            console.report(CommandError(code, error))
        }
        return code
    }

    /// Returns all bundles, and warns about other files whose names look like a bundle's.
    private func bundles(_ console: Console, _ code: inout ExitCode) throws -> [PruneCandidate] {
        let files = try PruneScan.files(in: directory)
        let step = 64 * Threads.cores
        let limits = console.limits.archive
        var bundles: [PruneCandidate] = []
        for start in stride(from: 0, to: files.count, by: step) {
            console.startReading()
            let part = Array(files[start..<min(start + step, files.count)])
            for finding in Threads.map(part, { PruneScan.finding(at: $0, limits: limits) }) {
                switch finding {
                case .bundle(let bundle): bundles.append(bundle)
                case .other(let sentence): try console.warn(sentence)
                case .unreadable(let error):
                    console.report(error)
                    code = error.exitCode
                case .nothing: break
                }
            }
        }
        return bundles
    }

    private func report(
        _ bundles: [PruneCandidate], _ removed: Amount, kept: Amount, all: Int, _ console: Console
    ) throws {
        guard !isJSON else {
            let entries = bundles.map { Entry(bundle: $0.path, bytes: $0.bytes, at: $0.dateText) }
            let object = Report(dryRun: isDryRun, removed: removed, kept: kept, bundles: entries)
            return try console.output.writeLine(JSONText.pretty(object))
        }
        for line in BundleLine.text(of: [.init(lines: bundles.map(\.line))], for: console.output) {
            try console.output.writeLine(line)
        }
        let (verb, rest) = isDryRun ? ("Would remove", "would remain") : ("Removed", kept.verb)
        try console.output.writeLine(
            "\(verb) \(removed.bundles) of \(Counted.items(Int64(all), "bundle")), "
                + "\(Counted.bytes(removed.bytes)); \(kept.bundles) \(rest), \(Counted.bytes(kept.bytes))."
        )
    }

    /// A number of bundles and their total size.
    private struct Amount: Encodable {
        var bundles = 0
        var bytes: UInt64 = 0

        init(of candidates: [PruneCandidate], without paths: Set<String> = []) {
            for bundle in candidates where !paths.contains(bundle.path) {
                bundles += 1
                let (sum, overflow) = bytes.addingReportingOverflow(bundle.bytes)
                bytes = overflow ? .max : sum
            }
        }

        var verb: String { bundles == 1 ? "remains" : "remain" }
    }

    /// The JSON form.
    private struct Report: Encodable {
        var dryRun: Bool
        var removed: Amount
        var kept: Amount
        var bundles: [Entry]
    }

    /// A removed bundle.
    private struct Entry: Encodable {
        var bundle: String
        var bytes: UInt64
        var at: String
    }
}
