internal import FailureArtifactsAnalysis

/// `manual`: the manual page.
struct ManualCommand: Command {
    static let syntax = Syntax(
        command: "manual", summary: "Print the manual page, for man", positionals: [],
        discussion: """
            It is in the mdoc language, which man reads on Linux, macOS and the BSDs: \
            failure-artifacts manual > failure-artifacts.1 && man ./failure-artifacts.1
            """)

    init(_ arguments: ParsedArguments) {}

    func run(_ console: Console) throws -> ExitCode {
        try console.output.write(ManualPage(commands: CommandLineTool.commands.map { $0.syntax }).text)
        return .done
    }
}
