internal import FailureArtifactsAnalysis

/// A shell with support for completions.
enum Shell: String, CaseIterable {
    case bash, zsh, fish

    /// Returns a script that completes the tool's arguments.
    func completions(for commands: [Syntax]) -> String {
        switch self {
        case .bash: BashCompletions(commands: commands).text
        case .zsh: ZshCompletions(commands: commands).text
        case .fish: FishCompletions(commands: commands).text
        }
    }

    /// Returns text in single quotes for bash and zsh.
    static func quoted(_ text: String) -> String {
        "'" + text.replacing("'", with: "'\\''") + "'"
    }

    /// Returns a short description of an option: the first sentence of its help, without the full stop.
    static func summary(of help: String) -> String {
        let end = help.firstRange(of: ". ")?.lowerBound ?? help.endIndex
        let sentence = help[..<end]
        return String(sentence.hasSuffix(".") ? sentence.dropLast() : sentence)
    }
}

extension Syntax {
    /// Returns the names of an option, the long name first.
    static func names(of option: Option) -> [String] {
        [option.name] + (option.short.map { [$0] } ?? [])
    }
}

/// `completions`: prints a script that completes the tool's arguments in a shell.
struct CompletionsCommand: Command {
    static let syntax = Syntax(
        command: "completions", summary: "Print the completions for a shell",
        positionals: [
            Syntax.Positional(
                "SHELL", kind: .words(Shell.allCases.map(\.rawValue)),
                help: "The shell: bash, zsh or fish.")
        ],
        discussion: """
            For this session, run: source <(failure-artifacts completions bash), the same with zsh, or \
            failure-artifacts completions fish | source.

            For all sessions, write the output to a file: \
            ~/.local/share/bash-completion/completions/failure-artifacts for bash, _failure-artifacts in a directory \
            of fpath for zsh, or ~/.config/fish/completions/failure-artifacts.fish for fish.
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

/// `manual`: prints the manual page.
struct ManualCommand: Command {
    static let syntax = Syntax(
        command: "manual", summary: "Print the manual page, for man", positionals: [],
        discussion: """
            The page is in the mdoc language, which 'man' reads on Linux, macOS and the BSDs: \
            failure-artifacts manual > failure-artifacts.1 && man ./failure-artifacts.1
            """)

    init(_ arguments: ParsedArguments) {}

    func run(_ console: Console) throws -> ExitCode {
        try console.output.write(ManualPage(commands: CommandLineTool.commands.map { $0.syntax }).text)
        return .done
    }
}
