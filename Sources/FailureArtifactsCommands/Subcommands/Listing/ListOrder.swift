internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// In which order `list` lists bundles.
struct ListOrder: Sendable {
    /// By what.
    enum Key: String, CaseIterable, Sendable {
        case time, suite, test, outcome, size, name
    }

    /// What a bundle is sorted by; of two that are the same in it the first stays the first.
    struct Rank: Sendable {
        fileprivate let text: String
        fileprivate let number: UInt64
    }

    let key: Key
    let isReversed: Bool

    /// Reads `time`, or `-time` for the other way round.
    init?(_ text: String) {
        isReversed = text.hasPrefix("-")
        guard let key = Key(rawValue: isReversed ? String(text.dropFirst()) : text) else { return nil }
        self.key = key
    }

    /// All that can be given.
    static var words: [String] { Key.allCases.flatMap { [$0.rawValue, "-" + $0.rawValue] } }

    func rank(_ metadata: BundleMetadata, location: BundleLocation, bytes: UInt64) -> Rank {
        switch key {
        // ISO 8601 in UTC sorts as text.
        case .time: Rank(text: metadata.capture.at, number: 0)
        case .suite: Rank(text: metadata.test.suite, number: 0)
        case .test: Rank(text: metadata.test.title, number: 0)
        case .outcome: Rank(text: metadata.outcome.rawValue, number: 0)
        case .size: Rank(text: "", number: bytes)
        case .name: Rank(text: location.name, number: 0)
        }
    }

    /// The places of the ranks in their order.
    func sorted(_ ranks: [Rank]) -> [Int] {
        ranks.indices.sorted { left, right in
            let (a, b) = isReversed ? (ranks[right], ranks[left]) : (ranks[left], ranks[right])
            return a.number == b.number && a.text == b.text
                ? left < right : (a.number, a.text) < (b.number, b.text)
        }
    }
}
