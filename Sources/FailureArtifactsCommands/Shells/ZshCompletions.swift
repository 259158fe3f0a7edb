/// Completions for zsh, to be installed as `_failure-artifacts` in a directory of its `fpath`.
struct ZshCompletions {
    let commands: [Syntax]

    var text: String {
        let list = commands.map { "        " + Shell.quoted("\($0.command):\($0.summary)") }
            .joined(separator: "\n")
        let names = commands.map(\.command).joined(separator: " ")
        return """
            #compdef failure-artifacts
            # Made by: failure-artifacts completions zsh

            _failure_artifacts_bundle() {
                # _files would offer all others where there is none of these.
                _alternative 'bundles:bundle:_path_files -g "*.[zZ][iI][pP](-.)"' 'folders:directory:_path_files -/'
            }

            _failure_artifacts() {
                local context state state_descr line curcontext=$curcontext
                typeset -A opt_args
                local -a commands
                commands=(
            \(list)
                    'help:Show what the tool or a command does'
                )
                _arguments -C \\
                    '(- *)'{-h,--help}'[Show what the tool does]' \\
                    '(- *)--version[Show the version]' \\
                    '1:command:->command' \\
                    '*::argument:->argument' && return
                case $state in
                command) _describe -t commands command commands ;;
                argument)
                    curcontext=${curcontext%:*:*}:failure-artifacts-$words[1]:
                    case $words[1] in
            \(commands.map(arguments).joined(separator: "\n"))
                    help) _arguments '1:command:(\(names))' ;;
                    esac
                    ;;
                esac
            }

            if [ "$funcstack[1]" = _failure-artifacts ]; then
                _failure_artifacts "$@"
            else
                compdef _failure_artifacts failure-artifacts
            fi

            """
    }

    /// Returns the arguments of `_arguments` for a command.
    private func arguments(_ syntax: Syntax) -> String {
        var specs = syntax.options.map(specification)
        for (index, positional) in syntax.positionals.enumerated() {
            // Repeated ones can always be omitted. For them, two colons would hide the words before.
            let place =
                positional.isRepeated ? "*" : "\(index + 1)" + (positional.isOptional ? ":" : "")
            specs.append(
                Shell.quoted("\(place):\(positional.name):\(action(positional.kind))"))
        }
        if let rest = syntax.rest {
            specs.append(
                Shell.quoted(
                    rest.kind == .command ? "*::\(rest.name): _normal" : "*:\(rest.name):_files"))
        }
        return "        \(syntax.command))\n            _arguments -S \\\n"
            + specs.map { "                \($0)" }.joined(separator: " \\\n")
            + "\n            ;;"
    }

    private func specification(_ option: Syntax.Option) -> String {
        // All options may be repeated: either the last value is used or all are.
        var text = ""
        let value = option.value.map { ":\($0):\(action(option.kind))" } ?? ""
        let help = "[" + Self.escaped(Shell.summary(of: option.help)) + "]"
        let equals = option.value == nil ? "" : "="
        if let short = option.short {
            let plus = option.value == nil ? "" : "+"
            text = "'*'{\(short)\(plus),\(option.name)\(equals)}"
        } else {
            text = "'*\(option.name)\(equals)'"
        }
        return text + Shell.quoted(help + value)
    }

    private func action(_ kind: Syntax.ValueKind) -> String {
        switch kind {
        // A space means that there is nothing to offer.
        case .text: " "
        case .words(let words): "(" + words.joined(separator: " ") + ")"
        case .file, .command: "_files"
        case .directory: "_files -/"
        case .bundle: "_failure_artifacts_bundle"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("[", with: "\\[").replacing("]", with: "\\]")
    }
}
