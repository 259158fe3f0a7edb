/// Completions for bash 3.2 or later.
///
/// They don't depend on other scripts.
struct BashCompletions {
    let commands: [Syntax]

    var text: String {
        let names = commands.map(\.command).joined(separator: " ")
        return """
            # bash completion for failure-artifacts, which has made this: failure-artifacts completions bash
            # shellcheck shell=bash

            \(Self.valueFunctions)

            _failure_artifacts() {
                local current=${COMP_WORDS[COMP_CWORD]} option="" command="" word index
                local options="" values="" kinds="" after="" position=0 kind
                COMPREPLY=()
                # Of --name=value bash makes three words.
                if [ "$current" = = ]; then
                    option=${COMP_WORDS[COMP_CWORD - 1]}
                    current=""
                elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then
                    option=${COMP_WORDS[COMP_CWORD - 2]}
                fi
                for ((index = 1; index < COMP_CWORD; index++)); do
                    case ${COMP_WORDS[index]} in
                    -*) ;;
                    *)
                        command=${COMP_WORDS[index]}
                        break
                        ;;
                    esac
                done
                case $command in
            \(commands.map(declaration).joined(separator: "\n"))
                help) kinds="words" ;;
                "")
                    _failure_artifacts_offer -W "\(names) help --help --version"
                    return
                    ;;
                *) return ;;
                esac
                for ((index += 1; index < COMP_CWORD; index++)); do
                    word=${COMP_WORDS[index]}
                    if [ "$word" = -- ] && [ -n "$after" ]; then
                        if [ "$after" != command ]; then
                            _failure_artifacts_value "$after"
                        elif declare -F _command_offset >/dev/null; then
                            _command_offset $((index + 1))
                        elif [ "$COMP_CWORD" -eq $((index + 1)) ]; then
                            _failure_artifacts_offer -c
                        else
                            _failure_artifacts_value file
                        fi
                        return
                    fi
                    case " $values " in *" $word "*)
                        if [ $((index + 1)) -eq "$COMP_CWORD" ]; then option=$word; fi
                        index=$((index + 1))
                        if [ "${COMP_WORDS[index]}" = = ]; then index=$((index + 1)); fi
                        continue
                        ;;
                    esac
                    case $word in -*) ;; *) position=$((position + 1)) ;; esac
                done
                if [ -n "$option" ]; then
                    case "$command $option" in
            \(optionValues)
                    esac
                    return
                fi
                case $current in -*)
                    _failure_artifacts_offer -W "$options"
                    return
                    ;;
                esac
                for kind in $kinds; do
                    if [ "$position" -eq 0 ]; then break; fi
                    case $kind in *...) break ;; esac
                    position=$((position - 1))
                    kind=""
                done
                case ${kind%...} in
                "") if [ -z "$kinds" ]; then _failure_artifacts_offer -W "$options"; fi ;;
                words) _failure_artifacts_value words \(names) ;;
            \(positionalWords)    *) _failure_artifacts_value "${kind%...}" ;;
                esac
            }

            complete -F _failure_artifacts failure-artifacts

            """
    }

    /// The functions of the script that offer values, which are independent of the commands.
    private static let valueFunctions = """
        # Takes what compgen finds with the given options: a line each, whatever is in it.
        _failure_artifacts_offer() {
            local line
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$current")
        }

        # Offers what a value may be; words follow the kind.
        _failure_artifacts_value() {
            local kind=$1
            shift
            case $kind in
            words) _failure_artifacts_offer -W "$*" ;;
            file)
                compopt -o filenames 2>/dev/null
                _failure_artifacts_offer -f
                ;;
            directory)
                compopt -o filenames 2>/dev/null
                _failure_artifacts_offer -d
                ;;
            bundle)
                compopt -o filenames 2>/dev/null
                _failure_artifacts_offer -d
                _failure_artifacts_offer -f -X '!*.[zZ][iI][pP]'
                ;;
            esac
        }
        """

    /// Returns the `case` branch that declares the arguments of a command.
    private func declaration(_ syntax: Syntax) -> String {
        let options = syntax.options.flatMap(Syntax.names) + (syntax.rest == nil ? [] : ["--"])
        let values = syntax.options.filter { $0.value != nil }.flatMap(Syntax.names)
        let kinds = syntax.positionals.map { word($0, of: syntax) + ($0.isRepeated ? "..." : "") }
        var lines = ["options=\"\(options.joined(separator: " "))\""]
        if !values.isEmpty { lines.append("values=\"\(values.joined(separator: " "))\"") }
        if !kinds.isEmpty { lines.append("kinds=\"\(kinds.joined(separator: " "))\"") }
        if let rest = syntax.rest {
            lines.append("after=\(rest.kind == .command ? "command" : "file")")
        }
        return "    \(syntax.command))\n" + lines.map { "        \($0)\n" }.joined() + "        ;;"
    }

    private func word(_ positional: Syntax.Positional, of syntax: Syntax) -> String {
        if case .words = positional.kind { return "words-\(syntax.command)" }
        return word(positional.kind)
    }

    private func word(_ kind: Syntax.ValueKind) -> String {
        switch kind {
        case .text: "text"
        case .words: "words"
        case .file, .command: "file"
        case .directory: "directory"
        case .bundle: "bundle"
        }
    }

    private var optionValues: String {
        var lines: [String] = []
        for syntax in commands {
            for option in syntax.options where option.value != nil && option.kind != .text {
                let names = Syntax.names(of: option).map { "'\(syntax.command) \($0)'" }
                var words = [word(option.kind)]
                if case .words(let given) = option.kind { words += given }
                lines.append(
                    "        \(names.joined(separator: " | "))) _failure_artifacts_value "
                        + words.joined(separator: " ") + " ;;")
            }
        }
        return lines.joined(separator: "\n")
    }

    private var positionalWords: String {
        commands.compactMap { syntax in
            for case .words(let words) in syntax.positionals.map(\.kind) {
                return "    words-\(syntax.command)) _failure_artifacts_value words "
                    + words.joined(separator: " ") + " ;;\n"
            }
            return nil
        }.joined()
    }
}
