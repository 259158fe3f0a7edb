internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

extension Console {
    /// Visits all bundles at `paths`.
    ///
    /// Problems with one path or bundle are reported at once. The other bundles are still visited.
    ///
    /// - Parameters:
    ///   - paths: Bundles, directories, and zips of bundles.
    ///   - scratch: A directory for bundles that are inside other zips.
    ///   - damaged: Replaces the report about a zip that was found in a directory and can't be opened.
    ///   - body: Receives the bundle's location and a closure that opens the bundle. It returns the bundle's exit code.
    /// - Returns: The first failure's exit code. Without failures, the first code of `body` that isn't
    ///   ``ExitCode/done``.
    /// - Throws: An error if an output can't be written.
    func forEachBundle(
        at paths: [String], scratch: String,
        damaged: ((BundleLocation, BundleError) throws -> ExitCode)? = nil,
        _ body: (BundleLocation, () throws -> ZipArchive) throws -> ExitCode
    ) throws -> ExitCode {
        var failure: ExitCode?
        var result = ExitCode.done
        func note(_ code: ExitCode) {
            if result == .done { result = code }
        }
        func fail(_ error: any Error) throws {
            if let error = error as? OutputError { throw error }
            let report = CommandError(error)
            self.report(report)
            failure = failure ?? report.exitCode
        }
        for path in paths {
            let findings: [BundleLocator.Finding]
            do {
                findings = try BundleLocator.findings(at: path)
            } catch {
                try fail(error)
                continue
            }
            for finding in findings {
                startReading()
                do {
                    if let problem = finding.problem {
                        if problem.reason == .noMetadata {
                            try warn("'\(finding.location)' is passed over: it is a zip, but no bundle.")
                        } else if let damaged {
                            note(try damaged(finding.location, problem))
                        } else {
                            throw problem
                        }
                        continue
                    }
                    note(
                        try body(finding.location) {
                            try finding.location.openArchive(
                                scratchDirectory: scratch, limits: limits.archive)
                        })
                } catch {
                    try fail(error)
                }
            }
        }
        return failure ?? result
    }
}

extension Console {
    /// Reads the failure results of all bundles at `paths`.
    ///
    /// - Parameter paths: Bundles, directories, and zips of bundles.
    /// - Returns: The bundles of failures, sorted by failure time, and the first failure's exit code. Without failures,
    ///   the code is ``ExitCode/done``.
    /// - Throws: An error if an output can't be written.
    func resultBundles(at paths: [String]) throws -> (bundles: [ResultBundle], code: ExitCode) {
        try withScratchDirectory { scratch in
            var bundles: [ResultBundle] = []
            let code = try readBundles(at: paths, scratch: scratch) {
                location, archive, _ -> ResultBundle? in
                let metadata = try BundleReader(location, archive: archive).metadata
                return metadata.outcome == .passed
                    ? nil : ResultBundle(metadata, path: location.description)
            } _: {
                if let bundle = $0 { bundles.append(bundle) }
            }
            bundles.sort { ($0.at, $0.path) < ($1.at, $1.path) }
            let findings = bestFindings(of: BundleCause.causes(of: bundles).map(\.first.path))
            for index in bundles.indices { bundles[index].finding = findings[bundles[index].path] }
            return (bundles, code)
        }
    }
}

extension Console {
    /// Opens the single bundle at `path` and runs `body` with it and a scratch directory.
    func withBundle<Result>(
        at path: String, _ body: (BundleReader, _ scratch: String) throws -> Result
    ) throws -> Result {
        try withScratchDirectory { scratch in
            let location = try BundleLocator.single(at: path)
            let bundle = try BundleReader(
                location, scratchDirectory: scratch, limits: limits.archive)
            return try body(bundle, scratch)
        }
    }
}

extension Console {
    /// Returns the statement log of a store.
    ///
    /// Returns an empty log if it can't be read, so that the rest is still shown.
    func statements(
        of store: BundleMetadata.Store, in bundle: BundleReader
    ) throws -> [StatementRecord] {
        do {
            return StatementLines.applied(to: try bundle.statements(of: store))
        } catch {
            try warn("The statements are not shown: \(CommandError(error))")
            return []
        }
    }
}
