/// Completions for fish.
struct FishCompletions {
    let commands: [Syntax]

    var text: String {
        var lines: [String] = []
        for syntax in commands {
            lines.append(
                complete("__failure_artifacts_is ''", "-a \(syntax.command)", syntax.summary))
        }
        lines.append(complete("__failure_artifacts_is ''", "-a help", "Show what a command does"))
        lines.append(
            complete("__failure_artifacts_is ''", "-s h -l help", "Show what the tool does"))
        lines.append(complete("__failure_artifacts_is ''", "-l version", "Show the version"))
        let names = commands.map(\.command).joined(separator: " ")
        lines.append(complete("__failure_artifacts_is help", "-a '\(names)'", nil))
        for syntax in commands { lines += self.lines(for: syntax) }
        return """
            # fish completion for failure-artifacts, which has made this: failure-artifacts completions fish

            # Whether that is the command; the empty one, whether there is none yet.
            function __failure_artifacts_is
                set -l words (commandline -opc)
                set -e words[1]
                for word in $words
                    if not string match -q -- '-*' $word
                        test "$word" = "$argv[1]"
                        return
                    end
                end
                test -z "$argv[1]"
            end

            function __failure_artifacts_is_before_rest
                __failure_artifacts_is $argv; and not contains -- -- (commandline -opc)
            end

            function __failure_artifacts_is_rest
                __failure_artifacts_is $argv; and contains -- -- (commandline -opc)
            end

            # What follows -- is completed as if it were typed alone.
            function __failure_artifacts_rest
                set -l words (commandline -opc)
                set -l place (contains -i -- -- $words); or return
                set -e words[1..$place]
                complete -C (string join ' ' -- (string escape -- $words) (commandline -ct))
            end

            # Directories and zips; fish's own function for a suffix has all other files too.
            function __failure_artifacts_bundles
                __fish_complete_path (commandline -ct) | string match -ri '^[^\\t]*(?:/|\\.zip)(?:\\t.*)?$'
            end

            complete -c failure-artifacts -f
            \(lines.joined(separator: "\n"))

            """
    }

    private func lines(for syntax: Syntax) -> [String] {
        let isIt = "__failure_artifacts_is_before_rest \(syntax.command)"
        var lines = syntax.options.map { option in
            var words = (option.short.map { ["-s", String($0.dropFirst())] } ?? [])
            words += ["-l", String(option.name.dropFirst(2))]
            if option.value != nil {
                // fish offers all files for an option with a value unless they are excluded.
                let isFile = option.kind == .file
                words += [isFile ? "-r" : "-x", action(option.kind)].filter { !$0.isEmpty }
            }
            return complete(isIt, words.joined(separator: " "), Shell.summary(of: option.help))
        }
        var kinds: [Syntax.ValueKind] = []
        for positional in syntax.positionals where !kinds.contains(positional.kind) {
            kinds.append(positional.kind)
        }
        lines += kinds.map(action).filter { !$0.isEmpty }.map { complete(isIt, $0, nil) }
        if let rest = syntax.rest {
            let isRest = "__failure_artifacts_is_rest \(syntax.command)"
            lines.append(
                complete(isRest, rest.kind == .command ? "-a '(__failure_artifacts_rest)'" : "-F", nil))
        }
        return lines
    }

    private func complete(_ condition: String, _ words: String, _ summary: String?) -> String {
        "complete -c failure-artifacts -n \(Self.quoted(condition)) \(words)"
            + (summary.map { " -d " + Self.quoted($0) } ?? "")
    }

    private func action(_ kind: Syntax.ValueKind) -> String {
        switch kind {
        case .text: ""
        case .words(let words): "-a '\(words.joined(separator: " "))'"
        case .file, .command: "-F"
        case .directory: "-a '(__fish_complete_directories)'"
        case .bundle: "-a '(__failure_artifacts_bundles)'"
        }
    }

    private static func quoted(_ text: String) -> String {
        "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
    }
}
