internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// Limits of the search for findings in commands that read many bundles.
enum FindingSearch {
    /// The maximum number of bundles that are searched.
    static let bundles = 20
    /// The seconds after which no further bundle is searched.
    static let seconds = 10.0
    /// The maximum number of stores of a bundle.
    static let stores = 8
    /// The maximum size of a bundle's stores, in bytes.
    static let storeBytes: UInt64 = 64 << 20
    /// The time limit for reading a bundle's histories, in seconds.
    static let historySeconds = 1.0
    /// The time limit of each rule for a store, in seconds.
    static let ruleSeconds = 0.05
}

extension Console {
    /// Returns the best finding above `possible` of each of the first bundles.
    ///
    /// A bundle that can't be read, or that exceeds the limits of ``FindingSearch``, has none.
    ///
    /// - Parameter paths: The bundles.
    /// - Returns: The findings, by path.
    func bestFindings(of paths: [String]) -> [String: Finding] {
        let deadline = Instant.now.advanced(bySeconds: FindingSearch.seconds)
        var findings: [String: Finding] = [:]
        for path in paths.prefix(FindingSearch.bundles) where Instant.now < deadline {
            findings[path] = try? bestFinding(of: path)
        }
        return findings
    }

    private func bestFinding(of path: String) throws -> Finding? {
        try withBundle(at: path) { bundle, scratch in
            let sizes = bundle.metadata.storeChoices.map { bundle.size(ofEntry: $0.entry) ?? 0 }
            guard bundle.metadata.stores.count <= FindingSearch.stores,
                sizes.allSatisfy({ $0 <= FindingSearch.storeBytes / UInt64(sizes.count) })
            else { return nil }
            let evidence = FailureEvidence(
                bundle, scratch: scratch, limits: limits.store, seconds: FindingSearch.historySeconds)
            let explanation = Explanation(
                evidence, bundle: path, seconds: FindingSearch.ruleSeconds)
            return explanation.findings.first.flatMap { $0.confidence > .possible ? $0 : nil }
        }
    }
}
