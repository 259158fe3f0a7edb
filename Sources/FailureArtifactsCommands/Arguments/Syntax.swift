internal import FailureArtifactsAnalysis

/// The declaration of a command's arguments; the parser and `--help` use it.
package struct Syntax: Sendable {
    package struct Option: Sendable {
        /// The name, with two dashes.
        package let name: String
        /// The short name, with one dash; nil if the option has none.
        package let short: String?
        /// The value's placeholder in `--help`; nil for an option that takes no value.
        package let value: String?
        /// True if the command can't do without the option; the command itself checks it; usage lines show it without
        /// brackets.
        package let isRequired: Bool
        package let help: String

        package init(
            _ name: String, short: String? = nil, value: String? = nil, isRequired: Bool = false,
            help: String
        ) {
            self.name = name
            self.short = short
            self.value = value
            self.isRequired = isRequired
            self.help = help
        }

        /// The option in a usage line: `-o FILE`.
        var usage: String { (short ?? name) + (value.map { " " + $0 } ?? "") }
    }

    package struct Positional: Sendable {
        package let name: String
        /// True if the argument can be repeated; only the last positional can be.
        package let isRepeated: Bool
        /// True if the argument can be omitted; only the last positionals can be, and one that ``isArtifacts``.
        package let isOptional: Bool
        /// True if the artifacts directory is meant if the argument is omitted.
        ///
        /// Only the first positional can be so. It is omitted if the others that are needed take all arguments. If the
        /// last one is repeated, it is also omitted if the first word is neither a path nor the end of a bundle's name.
        package let isArtifacts: Bool
        package let help: String

        package init(
            _ name: String, isRepeated: Bool = false, isOptional: Bool = false,
            isArtifacts: Bool = false, help: String
        ) {
            self.name = name
            self.isRepeated = isRepeated
            self.isOptional = isOptional || isArtifacts
            self.isArtifacts = isArtifacts
            self.help = help
        }
    }

    package let command: String
    /// A one-line summary, without a full stop.
    package let summary: String
    package let positionals: [Positional]
    package let options: [Option]
    /// The long names of options that exclude each other, in lists.
    ///
    /// `--` stands for the arguments after it. If a command needs them, another option of their list replaces them.
    package let alternatives: [[String]]
    /// The arguments after `--`; nil if `--` only ends the options.
    package let rest: Positional?
    /// True if at least one argument must follow `--`.
    package let needsRest: Bool
    /// Paragraphs at the end of `--help`.
    package let discussion: String

    package init(
        command: String, summary: String, positionals: [Positional], options: [Option] = [],
        alternatives: [[String]] = [], rest: Positional? = nil, needsRest: Bool = false,
        discussion: String = ""
    ) {
        self.command = command
        self.summary = summary
        self.positionals = positionals
        self.options = options + [Option("--help", short: "-h", help: "Show this help.")]
        self.alternatives = alternatives
        self.rest = rest
        self.needsRest = needsRest
        self.discussion = discussion
    }

    /// Returns the option with this long or short name.
    func option(named name: String) -> Option? {
        options.first { $0.name == name || $0.short == name }
    }

    /// Returns the declaration of an argument at an index, which may be a repetition of the last one.
    func positional(at index: Int) -> Positional? {
        index < positionals.count
            ? positionals[index] : positionals.last.flatMap { $0.isRepeated ? $0 : nil }
    }

    // MARK: Usage lines

    /// The options that replace the arguments after `--`.
    var restAlternatives: [Option] {
        alternatives.filter { $0.contains("--") }.joined().compactMap(option(named:))
    }

    /// The other options without `--help`, each with those that it excludes.
    var optionGroups: [[Option]] {
        let separate = Set(["--help"] + restAlternatives.map(\.name))
        var done: Set<String> = []
        return options.filter { !separate.contains($0.name) }.compactMap { option in
            guard !done.contains(option.name) else { return nil }
            let names = alternatives.first { $0.contains(option.name) } ?? [option.name]
            done.formUnion(names)
            return names.compactMap(self.option(named:))
        }
    }
}

extension Syntax.Option {
    static func json(_ help: String) -> Syntax.Option { Syntax.Option("--json", help: help) }

    static func output(
        _ help: String, value: String = "FILE", isRequired: Bool = false
    ) -> Syntax.Option {
        Syntax.Option("--output", short: "-o", value: value, isRequired: isRequired, help: help)
    }

    static let store = Syntax.Option(
        "--store", value: "NAME",
        help:
            "The store, by its name or entry. NAME.committed is the committed state of a store with an open "
            + "transaction. By default, the first store.")

    static let commit = Syntax.Option(
        "--at", value: "N",
        help:
            "The state of the store's history: 0 is the state before the first transaction, N the one after the "
            + "Nth. -1 or 'last' is the state at the failure, -2 the one before the last transaction. "
            + "'failure-artifacts history' lists the transactions.")

    static let noLimits = Syntax.Option(
        "--no-limits",
        help:
            "Lift the limits on unpacked sizes, on SQLite's memory and values, and on time. Use it only for "
            + "bundles that you trust.")

    static let timeLimit = Syntax.Option(
        "--time-limit", value: "SECONDS",
        help:
            "The processor time that SQLite may take for one store, in seconds; five times that for a bundle. By "
            + "default, 60.")
}

extension Syntax.Positional {
    static let bundle = Syntax.Positional(
        "BUNDLE", isArtifacts: true,
        help:
            "A bundle, a directory or zip of bundles, or \(runHelp). Of several bundles, the newest failure whose test has not passed "
            + "since is taken. To choose another one, give a part of its name: PART, DIR/PART or OUTER.zip/PART."
            + defaultHelp)

    private static let defaultHelp =
        " By default, the directory that FAILURE_ARTIFACTS_DIR names, or else failure-artifacts."

    private static let runHelp =
        "the address of a run on GitHub, whose artifacts 'gh' downloads"

    private static let pathHelp =
        "A bundle, a directory of bundles, a zip of bundles, or \(runHelp)."

    static let paths = Syntax.Positional(
        "PATH", isRepeated: true, isArtifacts: true, help: pathHelp + defaultHelp)

    static let neededPaths = Syntax.Positional("PATH", isRepeated: true, help: pathHelp)
}

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
