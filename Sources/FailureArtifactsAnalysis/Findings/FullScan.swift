internal import FailureArtifactsBundle

/// A statement that read whole tables row by row.
enum FullScan: FindingRule {
    static let code = Finding.Code.fullScan

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        // A scan that was interrupted has fewer steps.
        let scans = store.testStatements.filter {
            ($0.record.fullScanSteps ?? 0) > ($0.record.error?.code == 9 ? 100 : 1000)
        }
        let costs = Dictionary(grouping: scans, by: { $0.record.sql }).map { sql, runs in
            (sql: sql, runs: runs, steps: runs.reduce(0) { $0 + ($1.record.fullScanSteps ?? 0) })
        }
        let words = [
            "timed out", "timeout", "time limit", "took ", "seconds", "exceeded", "too slow", "duration",
        ]
        let text = failure.message.text.lowercased()
        let isAboutTime =
            scans.contains { $0.record.error?.code == 9 }
            || failure.metadata.outcome == .timedOut || words.contains(where: text.contains)
        return costs.sorted { $0.steps > $1.steps }.prefix(2).compactMap { cost in
            guard let last = cost.runs.last else { return nil }
            let times = cost.runs.count == 1 ? "once" : "\(cost.runs.count) times"
            return Finding(
                code: code, title: "A statement scanned \(Counted.number(Int64(cost.steps))) rows",
                confidence: .possible, store: store.name, statement: last.record,
                explanation: "It ran \(times) and read whole tables"
                    + ((last.record.sorts ?? 0) > 0 ? ", and sorted the result" : "") + ".",
                relevance: isAboutTime ? 60 : 3, likelyFrom: 60)
        }
    }
}
