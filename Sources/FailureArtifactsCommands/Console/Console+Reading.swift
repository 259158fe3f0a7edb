internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

extension Console {
    /// The number of bundles that are read at a time: enough to keep all cores busy, and few enough to bound memory.
    private static let batch = 64 * Threads.cores

    /// Reads a small value from each bundle at `paths`, on all cores, and passes it to `body`. A problem with one
    /// path or bundle is reported, and the other bundles are still read. An error of `body`, such as a full disk,
    /// ends the work.
    ///
    /// - `read`: called for each bundle on any thread, with the bundle's size in bytes.
    func readBundles<Value: Sendable>(
        at paths: [String], scratch: String,
        _ read: @escaping @Sendable (BundleLocation, ZipArchive, UInt64) throws -> Value,
        _ body: (Value) throws -> Void
    ) throws -> ExitCode {
        var code = ExitCode.done
        func fail(_ error: any Error) {
            let failure = failure(error)
            report(failure)
            if code == .done { code = failure.exitCode }
        }
        let limits = limits.archive
        for path in paths {
            let findings: [BundleLocator.Finding]
            do {
                try recoverTests(at: path)
                findings = try BundleLocator.findings(at: path)
            } catch {
                fail(error)
                continue
            }
            for start in stride(from: 0, to: findings.count, by: Self.batch) {
                startReading()
                let part = Array(findings[start..<min(start + Self.batch, findings.count)])
                let results = Threads.map(part) { finding in
                    Result {
                        if let problem = finding.problem { throw problem }
                        let location = finding.location
                        let archive = try location.openArchive(scratchDirectory: scratch, limits: limits)
                        return try read(location, archive, location.size())
                    }
                }
                for (finding, result) in zip(part, results) {
                    switch result {
                    case .success(let value): try body(value)
                    case .failure where finding.problem?.reason == .noMetadata:
                        try warn("'\(finding.location)' is passed over: it is a zip, but no bundle.")
                    case .failure(let error): fail(error)
                    }
                }
            }
        }
        return code
    }
}

extension Console {
    /// Reads the failure results of all bundles at `paths`. Without failures, the code is ``ExitCode/done``.
    func resultBundles(at paths: [String]) throws -> (bundles: [ReportedBundle], code: ExitCode) {
        var (bundles, code) = try reportedBundles(at: paths)
        bundles.removeAll { $0.outcome == .passed }
        bundles.sort { ($0.at, $0.path) < ($1.at, $1.path) }
        let findings = bestFindings(of: ReportedFailure.all(of: bundles).map(\.first.path))
        for index in bundles.indices { bundles[index].finding = findings[bundles[index].path] }
        return (bundles, code)
    }

    private func reportedBundles(
        at paths: [String]
    ) throws -> (bundles: [ReportedBundle], code: ExitCode) {
        var bundles: [ReportedBundle] = []
        let code = try withScratchDirectory { scratch in
            try readBundles(at: paths, scratch: scratch) { location, archive, bytes in
                let metadata = try BundleReader(location, archive: archive).metadata
                return ReportedBundle(metadata, location: location, bytes: bytes)
            } _: {
                bundles.append($0)
            }
        }
        return (bundles, code)
    }

    /// Makes the page about all bundles at `paths`, and passes it to `body` with their number, unless none can be read.
    ///
    /// - `page`: the path of the page; nil for standard output.
    /// - `isPart`: true if some bundles could not be read before.
    func withReport(
        of paths: [String], at page: String?, maximumBytes: UInt64 = ReportLimits.standardBytes,
        isPart: Bool = false, _ body: (Report, Int) throws -> Void
    ) throws -> ExitCode {
        let (bundles, code) = try reportedBundles(at: paths)
        if bundles.isEmpty, code != .done { return code }
        let causes = ReportedFailure.mostFrequentFirst(of: bundles)
        let problems =
            code == .done && !isPart ? [] : ["Some bundles could not be read: the tool said which."]
        try withScratchDirectory { scratch in
            let report = Report(
                page: ReportPage(
                    causes: causes, passed: bundles.filter { $0.outcome == .passed },
                    problems: problems),
                limits: ReportLimits(causes: causes.count, maximumBytes: maximumBytes),
                scratch: scratch, checking: try invariants(in: nil), folder: PageFolder(ofPage: page),
                archive: limits.archive,
                start: startReading)
            try body(report, bundles.count)
        }
        return code
    }

    /// Writes the page about all bundles at `paths` beside them, for those who may read the bundles.
    ///
    /// - `count`: receives the number of bundles.
    func writeReport(
        of paths: [String], beside path: String, isPart: Bool = false,
        count: (Int) throws -> Void = { _ in }
    ) throws -> ExitCode {
        try withReport(of: paths, at: path, isPart: isPart) { report, number in
            try WholeFile.write(report, toOwn: path, permissions: bundleReaders.filePermissions)
            try count(number)
        }
    }
}

extension Console {
    /// Opens one of the bundles at `path`, and runs `body` with it and a scratch directory.
    ///
    /// - `command`: the name of a command that also lists the other failures at the path; nil for other commands.
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
