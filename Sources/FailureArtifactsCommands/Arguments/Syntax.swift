internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The declaration of a command's arguments.
///
/// The parser, `--help`, the manual page and the shell completions all use it.
package struct Syntax: Sendable {
    /// The kind of a value, for shell completion.
    package enum ValueKind: Equatable, Sendable {
        /// Any text.
        case text
        /// One of these words.
        case words([String])
        case file
        case directory
        /// A bundle, a zip of bundles or a directory.
        case bundle
        /// A program with its arguments.
        case command

        /// Derives the kind from a value's placeholder name.
        init(of name: String) {
            switch name {
            case "FILE", "A", "B": self = .file
            case "DIR": self = .directory
            case "BUNDLE", "PATH": self = .bundle
            case "CMD": self = .command
            default: self = .text
            }
        }
    }

    /// An option: `--json`, `--store NAME`.
    package struct Option: Sendable {
        /// The name, with two dashes.
        package let name: String
        /// The short name, with one dash; nil if the option has none.
        package let short: String?
        /// The value's placeholder in `--help`; nil for an option that takes no value.
        package let value: String?
        /// The kind of the value, for shell completion.
        package let kind: ValueKind
        /// True if the command can't do without the option.
        ///
        /// The command itself checks it; usage lines show it without brackets.
        package let isRequired: Bool
        package let help: String

        package init(
            _ name: String, short: String? = nil, value: String? = nil, kind: ValueKind? = nil,
            isRequired: Bool = false, help: String
        ) {
            self.name = name
            self.short = short
            self.value = value
            self.kind = kind ?? ValueKind(of: value ?? "")
            self.isRequired = isRequired
            self.help = help
        }
    }

    /// A positional argument.
    package struct Positional: Sendable {
        package let name: String
        /// True if the argument can be repeated.
        ///
        /// Only the last positional can be.
        package let isRepeated: Bool
        /// True if the argument can be omitted.
        ///
        /// Only the last positionals can be.
        package let isOptional: Bool
        package let kind: ValueKind
        package let help: String

        package init(
            _ name: String, isRepeated: Bool = false, isOptional: Bool = false,
            kind: ValueKind? = nil, help: String
        ) {
            self.name = name
            self.kind = kind ?? ValueKind(of: name)
            self.isRepeated = isRepeated
            self.isOptional = isOptional
            self.help = help
        }
    }

    package let command: String
    /// A one-line summary, without a full stop.
    package let summary: String
    package let positionals: [Positional]
    package let options: [Option]
    /// The arguments after `--`; nil if `--` only ends the options.
    package let rest: Positional?
    /// True if at least one argument must follow `--`.
    package let needsRest: Bool
    /// Paragraphs at the end of `--help`.
    package let discussion: String

    package init(
        command: String, summary: String, positionals: [Positional], options: [Option] = [],
        rest: Positional? = nil, needsRest: Bool = false, discussion: String = ""
    ) {
        self.command = command
        self.summary = summary
        self.positionals = positionals
        self.options = options + [Option("--help", short: "-h", help: "Show this help.")]
        self.rest = rest
        self.needsRest = needsRest
        self.discussion = discussion
    }

    /// Returns the option with this long or short name.
    func option(named name: String) -> Option? {
        options.first { $0.name == name || $0.short == name }
    }
}

extension Syntax.Option {
    /// Returns the `--json` option.
    static func json(_ help: String) -> Syntax.Option { Syntax.Option("--json", help: help) }

    static let store = Syntax.Option(
        "--store", value: "NAME",
        help:
            "The store, by its name or entry. NAME.committed is the committed state of a store with an open "
            + "transaction. By default, the first store.")
}

extension Syntax.Option {
    static let redactions = Syntax.Option(
        "--redactions", value: "FILE",
        help:
            "Leave out the data that a JSON file with redaction rules names: tables, columns and attachments. By "
            + "default, the file is the one that FAILURE_ARTIFACTS_REDACTIONS names.")

    static let commit = Syntax.Option(
        "--at", value: "N",
        help:
            "The state of the store's history: 0 is the state before the first transaction, N the one after the "
            + "Nth. -1 or 'last' is the state at the failure, -2 the one before the last transaction. "
            + "'failure-artifacts history' lists the transactions.")
}

extension ParsedArguments {
    /// Returns the commit that `--at` names.
    ///
    /// - Parameter syntax: The command's syntax, for error messages.
    /// - Returns: The commit; nil if the option wasn't given.
    /// - Throws: A usage error if the value isn't a commit.
    func commit(_ syntax: Syntax) throws(CommandError) -> CommitReference? {
        try commits(syntax).last
    }

    /// Returns all commits, for commands that accept `--at` several times.
    func commits(_ syntax: Syntax) throws(CommandError) -> [CommitReference] {
        var commits: [CommitReference] = []
        for text in values(of: "--at") {
            guard let commit = CommitReference(text) else {
                throw syntax.usageError(
                    "'\(text)' is not a state: give a number such as 0, 3 or -2, or 'last'.")
            }
            commits.append(commit)
        }
        return commits
    }
}

extension Syntax.Positional {
    static let bundle = Syntax.Positional(
        "BUNDLE",
        help:
            "A bundle, or a directory or zip that contains exactly one. To choose one of several, add a part of "
            + "its name that no other has: DIR/PART or OUTER.zip/PART. A failure is preferred to passing runs."
    )

    static let paths = Syntax.Positional(
        "PATH", isRepeated: true,
        help: "A bundle, a directory of bundles, or a zip of bundles.")
}

extension ReadingLimits {
    /// Creates the limits that a command's options set.
    ///
    /// - Throws: A usage error if the time limit isn't a positive number of seconds.
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        self = arguments.has("--no-limits") ? .none : .standard
        guard let text = arguments.value(of: "--time-limit") else { return }
        guard let seconds = Int32(text), seconds > 0 else {
            throw syntax.usageError("'\(text)' is not a number of seconds.")
        }
        store.seconds = Double(seconds)
        // A bundle can have several stores.
        self.seconds = Double(seconds) * 5
    }
}

extension Syntax.Option {
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
