internal import FailureArtifactsBundle

/// Bundles of one failure, which have the same fingerprint.
package struct ReportedFailure: Sendable {
    /// The bundles, in the order given; never empty.
    package let bundles: [ReportedBundle]

    package var first: ReportedBundle { bundles[0] }

    /// The arguments of a parameterized test that failed with several ones, as readable texts; otherwise empty.
    package var arguments: [String] { bundles.map(\.arguments).argumentTexts }

    /// The displayed name of the test: with its arguments, unless it failed with several ones.
    package var title: String { arguments.isEmpty ? first.title : first.testTitle }

    package var finding: Finding? {
        bundles.compactMap(\.finding).min { $0.confidence > $1.confidence }
    }

    /// Groups the bundles of tests that didn't pass, in the order of each failure's first bundle.
    package static func all(of bundles: [ReportedBundle]) -> [ReportedFailure] {
        // A bundle without a fingerprint is a separate failure.
        bundles.filter { $0.outcome != .passed }
            .grouped { $0.fingerprint.isEmpty ? nil : $0.fingerprint }.map(ReportedFailure.init)
    }

    /// Groups the bundles of tests that didn't pass, the most frequent failure first.
    package static func mostFrequentFirst(of bundles: [ReportedBundle]) -> [ReportedFailure] {
        all(of: bundles).sorted { $0.bundles.count > $1.bundles.count }
    }

    /// True if it comes before another one: crashes and hangs, which end other tests, and then the best findings.
    func comes(before other: ReportedFailure) -> Bool {
        if first.rank != other.first.rank { return first.rank < other.first.rank }
        guard let confidence = finding?.confidence else { return false }
        return other.finding.map { confidence > $0.confidence } ?? true
    }
}
