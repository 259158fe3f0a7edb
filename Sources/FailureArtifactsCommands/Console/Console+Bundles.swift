internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

extension Console {
    /// Reads the failure results of all bundles at `paths`.
    ///
    /// Without failures, the code is ``ExitCode/done``.
    func resultBundles(at paths: [String]) throws -> (bundles: [ReportedBundle], code: ExitCode) {
        try withScratchDirectory { scratch in
            var bundles: [ReportedBundle] = []
            let code = try readBundles(at: paths, scratch: scratch) {
                location, archive, _ -> ReportedBundle? in
                let metadata = try BundleReader(location, archive: archive).metadata
                return metadata.outcome == .passed
                    ? nil : ReportedBundle(metadata, location: location)
            } _: {
                if let bundle = $0 { bundles.append(bundle) }
            }
            bundles.sort { ($0.at, $0.path) < ($1.at, $1.path) }
            let findings = bestFindings(of: ReportedFailure.all(of: bundles).map(\.first.path))
            for index in bundles.indices { bundles[index].finding = findings[bundles[index].path] }
            return (bundles, code)
        }
    }
}

extension Console {
    /// Opens one of the bundles at `path`, and runs `body` with it and a scratch directory.
    ///
    /// - `command`: the name of a command that also lists the other failures at the path; nil for other
    ///   commands.
    func withBundle<Result>(
        at path: String, listingOthersFor command: String? = nil,
        _ body: (BundleReader, _ scratch: String) throws -> Result
    ) throws -> Result {
        try withChoice(at: path, listingOthersFor: command) { bundle, _, scratch in
            try body(bundle, scratch)
        }
    }

    /// Opens a bundle like ``withBundle(at:listingOthersFor:_:)``, and also passes a path that stands for it only.
    func withChoice<Result>(
        at path: String, listingOthersFor command: String?,
        _ body: (BundleReader, _ path: String, _ scratch: String) throws -> Result
    ) throws -> Result {
        try withScratchDirectory { scratch in
            let choice = try choose(at: path, scratch: scratch)
            let bundle = try BundleReader(
                choice.location, scratchDirectory: scratch, limits: limits.archive)
            let result = try body(bundle, choice.path, scratch)
            if let command { try listOthers(of: choice, at: path, for: command) }
            return result
        }
    }
}
