/// A kind of finding: one fact or one likely cause that is looked for in a store.
protocol FindingRule {
    static var code: Finding.Code { get }

    static func findings(
        in store: Timeline, of failure: FailureEvidence
    ) throws -> [Finding]
}
