internal import FailureArtifactsBundle

/// The attempts of one test that left bundles, the earliest first: those of a run, of a process, and where one
/// attempt failed in several ways, in several shards, these too.
///
/// One that passed is among them where it was captured.
package struct AttemptSeries: Sendable {
    /// Bundles that differ in nothing but the shard.
    package struct Attempt: Sendable {
        package fileprivate(set) var reportedBundles: [ReportedBundle]
        /// The cause's place on the page, from 0; nil where it passed.
        package let cause: Int?

        package var first: ReportedBundle { reportedBundles[0] }
    }

    /// The cause whose section has them, from 0.
    package let number: Int
    package let attempts: [Attempt]

    /// The attempts of the tests that have several, one of which failed, by the places of the causes, from 0.
    ///
    /// - Parameters:
    ///   - causes: The failures.
    ///   - passed: The bundles of attempts that passed.
    /// - Returns: The same attempts for each of the causes that they failed by.
    package static func series(
        of causes: [FailureCause], passed: [ReportedBundle] = []
    ) -> [Int: AttemptSeries] {
        var attempts: [Key: Attempt] = [:]
        var starts: [String: String] = [:]
        func add(_ reportedBundle: ReportedBundle, _ cause: Int?) {
            let key = Key(reportedBundle, cause: cause)
            attempts[key, default: Attempt(reportedBundles: [], cause: cause)].reportedBundles
                .append(reportedBundle)
            starts[reportedBundle.run] = min(
                starts[reportedBundle.run] ?? reportedBundle.at, reportedBundle.at)
        }
        for (number, cause) in causes.enumerated() {
            for reportedBundle in cause.reportedBundles { add(reportedBundle, number) }
        }
        for reportedBundle in passed { add(reportedBundle, nil) }
        var result: [Int: AttemptSeries] = [:]
        for (_, keys) in Dictionary(grouping: attempts.keys, by: \.test) where keys.count > 1 {
            let sorted = keys.compactMap { attempts[$0] }.sorted { left, right in
                let (a, b) = (left.first, right.first)
                return (starts[a.run] ?? "", a.run, a.runAttempt, a.attempt, a.at, left.cause ?? .max)
                    < (starts[b.run] ?? "", b.run, b.runAttempt, b.attempt, b.at, right.cause ?? .max)
            }
            let places = Set(keys.compactMap(\.cause))
            guard let first = places.min() else { continue }
            let series = AttemptSeries(number: first, attempts: sorted)
            for place in places { result[place] = series }
        }
        return result
    }

    private struct Key: Hashable {
        let test: BundleMetadata.Test
        let run: String
        let runAttempt: Int
        let attempt: Int
        let cause: Int?

        init(_ reportedBundle: ReportedBundle, cause: Int?) {
            test = reportedBundle.identity
            run = reportedBundle.run
            runAttempt = reportedBundle.runAttempt
            attempt = reportedBundle.attempt
            self.cause = cause
        }
    }

    /// What an attempt is called: only what tells it from the others.
    package func title(of attempt: Attempt) -> String {
        let title = name(of: attempt)
        guard let cause = attempt.cause else { return "\(title), passed" }
        let isOne = attempts.allSatisfy {
            $0.cause == cause || $0.cause == nil || name(of: $0) != title
        }
        return isOne ? title : "\(title), failure \(cause + 1)"
    }

    /// Whether some attempt passed.
    package var hasPassed: Bool { attempts.contains { $0.cause == nil } }

    /// What became of each attempt, as a sentence; nil where none passed.
    package var summary: String? {
        guard hasPassed else { return nil }
        let parts = attempts.map { "\($0.first.outcome.label) on \(name(of: $0))" }
        let text = parts.joined(separator: ", ") + "."
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    private func name(of attempt: Attempt) -> String {
        let all = attempts.map(\.first)
        var parts: [String] = []
        if Set(all.map(\.run)).count > 1 {
            parts.append(attempt.first.run.isEmpty ? "no run" : "run \(attempt.first.run)")
        }
        if Set(all.map(\.runAttempt)).count > 1 {
            parts.append("attempt \(attempt.first.runAttempt)")
        }
        if Set(all.map(\.attempt)).count > 1 {
            parts.append(
                parts.isEmpty
                    ? "attempt \(attempt.first.attempt)" : "\(attempt.first.attempt) in its process")
        }
        if !parts.isEmpty { return parts.joined(separator: ", ") }
        // Nothing but the time tells that what passed in the same place was tried again.
        let isInOnePlace = Set(all.map(\.container)).count == 1
        if hasPassed, isInOnePlace,
            let place = attempts.firstIndex(where: { $0.cause == attempt.cause })
        {
            return "attempt \(place + 1)"
        }
        return attempt.first.container
    }
}
