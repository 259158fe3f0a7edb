internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Console {
    /// The number of bundles that are read at a time: enough to keep all cores busy, and few enough to bound memory.
    private static let standardBatch = 64 * Threads.cores

    /// Reads a small value from each bundle at `paths`, on all cores, and passes it to `body`.
    ///
    /// A problem with one path or bundle is reported, and the other bundles are still read. An error of `body`, such as
    /// a full disk, ends the work.
    ///
    /// - `problem`: returns the value of a zip that should be a bundle and isn't; nil to report it like other problems.
    /// - `read`: called for each bundle on any thread, with the bundle's size in bytes.
    func readBundles<Value: Sendable>(
        at paths: [String], scratch: String, atOnce batch: Int = Self.standardBatch,
        _ read: @escaping @Sendable (BundleLocation, ZipArchive, UInt64) throws -> Value,
        _ body: (Value) throws -> Void,
        problem: (@Sendable (BundleLocation, BundleError) -> Value)? = nil
    ) throws -> ExitCode {
        var code = ExitCode.done
        func fail(_ error: any Error) {
            let failure = failure(error)
            report(failure)
            if code == .done { code = failure.exitCode }
        }
        let limits = limits.archive
        for path in paths {
            let findings: [BundleLocator.FoundBundle]
            do {
                findings = try searching(path, BundleLocator.found(at:))
            } catch {
                fail(error)
                continue
            }
            // Opening a zip of bundles takes longer, the more it has.
            var shared: [String: ZipArchive] = [:]
            for start in stride(from: 0, to: findings.count, by: batch) {
                startReading()
                let part = Array(findings[start..<min(start + batch, findings.count)])
                let locations = part.map(\.location).filter { $0.inner != nil }
                shared = Dictionary(grouping: locations, by: \.path).compactMapValues { locations in
                    shared[locations[0].path] ?? (try? locations[0].openFile(limits: limits))
                }
                let files = shared
                let results = Threads.map(part) { finding in
                    Result {
                        if let error = finding.problem {
                            guard let problem, error.reason != .noMetadata else { throw error }
                            return problem(finding.location, error)
                        }
                        let location = finding.location
                        let file = try files[location.path] ?? location.openFile(limits: limits)
                        let archive = try location.openArchive(in: file, scratchDirectory: scratch)
                        return try read(location, archive, location.size(in: file))
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
    /// Reads the failure results of all bundles at `paths`; without failures, the code is ``ExitCode/done``.
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
                archive: limits.archive, checkout: checkout,
                start: startReading)
            try body(report, bundles.count)
        }
        return code
    }

    /// Writes the page about all bundles at `paths` beside them, for those who may read the bundles.
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
        try withScratchDirectory { scratch in
            let choice = try choose(at: path, scratch: scratch)
            let bundle = try BundleReader(
                choice.location, scratchDirectory: scratch, limits: limits.archive)
            let result = try body(bundle, scratch)
            if let command { try listOthers(of: choice, at: path, for: command) }
            return result
        }
    }
}

extension Console {
    /// The maximum number of bundles in which commands that read many search for findings.
    private static let explainedBundles = 20

    /// Returns the best finding of each of the first bundles; a bundle that can't be read has none.
    func bestFindings(of paths: [String]) -> [String: Finding] {
        var findings: [String: Finding] = [:]
        for path in paths.prefix(Self.explainedBundles) { findings[path] = try? bestFinding(of: path) }
        return findings
    }

    private func bestFinding(of path: String) throws -> Finding? {
        try withBundle(at: path) { bundle, scratch in
            let evidence = FailureEvidence(
                bundle, scratch: scratch, checking: try invariants(in: nil), limits: limits.store,
                effort: .small)
            // A change of which nothing is known but its time says too little to stand beside a failure.
            var explanation = Explanation(evidence, bundle: path)
            explanation.keepFirst(1)
            if let checkout { explanation.add(checkout) }
            return explanation.findings.first.flatMap {
                $0.evidence == .last ? nil : $0
            }
        }
    }

    /// Returns the newest bundle of the same test that passed and lies beside a bundle; nil if the test has not passed
    /// with the same arguments.
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

extension CommandError {
    /// Creates the error for a user's statement that fails; usually the statement is wrong; sometimes the store is
    /// damaged.
    init(
        _ error: SQLiteError, sql: String, store: StoreChoice, path: String,
        bundle: BundleLocation
    ) {
        guard !error.isDatabaseDamaged else {
            self.init(
                .badData, "The store '\(store.name)' of '\(bundle)' is damaged: \(error.message).")
            return
        }
        guard !error.isOverLimit else {
            let reason =
                error.isInterrupted
                ? "it takes longer than the time limit. '--time-limit SECONDS' sets another one."
                : error.message + "."
            self.init(
                .inputOutput,
                "'\(sql)' was stopped on the store '\(store.name)': \(reason) \(CommandError.limitsHint)"
            )
            return
        }
        var sentence = "'\(sql)' cannot be run on the store '\(store.name)': \(error.message)."
        sentence += Spelling.hint(for: error, in: sql, ofStore: path)
        // Some versions of SQLite also reject harmless functions, such as json_group_array().
        if error.message.hasPrefix("unsafe use of") {
            sentence +=
                " A view of the store must not call it; a statement of yours may, and so may any "
                + "program on the store that 'failure-artifacts extract' writes."
        }
        self.init(.usage, sentence)
    }
}
