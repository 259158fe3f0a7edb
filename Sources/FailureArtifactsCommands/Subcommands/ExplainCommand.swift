internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

struct ExplainCommand: Command {
    static let syntax = Syntax(
        command: "explain",
        summary: "Name the row, the transaction, the statement and the line behind a failure",
        positionals: [.bundle],
        options: [
            Syntax.Option(
                "--all",
                help:
                    "Show all findings with all of their rows, and the whole message. By default, the first "
                    + "\(Explanation.standardCount) findings, of which possible ones after the first have one line each, "
                    + "and the start and the end of a long message."
            ),
            .json(
                "Print a JSON object: formatVersion, bundle, test, failure, findings and, if there are any, seenBefore (earlier occurrences of the failure), verdict "
                    + "(the answer if no finding is more than possible), question (the failing query, or else the last one, with its results) and notes. A finding has code, title, confidence, evidence (the kind, which decides on the order), explanation and, if they are known, store, rows, transaction, "
                    + "statement, source (its line) and caller (the line of its first caller in another file), or "
                    + "statements, if several can have changed the rows. A difference from a passing run has then, now "
                    + "and, from Git, lineCommit and textSource."
            ),
            Syntax.Option(
                "--against", value: "BUNDLE",
                help:
                    "Compare with this bundle of the same test, which passed. By default, with the bundle's own baseline, "
                    + "or else with a bundle in the same directory."
            ),
            Syntax.Option(
                "--invariants", value: "DIR",
                help:
                    "Check invariants: SQL files in DIR, each with a SELECT that must return no rows. By default, DIR "
                    + "is the value of \(Invariant.variable)."),
            Syntax.Option(
                "--markdown",
                help: "Print Markdown for a coding agent, with all text from the bundle marked as data."),
            .timeLimit, .noLimits,
        ],
        alternatives: [["--json", "--markdown"]],
        discussion: """
            A 'certain' finding follows from the data. A 'likely' one agrees with the failed assertion. A 'possible' \
            one may be unrelated. The best finding comes first. To look at the store after a transaction, pass its \
            number as --at to 'open', 'query', 'diff' or 'extract'.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let invariants = try console.invariants(in: arguments.value(of: "--invariants"))
        let showsAll = arguments.has("--all")
        return try console.withBundle(at: path, listingOthersFor: Self.syntax.command) {
            bundle, scratch in
            let evidence = FailureEvidence(
                bundle, scratch: scratch, checking: invariants, limits: console.limits.store)
            let other = Path.join(scratch, "passing")
            try FileSystem.createDirectory(other)
            if let passing = try passingBundle(
                for: bundle, scratch: other, isNeeded: !evidence.hasBaseline, console)
            {
                evidence.passing = FailureEvidence(
                    passing, scratch: other, limits: console.limits.store)
            }
            var explanation = Explanation(evidence, bundle: bundle.location.description)
            if let checkout = console.checkout { explanation.add(checkout) }
            let count = explanation.findings.count
            if isJSON {
                try console.output.writeLine(JSONText.pretty(explanation))
                return .done
            }
            if !showsAll { explanation.keepFirst(Explanation.standardCount) }
            if arguments.has("--markdown") {
                let markdown = FindingMarkdown(
                    explanation, count: count, path: ToolCommand().shortened(bundle.location),
                    isAll: showsAll)
                try console.output.writeLines(markdown.text)
            } else {
                let text = FindingText(isAll: showsAll, output: console.output)
                for line in text.lines(explanation, of: count) { try console.output.writeLine(line) }
            }
            for note in explanation.notes { try console.warn(note) }
            return .done
        }
    }

    /// Returns the passing test's bundle: the given one, or one beside a bundle without a baseline.
    private func passingBundle(
        for bundle: BundleReader, scratch: String, isNeeded: Bool, _ console: Console
    ) throws -> BundleReader? {
        let test = bundle.metadata.test
        func open(_ location: BundleLocation) throws -> BundleReader {
            try BundleReader(location, scratchDirectory: scratch, limits: console.limits.archive)
        }
        if let passing = arguments.value(of: "--against") {
            let other = try open(
                console.choose(at: passing, scratch: scratch, passOf: test).location)
            guard other.metadata.outcome == .passed else {
                throw CommandError(
                    .usage,
                    "The test of '\(passing)' did not pass. Pass a bundle that FAILURE_ARTIFACTS_PASSING=always left."
                )
            }
            if !other.metadata.test.isSame(as: test) {
                try console.warn("'\(passing)' is of another test.")
            }
            return other
        }
        return isNeeded ? console.passingBundle(besides: bundle, scratch: scratch) : nil
    }
}
