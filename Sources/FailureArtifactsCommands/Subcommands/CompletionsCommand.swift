internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

struct CompletionsCommand: Command {
    static let syntax = Syntax(
        command: "completions", summary: "Print a shell's script that completes arguments",
        positionals: [
            Syntax.Positional("SHELL", isOptional: true, help: "bash, zsh or fish.")
        ],
        rest: Syntax.Positional(
            "WORD", isRepeated: true,
            help:
                "For the script: the arguments up to the cursor. Prints words that may stand in place of the last "
                + "one, each with a description after a tab. If there are none, the script completes paths."
        ),
        discussion: """
            'Scripts/install' installs the scripts. Otherwise, write one to a file that the shell reads: \
            failure-artifacts completions bash >~/.local/share/bash-completion/completions/failure-artifacts
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        guard let shell = arguments.positionals.first else {
            guard !arguments.rest.isEmpty else {
                throw Self.syntax.usageError("'completions' needs SHELL.")
            }
            for completion in Completions(console: console).all(of: arguments.rest) {
                try console.output.writeLine(completion)
            }
            return .done
        }
        guard let script = Self.scripts[shell] else {
            throw Self.syntax.usageError("SHELL is bash, zsh or fish, not '\(shell)'.")
        }
        try console.output.write(script)
        return .done
    }

    /// Each script asks the tool for the words, so it suits all versions.
    private static let scripts = [
        "bash": #"""
        _failure_artifacts() {
            local word
            COMPREPLY=()
            while IFS=$'\t' read -r word _; do
                COMPREPLY+=("$(printf %q "$word")")
            done < <("$1" completions -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
        }
        complete -o default -F _failure_artifacts failure-artifacts

        """#,
        "zsh": #"""
        #compdef failure-artifacts
        _failure-artifacts() {
            local word text
            local -a found
            while IFS=$'\t' read -r word text; do
                found+=("${word//:/\\:}:$text")
            done < <("${(Q)words[1]}" completions -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
            if (( $#found )); then _describe argument found; else _files; fi
        }
        if [[ $funcstack[1] = _failure-artifacts ]]; then
            _failure-artifacts
        else
            compdef _failure-artifacts failure-artifacts
        fi

        """#,
        "fish": #"""
        function __failure_artifacts
            set -l words (commandline -opc) (commandline -ct)
            set -l found ($words[1] completions -- $words[2..] 2>/dev/null)
            if set -q found[1]
                printf '%s\n' $found
            else
                __fish_complete_path (commandline -ct)
            end
        end
        complete -c failure-artifacts -f -a '(__failure_artifacts)'

        """#,
    ]
}

/// Finds the words that can stand in place of the last argument.
private struct Completions {
    let console: Console

    /// The maximum size of a store whose tables are read, in bytes; to copy a larger one takes too long.
    private static let largestStore: UInt64 = 16 << 20

    /// Returns the words, each with a description after a tab.
    func all(of arguments: [String]) -> [String] {
        let word = arguments[arguments.count - 1]
        return candidates(for: word, after: arguments.dropLast()).filter { name, _ in
            name.hasPrefix(word) && SafeText.line(name) == name
        }.map { name, text in text.isEmpty ? name : "\(name)\t\(text)" }
    }

    private func candidates(for word: String, after before: ArraySlice<String>) -> [(String, String)] {
        let syntaxes = CommandLineTool.commands.map { $0.syntax }
        guard let command = before.first else {
            return syntaxes.map { ($0.command, $0.summary) }
                + [("--help", "Show the commands"), ("--version", "Show the version")]
        }
        guard let syntax = syntaxes.first(where: { $0.command == command }), !before.contains("--")
        else { return [] }
        let option = before.last.flatMap(syntax.option(named:))?.value
        if option == nil, word.hasPrefix("-") {
            return syntax.options.map { ($0.name, String($0.help.prefix { $0 != "." })) }
        }
        // With --help, no argument needs to be complete.
        let given = before.dropFirst().dropLast(option == nil ? 0 : 1) + [word, "--help"]
        guard let parsed = try? syntax.parse(Array(given), artifacts: console.artifactsPath) else {
            return []
        }
        let index = parsed.positionals.count - 1
        let bundle = index > 0 ? parsed.positionals[0] : console.artifactsPath
        var names = [option ?? syntax.positional(at: index)?.name]
        // The word is the first one, and may still become the bundle.
        if option == nil, index == 1, bundle == console.artifactsPath { names.append("BUNDLE") }
        let store = parsed.value(of: "--store")
        return names.flatMap { values($0, of: bundle, store: store).sorted() }.map { ($0, "") }
    }

    /// Returns the values of an option or an argument, by the name that `--help` gives it.
    private func values(_ name: String?, of bundle: String, store: String?) -> [String] {
        let found: [String]? =
            switch name {
            case "BUNDLE", "PATH", "A", "B":
                try? FileSystem.contents(ofDirectory: console.artifactsPath).filter {
                    BundleName.isName($0)
                }
            // Completion downloads nothing.
            case "NAME" where !GitHubRun.isAddress(bundle):
                try? console.withBundle(at: bundle) { bundle, _ in bundle.metadata.stores.map(\.name) }
            case "TABLE" where !GitHubRun.isAddress(bundle): try? tables(of: bundle, store: store)
            case "SHELL": ["bash", "zsh", "fish"]
            default: nil
            }
        return found ?? []
    }

    private func tables(of bundle: String, store: String?) throws -> [String] {
        try console.withBundle(at: bundle) { bundle, scratch in
            let store = try bundle.store(named: store)
            guard let size = bundle.size(ofEntry: store.entry), size <= Self.largestStore else {
                return []
            }
            let connection = try Connection.untrusted(
                bundle.extract(store, below: scratch), limits: console.limits.store)
            return try DatabaseSchema("main", of: connection).objects.filter {
                $0.type == "table" && !$0.name.hasPrefix("sqlite_")
            }.map(\.name)
        }
    }
}
