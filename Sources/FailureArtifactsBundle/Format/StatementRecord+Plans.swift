internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension StatementRecord {
    /// The number of full-scan steps above which a statement gets a plan.
    static let planThreshold = 1000
    /// The maximum number of different statements of a store that are explained.
    static let maximumPlans = 32
    /// The time limit for explaining the statements of a store, in seconds.
    private static let planTimeLimit = 0.5

    private var needsPlan: Bool { cut != true && fullScanSteps ?? 0 > Self.planThreshold }

    /// Returns true if any of the lines has a stack, or so many full-scan steps that it needs a plan.
    ///
    /// It decodes nothing. Quotes in JSON strings are escaped, so only keys are found.
    static func isIncomplete(_ lines: [UInt8]) -> Bool {
        lines.withUnsafeBytes { bytes in
            if bytes.holds(",\"stack\":[") { return true }
            var rest = bytes
            while let next = rest.rest(afterFirst: ",\"fullScanSteps\":") {
                let digits = next.prefix(20).prefix { (0x30...0x39).contains($0) }
                if let steps = Int(String(decoding: digits, as: UTF8.self)), steps > planThreshold {
                    return true
                }
                rest = next
            }
            return false
        }
    }

    /// Adds the plans of the costliest statements of a store, from its copy.
    static func addPlans(to records: inout [StatementRecord], fromCopyAt path: String) {
        var steps: [String: Int] = [:]
        for record in records where record.needsPlan {
            steps[record.sql] = max(steps[record.sql] ?? 0, record.fullScanSteps ?? 0)
        }
        guard !steps.isEmpty else { return }
        let costliest = steps.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(maximumPlans)
        let plans = QueryPlan.plans(
            of: costliest.map(\.key), onCopyAt: path, timeLimit: planTimeLimit)
        for index in records.indices where records[index].needsPlan {
            records[index].queryPlan = plans[records[index].sql]
        }
    }
}
