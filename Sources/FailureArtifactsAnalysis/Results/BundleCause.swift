package struct BundleCause: Sendable {
    /// The failures, the one with the best finding first; never empty.
    package let failures: [ReportedFailure]

    package var first: ReportedBundle { failures[0].first }
    package var finding: Finding? { failures[0].finding }
    package var bundles: [ReportedBundle] { failures.flatMap(\.bundles) }

    /// Groups bundles by cause: crashes and hangs first, and then the causes with the best findings.
    package static func causes(of bundles: [ReportedBundle]) -> [BundleCause] {
        let causes = ReportedFailure.all(of: bundles).grouped { failure in
            CauseReason(
                failure.finding, place: failure.first.place, message: failure.first.headline)?.key
        }
        return causes.map { BundleCause(failures: $0.sorted { $0.comes(before: $1) }) }
            .sorted { $0.failures[0].comes(before: $1.failures[0]) }
    }
}
