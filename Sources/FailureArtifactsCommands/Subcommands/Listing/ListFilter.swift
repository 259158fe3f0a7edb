internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// The conditions for bundles that `list` prints.
struct ListFilter: Sendable {
    /// The accepted names of suites, in which `*` matches any characters.
    ///
    /// An empty list matches all suites.
    private let suites: [String]
    /// The accepted outcomes.
    ///
    /// An empty list matches all outcomes.
    private let outcomes: [BundleMetadata.Outcome]
    /// The earliest time of capture, in milliseconds since 1970; nil for any time.
    private let since: Int64?

    /// Creates a filter from a command's options.
    init(_ arguments: ParsedArguments, _ syntax: Syntax, now: Timestamp = .now) throws(CommandError) {
        suites = arguments.values(of: "--suite")
        var outcomes: [BundleMetadata.Outcome] = []
        for text in arguments.values(of: "--outcome") {
            guard let outcome = BundleMetadata.Outcome.allCases.first(where: { $0.rawValue == text })
            else {
                let known = BundleMetadata.Outcome.allCases.map(\.rawValue).joined(separator: ", ")
                throw syntax.valueError("--outcome", text, needs: "one of \(known)")
            }
            outcomes.append(outcome)
        }
        self.outcomes = outcomes
        var since: Int64?
        if let text = arguments.value(of: "--since") {
            guard let pointInTime = Self.pointInTime(text, now: now) else {
                throw syntax.valueError(
                    "--since", text,
                    needs:
                        "a date such as 2026-11-21 or 2026-11-21T07:08 (UTC), or an age such as 90m, 12h or "
                        + "3d")
            }
            since = pointInTime
        }
        self.since = since
    }

    func contains(_ metadata: BundleMetadata) -> Bool {
        if !outcomes.isEmpty, !outcomes.contains(metadata.outcome) { return false }
        if !suites.isEmpty,
            !suites.contains(where: { Self.matches(metadata.test.suite, pattern: $0) })
        {
            return false
        }
        // Bundles without a valid time are shown rather than hidden.
        guard let since, let at = MetadataTime.milliseconds(of: metadata.capture.at) else { return true }
        return at >= since
    }

    /// True if a name matches a pattern, in which `*` matches any characters.
    static func matches(_ name: String, pattern: String) -> Bool {
        let parts = pattern.split(separator: "*", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else {
            return name == pattern
        }
        guard name.hasPrefix(first) else { return false }
        var rest = name.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let found = rest.firstRange(of: part) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    /// Parses a date, a date and a time, or an age.
    ///
    /// The result is in milliseconds since 1970.
    static func pointInTime(_ text: String, now: Timestamp) -> Int64? {
        // A number without a unit isn't an age, because it could be a year.
        if let ago = DurationText.age(text) { return now.nanoseconds / 1_000_000 - Int64(ago * 1000) }
        var full = text.replacing(" ", with: "T")
        if full.hasSuffix("Z") { full.removeLast() }
        switch full.utf8.count {
        case 10: full += "T00:00:00"
        case 16: full += ":00"
        default: break
        }
        return MetadataTime.milliseconds(of: full + "Z")
    }
}

/// The order in which `list` prints bundles.
struct ListOrder: Sendable {
    /// The property to sort by.
    enum Key: String, CaseIterable, Sendable {
        case time, suite, test, outcome, size, name
    }

    /// A bundle's sort key.
    ///
    /// Bundles with equal keys keep their order.
    struct Rank: Sendable {
        fileprivate let text: String
        fileprivate let number: UInt64
    }

    let key: Key
    let isReversed: Bool

    /// Parses a key such as `time`, or `-time` for the reverse order.
    init?(_ text: String) {
        isReversed = text.hasPrefix("-")
        guard let key = Key(rawValue: isReversed ? String(text.dropFirst()) : text) else { return nil }
        self.key = key
    }

    /// All accepted values.
    static var words: [String] { Key.allCases.flatMap { [$0.rawValue, "-" + $0.rawValue] } }

    func rank(_ bundle: KnownBundle, bytes: UInt64) -> Rank {
        switch key {
        // ISO 8601 in UTC sorts as text.
        case .time: Rank(text: bundle.at, number: 0)
        case .suite: Rank(text: bundle.test.suite, number: 0)
        case .test: Rank(text: bundle.test.title, number: 0)
        case .outcome: Rank(text: bundle.outcome.rawValue, number: 0)
        case .size: Rank(text: "", number: bytes)
        case .name: Rank(text: bundle.location.name, number: 0)
        }
    }

    /// Returns the indices of the ranks in sorted order.
    func sorted(_ ranks: [Rank]) -> [Int] {
        ranks.indices.sorted { left, right in
            let (a, b) = isReversed ? (ranks[right], ranks[left]) : (ranks[left], ranks[right])
            return a.number == b.number && a.text == b.text
                ? left < right : (a.number, a.text) < (b.number, b.text)
        }
    }
}
