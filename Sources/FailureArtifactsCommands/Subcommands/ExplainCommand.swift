internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// `explain`: lists the findings about a failure, best first.
struct ExplainCommand: Command {
    static let syntax = Syntax(
        command: "explain",
        summary: "Name the row, the transaction, the statement and the line behind a failure",
        positionals: [.bundle],
        options: [
            Syntax.Option(
                "--all", help: "All findings; otherwise the first \(Explanation.standardCount)."),
            .json(
                "An object: bundle, test, failure and findings, each with code, title, confidence (certain, likely or "
                    + "possible), explanation and, where they are known, store, rows, transaction, statement and source."
            ),
            .timeLimit, .noLimits,
        ],
        discussion: """
            A finding is certain if it follows from the data. A likely cause agrees with the failed assertion, and a \
            possible one may be unrelated. Findings are listed best first. The transaction's number is what --at \
            takes in 'open', 'query' and 'extract'.
            """)

    private let path: String
    private let isJSON: Bool
    private let showsAll: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        isJSON = arguments.has("--json")
        showsAll = arguments.has("--all")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let evidence = FailureEvidence(bundle, scratch: scratch, limits: console.limits.store)
            var explanation = Explanation(evidence, bundle: bundle.location.description)
            let count = explanation.findings.count
            if !showsAll { explanation.keepFirst(Explanation.standardCount) }
            if isJSON {
                try console.output.writeLine(JSONText.pretty(explanation))
                return .done
            }
            let text = FindingText(output: console.output)
            for line in text.lines(explanation, of: count) { try console.output.writeLine(line) }
            for note in explanation.notes { try console.warn(note) }
            return .done
        }
    }
}
