internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

struct SweepCommand: Command {
    static let syntax = Syntax(
        command: "sweep", summary: "Make the bundles of tests whose process died",
        positionals: [Syntax.Positional("DIR", help: "The artifacts directory.")],
        options: [.json("Print one JSON object per line, with the key bundle.")],
        discussion: """
            Looks in DIR for the recorders and copies of processes that died in the middle of a test, or before \
            their bundles were written, and makes these bundles. The files of the stores are only read. Data of \
            running processes is left alone.

            Commands that read bundles do the same, in a directory that runs on this machine have written. Use this one \
            for a directory that was copied.

            Prints a line for each new bundle. Sweeping a directory twice makes no bundle twice. \
            'failure-artifacts run' does the same at its start and its end.

            DIR must belong to your own runs. Never sweep a downloaded directory: the files that its \
            recorders name are copied.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        try PathCheck.directory(path)
        // Recovery only warns of it, because `run` has to go on.
        _ = try ArtifactsDirectory(path: path).allStagingDirectories()
        let result = try console.recovery(of: path).sweep()
        for bundle in result.bundles.map(\.path) {
            try console.output.writeLine(
                isJSON ? JSONText.line(["bundle": bundle]) : SafeText.line(bundle))
        }
        for warning in result.warnings { try console.warn(warning) }
        return .done
    }
}
