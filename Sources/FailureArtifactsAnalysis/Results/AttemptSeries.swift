/// The attempts of one test that left bundles, earliest first.
///
/// Attempts differ by run, process, failure or shard. Passed attempts are included if they were captured.
package struct AttemptSeries: Sendable {
    /// Bundles that differ only in the shard.
    package struct Attempt: Sendable {
        package let bundles: [ReportedBundle]
        /// The index of the cause on the page, from 0; nil if the attempt passed.
        package let cause: Int?

        package var first: ReportedBundle { bundles[0] }
    }

    /// The index of the cause whose section shows the attempts, from 0.
    package let number: Int
    package let attempts: [Attempt]

    /// Returns the attempts of tests that have several and failed at least once, by the index of the cause.
    ///
    /// A test that failed for several causes has the same attempts in each.
    package static func series(
        of causes: [ReportedFailure], passed: [ReportedBundle] = []
    ) -> [Int: AttemptSeries] {
        let failed = causes.enumerated().flatMap { number, cause in
            cause.bundles.map { (bundle: $0, cause: Optional(number)) }
        }
        let all = failed + passed.map { ($0, nil) }
        var starts: [String: String] = [:]
        for (bundle, _) in all { starts[bundle.run] = min(starts[bundle.run] ?? bundle.at, bundle.at) }
        var result: [Int: AttemptSeries] = [:]
        for test in all.grouped(by: { [AnyHashable($0.bundle.test), $0.bundle.arguments] }) {
            // Bundles that differ only in the shard are one attempt.
            let attempts = test.grouped { bundle, cause in
                [bundle.run, String(bundle.runAttempt), String(bundle.attempt), "\(cause ?? -1)"]
            }.map { Attempt(bundles: $0.map(\.bundle), cause: $0[0].cause) }
            let places = Set(attempts.compactMap(\.cause))
            guard attempts.count > 1, let first = places.min() else { continue }
            let sorted = attempts.sorted { left, right in
                let (a, b) = (left.first, right.first)
                return (starts[a.run] ?? "", a.run, a.runAttempt, a.attempt, a.at, left.cause ?? .max)
                    < (starts[b.run] ?? "", b.run, b.runAttempt, b.attempt, b.at, right.cause ?? .max)
            }
            for place in places { result[place] = AttemptSeries(number: first, attempts: sorted) }
        }
        return result
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
