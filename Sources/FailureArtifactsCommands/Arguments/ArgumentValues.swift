internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Values of options: each function returns nil if the option wasn't given, and throws a usage error for another value.
extension ParsedArguments {
    /// Returns the whole number that an option gives; nil if the option wasn't given.
    func number(
        of option: String, in range: ClosedRange<Int>, _ syntax: Syntax
    ) throws(CommandError) -> Int? {
        let isOpen = range.upperBound >= Int(Int32.max)
        let numbers =
            isOpen ? "of \(range.lowerBound) or more" : "from \(range.lowerBound) to \(range.upperBound)"
        return try converted(option, syntax, "a whole number " + numbers) { text in
            guard text.first != "+", let number = Int(text), range.contains(number) else { return nil }
            return number
        }
    }

    /// Returns the duration that an option gives, in seconds.
    func duration(of option: String, _ syntax: Syntax) throws(CommandError) -> Double? {
        let need = "a duration of a year at most, such as 90, 90s, 10m or 1h30m"
        return try converted(option, syntax, need, DurationText.seconds)
    }

    /// Returns the age that an option gives, in seconds.
    func age(of option: String, _ syntax: Syntax) throws(CommandError) -> Double? {
        try converted(option, syntax, "an age with its unit, such as 90m, 12h or 30d", DurationText.age)
    }

    /// Returns the size that an option gives, in bytes.
    func size(of option: String, _ syntax: Syntax) throws(CommandError) -> UInt64? {
        try converted(option, syntax, "a size such as 500000, 64KB or 20MB", SizeText.bytes)
    }

    /// Returns the commit that `--at` names; nil if the option wasn't given.
    func commit(_ syntax: Syntax) throws(CommandError) -> CommitReference? {
        try commits(syntax).last
    }

    /// Returns all commits, for commands that accept `--at` several times.
    func commits(_ syntax: Syntax) throws(CommandError) -> [CommitReference] {
        var commits: [CommitReference] = []
        for text in values(of: "--at") {
            guard let commit = CommitReference(text) else {
                throw syntax.valueError("--at", text, needs: "a number such as 0, 3 or -2, or 'last'")
            }
            commits.append(commit)
        }
        return commits
    }

    private func converted<Value>(
        _ option: String, _ syntax: Syntax, _ need: String, _ convert: (String) -> Value?
    ) throws(CommandError) -> Value? {
        guard let text = value(of: option) else { return nil }
        guard let value = convert(text) else { throw syntax.valueError(option, text, needs: need) }
        return value
    }
}

extension Syntax {
    /// Returns a usage error about an option's value.
    func valueError(_ option: String, _ text: String, needs need: String) -> CommandError {
        usageError("'\(option)' needs \(need), not '\(text)'.")
    }
}

extension ReadingLimits {
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        self = arguments.has("--no-limits") ? .none : .standard
        guard let seconds = try arguments.number(of: "--time-limit", in: 1...Int(Int32.max), syntax)
        else { return }
        store.seconds = Double(seconds)
        // A bundle can have several stores.
        self.seconds = Double(seconds) * 5
    }
}

enum SizeText {
    /// Parses a size such as `500000000`, `64KB`, `500 MB`, `1.5GB`, `2G` or `2GiB`; nil for other text and for sizes
    /// beyond 64 bits.
    ///
    /// - `text`: a number, optionally followed by `B`, `KB`, `MB`, `GB` or `TB`; `K` and `KiB` also work. A number
    ///   without a unit is in bytes. Each unit is 1,024 times the previous one, as in ``Counted/bytes(_:)``.
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
