internal import FailureArtifactsTestRun
internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

/// `merge`: copies the bundles of a run's shards into one directory, with one report.
struct MergeCommand: Command {
    static let syntax = Syntax(
        command: "merge",
        summary: "Put the bundles of several places into one directory, with one report",
        positionals: [.neededPaths],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "DIR", isRequired: true,
                help: "The directory. It is created if it doesn't exist; its content stays."),
            .json("Print a JSON object: directory, bundles, added, renamed, identical, report."),
        ],
        discussion: """
            Bundles are never overwritten. If two have the same name, the second gets another random part. A \
            bundle that the directory already contains, byte for byte, is not added again. So you can repeat a merge, \
            and add more bundles later. \(MergeLog.name) lists the origin of each bundle.

            The report is \(Report.fileName) in that directory. It shows the attempts of one test side by side, with \
            their differences: attempts within a process, and attempts of the run if the CI counts them. An attempt \
            that passed left a bundle only if FAILURE_ARTIFACTS_PASSING asked for it.
            """)

    private let paths: [String]
    private let directory: String
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        paths = arguments.positionals
        guard let output = arguments.value(of: "--output") else {
            throw Self.syntax.usageError("'merge' needs a directory: -o DIR.")
        }
        directory = output
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try checkPaths()
        return try console.withScratchDirectory { scratch in
            let merged = try MergedDirectory(path: directory)
            console.interruption.add(directory: merged.workspace)
            defer {
                merged.close()
                console.interruption.remove(directory: merged.workspace)
            }
            var merge = try Merge(into: merged)
            let before = try readExisting(into: &merge, scratch, console)
            let code = try add(to: &merge, scratch, console)
            let reportedBundles = merge.reportedBundles
            var counts = merge.counts
            counts.bundles = reportedBundles.count
            if reportedBundles.isEmpty, code != .done { return code }
            let causes = ReportedFailure.mostFrequentFirst(of: reportedBundles)
            let problems =
                code == .done && before == .done
                ? [] : ["Some bundles could not be read: the tool said which."]
            defer { console.progress.clear() }
            let report = Report(
                page: ReportPage(
                    causes: causes, passed: reportedBundles.filter { $0.outcome == .passed },
                    problems: problems),
                limits: ReportLimits(causes: causes.count), scratch: scratch,
                checking: try console.invariants(in: nil), folder: PageFolder(ofPage: counts.report),
                progress: { console.progress.show("Describing", done: $0, total: $1) })
            try WholeFile.write(
                report, toOwn: counts.report, permissions: console.bundleReaders.filePermissions)
            try console.output.writeLine(isJSON ? JSONText.line(counts) : counts.text)
            return code == .done ? before : code
        }
    }

    /// Rejects paths inside the target directory, whose bundles would be copied twice.
    private func checkPaths() throws {
        guard let target = FileSystem.realPath(of: directory) else { return }
        for path in paths {
            guard let source = FileSystem.realPath(of: path) else { continue }
            if source == target || source.hasPrefix(target + "/") {
                throw CommandError(
                    .usage,
                    "'\(path)' is in '\(directory)' already. Leave it out, or name another directory with "
                        + "-o.")
            }
        }
    }

    /// Reads the bundles that are already in the directory.
    private func readExisting(
        into merge: inout Merge, _ scratch: String, _ console: Console
    ) throws -> ExitCode {
        let names = try FileSystem.contents(ofDirectory: directory)
            .filter { !$0.hasPrefix(".") && BundleLocator.isZipName($0) }
        let containers = MergeLog.containers(in: directory)
        return try console.readBundles(
            at: names.map { Path.join(directory, $0) }, scratch: scratch, task: "Reading",
            { location, archive, bytes in
                let name = location.inner == nil ? location.name : nil
                let metadata = try BundleReader(location, archive: archive).metadata
                return Existing(
                    name: name, identity: BundleIdentity(archive, bytes: bytes),
                    reportedBundle: ReportedBundle(
                        metadata, location: location, container: name.flatMap { containers[$0] },
                        bytes: bytes))
            },
            { existing in
                merge.reportedBundles.append(existing.reportedBundle)
                if let name = existing.name { merge.directory.note(name, existing.identity) }
            })
    }

    /// Adds the bundles that the arguments name to the directory.
    private func add(
        to merge: inout Merge, _ scratch: String, _ console: Console
    ) throws -> ExitCode {
        let (workspace, target) = (merge.directory.workspace, FileSystem.realPath(of: directory))
        let code = try console.readSources(
            at: paths, task: "Merging",
            { source, location -> Incoming? in
                // A source directory may contain the target directory.
                let folder = Path.directory(of: location.path)
                if let target, FileSystem.realPath(of: folder) == target { return nil }
                let archive = try source.open(location, scratchDirectory: scratch)
                let bytes = try source.size(of: location)
                let metadata = try BundleReader(location, archive: archive).metadata
                let file = Path.join(workspace, String(UInt64.random(in: 0 ... .max), radix: 16))
                try source.copy(location, toNewFile: file)
                return Incoming(
                    file: file, location: location, identity: BundleIdentity(archive, bytes: bytes),
                    metadata: metadata, bytes: bytes)
            },
            { incoming in
                guard let incoming else { return }
                do {
                    try merge.place(incoming)
                } catch {
                    // Stops here, because the next bundle would fail too.
                    throw UnusableOutput(reason: error)
                }
            })
        try merge.log.finish()
        return code
    }

    /// A merge in progress.
    private struct Merge: ~Copyable {
        var directory: MergedDirectory
        var reportedBundles: [ReportedBundle] = []
        private(set) var counts: Counts
        var log: MergeLog.Writer

        init(into directory: MergedDirectory) throws(SystemError) {
            self.directory = directory
            counts = Counts(directory: directory.path)
            log = try MergeLog.Writer(directory: directory.path)
        }

        /// Moves a bundle to its final name in the directory.
        mutating func place(_ incoming: Incoming) throws {
            let placement = try directory.place(
                incoming.file, named: incoming.location.name, incoming.identity)
            let container = ReportedBundle.container(of: incoming.location)
            var line = MergeLog.Line(
                bundle: placement.name, from: incoming.location.description, container: container)
            switch placement {
            case .added: counts.added += 1
            case .renamed:
                counts.added += 1
                counts.renamed += 1
            case .identical:
                counts.identical += 1
                line.identical = true
            }
            try log.append(line)
            if line.identical == true { return }
            reportedBundles.append(
                ReportedBundle(
                    incoming.metadata,
                    location: BundleLocation(path: Path.join(directory.path, placement.name)),
                    container: container, bytes: incoming.bytes))
        }
    }

    /// A bundle that is already in the directory.
    private struct Existing: Sendable {
        let name: String?
        let identity: BundleIdentity
        let reportedBundle: ReportedBundle
    }

    /// A bundle to be added.
    private struct Incoming: Sendable {
        let file: String
        let location: BundleLocation
        let identity: BundleIdentity
        let metadata: BundleMetadata
        let bytes: UInt64
    }

    /// The numbers of bundles that were processed.
    private struct Counts: Encodable {
        let directory: String
        /// The number of all bundles in the directory.
        var bundles = 0
        var added = 0
        var renamed = 0
        var identical = 0
        let report: String

        init(directory: String) {
            self.directory = directory
            report = Path.join(directory, Report.fileName)
        }

        var text: String {
            var facts = ["\(added) added"]
            if renamed > 0 { facts.append("\(renamed) of them under another name") }
            if identical > 0 { facts.append("\(identical) there already") }
            return SafeText.line(
                "\(directory): \(Counted.items(Int64(bundles), "bundle")), "
                    + facts.joined(separator: ", "))
                + "\n" + SafeText.line(report)
        }
    }
}
