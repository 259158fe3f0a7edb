internal import FailureArtifactsBundle

/// A statement that read many rows one by one, without an index that narrows the search.
enum FullScan: FindingRule {
    static let code = Finding.Code.fullScan

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        // A scan that was interrupted has fewer steps.
        let scans = store.testStatements.filter {
            ($0.record.fullScanSteps ?? 0) > ($0.record.error?.code == 9 ? 100 : 1000)
        }
        let costs = Dictionary(grouping: scans, by: { $0.record.sql }).map { sql, runs in
            let rows = runs.reduce(0) { total, run in
                let (sum, isTooLarge) = total.addingReportingOverflow(run.record.leastScannedRows ?? 0)
                return isTooLarge ? .max : sum
            }
            return (sql: sql, runs: runs, rows: rows)
        }
        let words = [
            "timed out", "timeout", "time limit", "took ", "seconds", "exceeded", "too slow", "duration",
        ]
        let text = failure.message.text.lowercased()
        let isAboutTime =
            scans.contains { $0.record.error?.code == 9 }
            || failure.metadata.outcome == .timedOut || words.contains(where: text.contains)
        return costs.sorted { $0.rows > $1.rows }.prefix(2).compactMap { cost in
            guard let last = cost.runs.last else { return nil }
            let runs = cost.runs.count == 1 ? "It" : "At least \(cost.runs.count) runs of it"
            return Finding(
                code: code,
                title: "A statement scanned at least \(Counted.number(Int64(cost.rows))) rows",
                confidence: .possible, store: store.name, statement: last.record,
                explanation: "\(runs) read tables row by row"
                    + ((last.record.sorts ?? 0) > 0 ? ", and sorted the result" : "") + ".",
                relevance: isAboutTime ? 60 : 3, likelyFrom: 60)
        }
    }
}
