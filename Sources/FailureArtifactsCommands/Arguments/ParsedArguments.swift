package import FailureArtifactsAnalysis

/// The arguments of a command, grouped according to its ``Syntax``.
package struct ParsedArguments: Equatable, Sendable {
    /// The values of each option, by the option's long name and in the order given; an option that takes no value has
    /// an empty string.
    package var values: [String: [String]] = [:]
    package var positionals: [String] = []
    /// The arguments after `--`, for a command that passes them on.
    package var rest: [String] = []

    func has(_ option: String) -> Bool { values[option] != nil }

    func value(of option: String) -> String? { values[option]?.last }

    func values(of option: String) -> [String] { values[option] ?? [] }
}

extension Syntax {
    /// Parses the arguments that follow the command's name.
    ///
    /// `--name value` and `--name=value` are equivalent. A value may start with a dash unless it is another option of
    /// this command, but it isn't empty. `--` ends the options. Negative numbers aren't options, and neither are statements
    /// that start with a comment. With `--help`, arguments may be missing.
    package func parse(
        _ arguments: [String], artifacts: String
    ) throws(CommandError) -> ParsedArguments {
        var result = ParsedArguments()
        var remaining = arguments[...]
        while let argument = remaining.popFirst() {
            if argument == "--" {
                if rest == nil {
                    result.positionals += remaining
                } else {
                    result.rest = Array(remaining)
                }
                break
            }
            let (name, attached) = Self.split(argument)
            guard Self.looksLikeOption(name) else {
                result.positionals.append(argument)
                continue
            }
            guard let option = option(named: name) else {
                try checkSeparator(result)
                throw usageError(
                    "'\(command)' has no option '\(name)'"
                        + Spelling.clause(for: name, among: options.map(\.name)) + ".")
            }
            let value = try value(of: option, attached: attached, from: &remaining)
            result.values[option.name, default: []].append(value)
        }
        if positionals.first?.isArtifacts == true,
            result.positionals.count <= positionals.count(where: { !$0.isOptional })
        {
            result.positionals.insert(artifacts, at: 0)
        }
        if !result.has("--help") {
            try checkSeparator(result)
            try checkPositionals(result.positionals)
            try checkAlternatives(result)
        }
        return result
    }

    /// True for a word that starts with a dash, but not for `-`, `-1` or `-- a comment`.
    private static func looksLikeOption(_ name: String) -> Bool {
        guard name.hasPrefix("-"), let next = name.dropFirst().first else { return false }
        return !next.isWholeNumber && !name.contains(where: \.isWhitespace)
    }

    /// Splits `--store=a=b` into `("--store", "a=b")`.
    private static func split(_ argument: String) -> (name: String, value: String?) {
        guard argument.hasPrefix("--"), let equals = argument.firstIndex(of: "=") else {
            return (argument, nil)
        }
        return (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
    }

    private func value(
        of option: Option, attached: String?, from remaining: inout ArraySlice<String>
    ) throws(CommandError) -> String {
        guard let name = option.value else {
            guard attached == nil else { throw usageError("'\(option.name)' takes no value.") }
            return ""
        }
        let missing = usageError("'\(option.name)' needs a value: \(option.name) \(name).")
        if let attached {
            guard !attached.isEmpty else { throw missing }
            return attached
        }
        guard let next = remaining.first, !next.isEmpty, next != "--",
            self.option(named: Self.split(next).name) == nil
        else { throw missing }
        remaining.removeFirst()
        return next
    }

    private func checkPositionals(_ given: [String]) throws(CommandError) {
        if given.count < positionals.count, !positionals[given.count].isOptional {
            throw usageError("'\(command)' needs \(positionals[given.count].name).")
        }
        let takesMore = positionals.last?.isRepeated ?? false
        if given.count > positionals.count, !takesMore {
            let hint = needsRest ? " before '--'" : ""
            throw usageError("'\(command)' does not expect '\(given[positionals.count])'\(hint).")
        }
        if let empty = zip(given, positionals).first(where: { $0.0.isEmpty }) {
            throw usageError("\(empty.1.name) is empty.")
        }
    }

    /// Checks that no command is given without the `--` before it.
    private func checkSeparator(_ arguments: ParsedArguments) throws(CommandError) {
        let given = arguments.positionals
        guard needsRest, let rest, arguments.rest.isEmpty, given.count > positionals.count,
            !restAlternatives.contains(where: { arguments.has($0.name) })
        else { return }
        let start = String(repeating: "… ", count: positionals.isEmpty ? 0 : 1)
        throw usageError(
            "'--' is missing before \(rest.name): failure-artifacts \(command) \(start)-- \(given[positionals.count]) …"
        )
    }

    private func checkAlternatives(_ arguments: ParsedArguments) throws(CommandError) {
        for names in alternatives {
            let given = names.filter { $0 == "--" ? !arguments.rest.isEmpty : arguments.has($0) }
            if given.count > 1 {
                throw usageError("'\(given[0])' and '\(given[1])' exclude each other.")
            }
        }
        guard needsRest, let rest, arguments.rest.first?.isEmpty ?? true,
            !restAlternatives.contains(where: { arguments.has($0.name) })
        else { return }
        let others = restAlternatives.map { "'\($0.usage)' or " }.joined()
        throw usageError("'\(command)' needs \(others)\(rest.name) after '--'.")
    }

    /// Returns a usage error that points to the command's help.
    func usageError(_ sentence: String) -> CommandError {
        CommandError(.usage, "\(sentence) See 'failure-artifacts \(command) --help'.")
    }
}
