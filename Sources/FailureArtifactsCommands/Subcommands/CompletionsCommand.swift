internal import FailureArtifactsAnalysis

/// `completions`: a script by which a shell completes the tool's arguments.
struct CompletionsCommand: Command {
    static let syntax = Syntax(
        command: "completions", summary: "Print the completions for a shell",
        positionals: [
            Syntax.Positional(
                "SHELL", kind: .words(Shell.allCases.map(\.rawValue)), help: "bash, zsh or fish.")
        ],
        discussion: """
            For this session: source <(failure-artifacts completions bash), the same with zsh, or \
            failure-artifacts completions fish | source. For all, write it to \
            ~/.local/share/bash-completion/completions/failure-artifacts, to _failure-artifacts in a \
            directory of zsh's fpath, or to ~/.config/fish/completions/failure-artifacts.fish.
            """)

    private let shell: Shell

    init(_ arguments: ParsedArguments) throws {
        let name = arguments.positionals[0]
        guard let shell = Shell(rawValue: name) else {
            throw Self.syntax.usageError(
                "There are no completions for '\(name)': choose bash, zsh or fish.")
        }
        self.shell = shell
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.output.write(
            shell.completions(for: CommandLineTool.commands.map { $0.syntax }))
        return .done
    }
}
