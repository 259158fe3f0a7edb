internal import FailureArtifactsBundle

/// The attempts of one test that left bundles, earliest first.
///
/// Attempts differ by run, process, failure or shard. Passed attempts are included if they were captured.
package struct AttemptSeries: Sendable {
    /// Bundles that differ only in the shard.
    package struct Attempt: Sendable {
        package fileprivate(set) var reportedBundles: [ReportedBundle]
        /// The index of the cause on the page, from 0; nil if the attempt passed.
        package let cause: Int?

        package var first: ReportedBundle { reportedBundles[0] }
    }

    /// The index of the cause whose section shows the attempts, from 0.
    package let number: Int
    package let attempts: [Attempt]

    /// Returns the attempts of tests that have several and failed at least once, by the index of the cause.
    ///
    /// - Parameters:
    ///   - causes: The failures.
    ///   - passed: The bundles of passed attempts.
    /// - Returns: The attempts for each cause. A test that failed for several causes has the same attempts in each.
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

    /// Returns the title of an attempt, which includes only what distinguishes it from the others.
    package func title(of attempt: Attempt) -> String {
        let title = name(of: attempt)
        guard let cause = attempt.cause else { return "\(title), passed" }
        let isOne = attempts.allSatisfy {
            $0.cause == cause || $0.cause == nil || name(of: $0) != title
        }
        return isOne ? title : "\(title), failure \(cause + 1)"
    }

    /// True if any attempt passed.
    package var hasPassed: Bool { attempts.contains { $0.cause == nil } }

    /// The outcomes of all attempts, as a sentence; nil if none passed.
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
        // In one place, only the time shows that the passed attempt was a repetition.
        let isInOnePlace = Set(all.map(\.container)).count == 1
        if hasPassed, isInOnePlace,
            let place = attempts.firstIndex(where: { $0.cause == attempt.cause })
        {
            return "attempt \(place + 1)"
        }
        return attempt.first.container
    }
}
