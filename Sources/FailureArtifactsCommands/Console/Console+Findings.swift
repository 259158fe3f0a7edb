internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// Limits of the search for findings in commands that read many bundles.
enum FindingSearch {
    /// The maximum number of bundles that are searched.
    static let bundles = 20
    /// The maximum number of stores of a bundle.
    static let stores = 8
    /// The maximum size of a bundle's stores, in bytes.
    static let storeBytes: UInt64 = 16 << 20
}

extension Console {
    /// Returns the best finding of each of the first bundles. A bundle that can't be read, or that exceeds the limits
    /// of ``FindingSearch``, has none.
    func bestFindings(of paths: [String]) -> [String: Finding] {
        var findings: [String: Finding] = [:]
        for path in paths.prefix(FindingSearch.bundles) { findings[path] = try? bestFinding(of: path) }
        return findings
    }

    private func bestFinding(of path: String) throws -> Finding? {
        try withBundle(at: path) { bundle, scratch in
            let sizes = bundle.metadata.storeChoices.map { bundle.size(ofEntry: $0.entry) ?? 0 }
            guard bundle.metadata.stores.count <= FindingSearch.stores,
                sizes.allSatisfy({ $0 <= FindingSearch.storeBytes / UInt64(sizes.count) })
            else { return nil }
            let evidence = FailureEvidence(
                bundle, scratch: scratch, checking: try invariants(in: nil), limits: limits.store,
                effort: .small)
            // A change of which nothing is known but its time says too little to stand beside a failure.
            return Explanation(evidence, bundle: path).findings.first.flatMap {
                $0.evidence == .last ? nil : $0
            }
        }
    }

    /// Returns the newest bundle of the same test that passed and lies beside a bundle. Nil if the test has not
    /// passed with the same arguments.
    func passingBundle(besides bundle: BundleReader, scratch: String) -> BundleReader? {
        guard bundle.location.inner == nil else { return nil }
        let test = bundle.metadata.test
        let directory = Path.directory(of: bundle.location.path)
        let stem = BundleName.stem(of: test, suffix: BundleMetadata.Outcome.passed.rawValue)
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        // Other files beside the bundle need not be bundles.
        return names.filter { BundleName.isName($0, with: stem) }.compactMap { name -> BundleReader? in
            let location = BundleLocation(path: Path.join(directory, name))
            guard
                let other = try? BundleReader(
                    location, scratchDirectory: scratch, limits: limits.archive),
                other.metadata.outcome == .passed, other.metadata.test.isSame(as: test)
            else { return nil }
            return other
        }.max { $0.metadata.capture.at < $1.metadata.capture.at }
    }
}
