internal import FailureArtifactsBundle

/// The attempts of one test that left bundles, the earliest first: those of a run, of a process, and where one
/// attempt failed in several ways, in several shards, these too.
struct AttemptSeries: Sendable {
    /// Bundles that differ in nothing but the shard.
    struct Attempt: Sendable {
        fileprivate(set) var occurrences: [Occurrence]
        /// The cause's place on the page, from 0.
        let cause: Int

        var first: Occurrence { occurrences[0] }
    }

    /// The cause whose section has them, from 0.
    let number: Int
    let attempts: [Attempt]

    /// The attempts of the tests that have several, by the places of the causes, from 0.
    static func series(of causes: [FailureCause]) -> [Int: AttemptSeries] {
        var attempts: [Key: Attempt] = [:]
        var starts: [String: String] = [:]
        for (number, cause) in causes.enumerated() {
            for occurrence in cause.occurrences {
                let key = Key(occurrence, cause: number)
                attempts[key, default: Attempt(occurrences: [], cause: number)].occurrences
                    .append(occurrence)
                starts[occurrence.run] = min(starts[occurrence.run] ?? occurrence.at, occurrence.at)
            }
        }
        var result: [Int: AttemptSeries] = [:]
        for (_, keys) in Dictionary(grouping: attempts.keys, by: \.test) where keys.count > 1 {
            let sorted = keys.compactMap { attempts[$0] }.sorted { left, right in
                let (a, b) = (left.first, right.first)
                return (starts[a.run] ?? "", a.run, a.runAttempt, a.attempt, a.at, left.cause)
                    < (starts[b.run] ?? "", b.run, b.runAttempt, b.attempt, b.at, right.cause)
            }
            let places = Set(keys.map(\.cause))
            let series = AttemptSeries(number: places.min() ?? 0, attempts: sorted)
            for place in places { result[place] = series }
        }
        return result
    }

    private struct Key: Hashable {
        let test: BundleMetadata.Test
        let run: String
        let runAttempt: Int
        let attempt: Int
        let cause: Int

        init(_ occurrence: Occurrence, cause: Int) {
            test = occurrence.identity
            run = occurrence.run
            runAttempt = occurrence.runAttempt
            attempt = occurrence.attempt
            self.cause = cause
        }
    }

    /// What an attempt is called: only what tells it from the others.
    func title(of attempt: Attempt) -> String {
        let title = name(of: attempt)
        let isOne = attempts.allSatisfy { $0.cause == attempt.cause || name(of: $0) != title }
        return isOne ? title : "\(title), failure \(attempt.cause + 1)"
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
        return parts.isEmpty ? attempt.first.container : parts.joined(separator: ", ")
    }
}
