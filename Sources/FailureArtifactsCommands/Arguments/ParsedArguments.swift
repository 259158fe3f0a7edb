package import FailureArtifactsAnalysis

/// The arguments of a command, grouped according to its ``Syntax``.
package struct ParsedArguments: Equatable, Sendable {
    /// The values of each option, by the option's long name and in the order given.
    ///
    /// An option that takes no value has an empty string.
    package var values: [String: [String]] = [:]
    package var positionals: [String] = []
    /// The arguments after `--`, for a command that passes them on.
    package var rest: [String] = []

    /// True if `option` was given.
    func has(_ option: String) -> Bool { values[option] != nil }

    /// Returns the last value given for `option`.
    func value(of option: String) -> String? { values[option]?.last }

    /// Returns all values given for `option`.
    func values(of option: String) -> [String] { values[option] ?? [] }
}

extension Syntax {
    /// Parses the arguments that follow the command's name.
    ///
    /// `--name value` and `--name=value` are equivalent. A value may start with a dash unless it is another option of
    /// this command. `--` ends the options. A negative number isn't an option. With `--help`, arguments may be missing.
    ///
    /// - Throws: A usage error for an unexpected or missing argument.
    package func parse(_ arguments: [String]) throws(CommandError) -> ParsedArguments {
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
            let isNumber = argument.dropFirst().first?.isWholeNumber ?? false
            guard argument.hasPrefix("-"), argument != "-", !isNumber else {
                result.positionals.append(argument)
                continue
            }
            let (name, attached) = Self.split(argument)
            guard let option = option(named: name) else {
                throw usageError(
                    "'\(command)' has no option '\(name)'"
                        + Spelling.clause(for: name, among: options.map(\.name)) + ".")
            }
            let value = try value(of: option, attached: attached, from: &remaining)
            result.values[option.name, default: []].append(value)
        }
        if !result.has("--help") {
            try checkPositionals(result.positionals)
            if needsRest, let rest, result.rest.first?.isEmpty ?? true {
                throw usageError("'\(command)' needs \(rest.name) after '--'.")
            }
        }
        return result
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
        if let attached { return attached }
        guard let next = remaining.first, next != "--", self.option(named: Self.split(next).name) == nil
        else { throw usageError("'\(option.name)' needs a value: \(option.name) \(name).") }
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

    /// Returns a usage error that points to the command's help.
    func usageError(_ sentence: String) -> CommandError {
        CommandError(.usage, "\(sentence) See 'failure-artifacts \(command) --help'.")
    }
}

/// Parses sizes from the command line.
enum SizeText {
    /// Parses a size such as `500000000`, `64KB`, `500 MB`, `1.5GB`, `2G` or `2GiB`.
    ///
    /// - Parameter text: A number, optionally followed by `B`, `KB`, `MB`, `GB` or `TB`; `K` and `KiB` also work. A
    ///   number without a unit is in bytes. Each unit is 1,024 times the previous one, as in ``Counted/bytes(_:)``.
    /// - Returns: The size in bytes; nil for other text and for sizes beyond 64 bits.
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
