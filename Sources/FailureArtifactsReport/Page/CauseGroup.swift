internal import FailureArtifactsBundle
internal import FailureArtifactsAnalysis

/// Causes of failures that have one reason in common.
struct CauseGroup {
    /// The reason; nil for causes that have no group.
    let heading: String?
    let causes: [DescribedCause]

    /// Groups causes by the reasons that they have in common.
    static func groups(of causes: [DescribedCause]) -> [CauseGroup] {
        let groups = causes.grouped { $0.reason?.key }
        let several = groups.filter { $0.count > 1 }.map {
            CauseGroup(heading: $0[0].reason?.heading, causes: $0)
        }
        let others = groups.filter { $0.count == 1 }.flatMap(\.self)
        guard !others.isEmpty else { return several }
        return several + [CauseGroup(heading: several.isEmpty ? nil : "Others", causes: others)]
    }
}
