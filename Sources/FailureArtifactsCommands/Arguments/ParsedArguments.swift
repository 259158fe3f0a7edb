package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

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
        if positionals.first?.isArtifacts == true, omitsBundle(result.positionals) {
            result.positionals.insert(artifacts, at: 0)
        }
        if !result.has("--help") {
            try checkSeparator(result)
            try checkPositionals(result.positionals)
            try checkAlternatives(result)
        }
        return result
    }

    /// Returns true if the first argument isn't the bundle.
    private func omitsBundle(_ given: [String]) -> Bool {
        guard given.count > positionals.count(where: { !$0.isOptional }) else { return true }
        // The number of arguments tells nothing if the last one is repeated.
        guard positionals.count > 1, positionals[positionals.count - 1].isRepeated else { return false }
        let word = given[0]
        let name = BundleLocator.isZipName(word) ? word : "-\(word).zip"
        return !word.contains("/") && !BundleName.isName("T" + name)
            && (try? FileSystem.status(of: word)) == .some(nil)
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

/// Values of options: each function returns nil if the option wasn't given, and throws a usage error for another value.
extension Command {
    /// Returns the whole number that an option gives.
    func number(of option: String, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        let isOpen = range.upperBound >= Int(Int32.max)
        let numbers =
            isOpen ? "of \(range.lowerBound) or more" : "from \(range.lowerBound) to \(range.upperBound)"
        return try converted(option, "a whole number " + numbers) { text in
            guard text.first != "+", let number = Int(text), range.contains(number) else { return nil }
            return number
        }
    }

    /// Returns the duration that an option gives, in seconds.
    func duration(of option: String) throws(CommandError) -> Double? {
        let need = "a duration of a year at most, such as 90, 90s, 10m or 1h30m"
        return try converted(option, need, DurationText.seconds)
    }

    /// Returns the age that an option gives, in seconds.
    func age(of option: String) throws(CommandError) -> Double? {
        try converted(option, "an age with its unit, such as 90m, 12h or 30d", DurationText.age)
    }

    /// Returns the size that an option gives, in bytes.
    func size(of option: String) throws(CommandError) -> UInt64? {
        try converted(option, "a size such as 500000, 64KB or 20MB", SizeText.bytes)
    }

    /// Returns the last state that `--at` names.
    func state() throws(CommandError) -> CommitReference? { try states().last }

    /// Returns all states, for commands that accept `--at` several times.
    func states() throws(CommandError) -> [CommitReference] {
        var states: [CommitReference] = []
        for text in arguments.values(of: "--at") {
            guard let state = CommitReference(text) else {
                throw Self.syntax.valueError(
                    "--at", text, needs: "a number such as 0, 3 or -2, or 'last'")
            }
            states.append(state)
        }
        return states
    }

    func readingLimits() throws(CommandError) -> ReadingLimits {
        var limits: ReadingLimits = arguments.has("--no-limits") ? .none : .standard
        guard let seconds = try number(of: "--time-limit", in: 1...Int(Int32.max)) else { return limits }
        limits.store.seconds = Double(seconds)
        // A bundle can have several stores.
        limits.seconds = Double(seconds) * 5
        return limits
    }

    private func converted<Value>(
        _ option: String, _ need: String, _ convert: (String) -> Value?
    ) throws(CommandError) -> Value? {
        guard let text = arguments.value(of: option) else { return nil }
        guard let value = convert(text) else { throw Self.syntax.valueError(option, text, needs: need) }
        return value
    }
}

extension Syntax {
    /// Returns a usage error about an option's value.
    func valueError(_ option: String, _ text: String, needs need: String) -> CommandError {
        usageError("'\(option)' needs \(need), not '\(text)'.")
    }
}

enum SizeText {
    /// Parses a size such as `500000000`, `64KB`, `500 MB`, `1.5GB`, `2G` or `2GiB`; nil for other text and for sizes
    /// beyond 64 bits.
    ///
    /// A number without a unit is in bytes. Each unit is 1,024 times the previous one, as in ``Counted/bytes(_:)``.
    static func bytes(_ text: String) -> UInt64? {
        let isOfNumber: (Character) -> Bool = { ("0"..."9").contains($0) || $0 == "." }
        let digits = text.prefix(while: isOfNumber)
        var unit = text.dropFirst(digits.count)[...]
        if unit.first == " " { unit.removeFirst() }
        guard let exponent = exponent(of: unit.uppercased()) else { return nil }
        if !digits.contains("."), let whole = UInt64(digits) {
            let (bytes, overflow) = whole.multipliedReportingOverflow(by: 1 << (10 * exponent))
            return overflow ? nil : bytes
        }
        // A fraction needs a unit larger than a byte.
        let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
        guard exponent > 0, parts.count == 2, parts.allSatisfy({ !$0.isEmpty }),
            let number = Double(digits)
        else { return nil }
        return UInt64(exactly: (number * Double(UInt64(1) << (10 * exponent))).rounded())
    }

    private static func exponent(of unit: String) -> UInt64? {
        if ["", "B"].contains(unit) { return 0 }
        for (index, prefix) in ["K", "M", "G", "T"].enumerated()
        where [prefix, prefix + "B", prefix + "IB"].contains(unit) {
            return UInt64(index + 1)
        }
        return nil
    }
}
