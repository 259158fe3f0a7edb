internal import FailureArtifactsAnalysis

enum HelpText {
    /// The line width, in columns.
    private static let width = 79

    static func text(for syntax: Syntax) -> String {
        var parts = ["Usage: failure-artifacts \(syntax.command)"]
        for positional in syntax.positionals {
            let name = positional.name + (positional.isRepeated ? "…" : "")
            parts.append(positional.isOptional ? "[\(name)]" : name)
        }
        for group in syntax.optionGroups {
            let text = group.map(\.usage).joined(separator: " | ")
            parts.append(group.contains(where: \.isRequired) ? text : "[\(text)]")
        }
        if let rest = syntax.rest {
            let others = syntax.restAlternatives.map(\.usage)
            let text = (others + ["-- \(rest.name)…"]).joined(separator: " | ")
            parts.append(!syntax.needsRest ? "[\(text)]" : others.isEmpty ? text : "(\(text))")
        }
        var sections = [
            usage(parts),
            wrapped(syntax.summary + ".", indent: 0),
        ]
        var arguments = syntax.positionals.map { ($0.name, $0.help) }
        if let rest = syntax.rest { arguments.append((rest.name, rest.help)) }
        if !arguments.isEmpty { sections.append("Arguments:\n" + definitions(arguments)) }
        sections.append("Options:\n" + definitions(syntax.options.map { (label(of: $0), $0.help) }))
        sections += syntax.discussion.split(separator: "\n\n").map { wrapped(String($0), indent: 0) }
        return sections.joined(separator: "\n\n") + "\n"
    }

    static func text(for commands: [Syntax]) -> String {
        let list = definitions(commands.map { ($0.command, $0.summary + ".") })
        return """
            Usage: failure-artifacts COMMAND …

            Runs tests, and reads the bundles that failing tests leave: zip files with the
            SQLite stores as they were at the failure.

            Start with:
              failure-artifacts run -- swift test  bundles go to failure-artifacts/
              failure-artifacts explain            the likely cause of the newest failure
              failure-artifacts report             one page about all failures

            Commands:
            \(list)

            Options:
            \(definitions([("-h, --help", "Show this help."), ("--version", "Show the version.")]))

            'failure-artifacts COMMAND --help' describes a command. Results go to standard
            output, everything else to standard error. Missing directories of an output
            path are created.

            Exit status: 0 done, 1 the check found something, 64 wrong usage, 65 malformed
            file, 66 no such file, 74 input or output error. 'run' and 'open' exit with the
            status of the program that they ran.

            """
    }

    private static func label(of option: Syntax.Option) -> String {
        let name = option.short.map { "\($0), \(option.name)" } ?? option.name
        return name + (option.value.map { " " + $0 } ?? "")
    }

    /// Formats pairs as two columns and wraps the second.
    private static func definitions(_ items: [(String, String)]) -> String {
        let longest = items.map { TextWidth.columns(of: $0.0) }.max() ?? 0
        let indent = min(longest, 18) + 4
        return items.map { label, help in
            let text = wrapped(help, indent: indent)
            let start = "  " + label
            let columns = TextWidth.columns(of: start)
            // A label that is too long gets a line of its own.
            guard columns + 2 <= indent else { return start + "\n" + text }
            return start + String(repeating: " ", count: indent - columns) + text.dropFirst(indent)
        }.joined(separator: "\n")
    }

    private static func wrapped(_ text: String, indent: Int) -> String {
        TextWrap.lines(of: text, width: width, indent: indent).joined(separator: "\n")
    }

    private static func usage(_ parts: [String]) -> String {
        // A no-break space keeps the words of a part together.
        let text = parts.map { $0.replacing(" ", with: "\u{A0}") }.joined(separator: " ")
        return TextWrap.lines(of: text, width: width, indent: 7, firstIndent: 0)
            .joined(separator: "\n").replacing("\u{A0}", with: " ")
    }
}
