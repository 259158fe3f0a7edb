internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

struct PruneCommand: Command {
    static let syntax = Syntax(
        command: "prune", summary: "Remove the oldest bundles, by number, age or total size",
        positionals: [Syntax.Positional("DIR", help: "The directory of bundles.")],
        options: [
            Syntax.Option(
                "--max-bundles", value: "N", help: "Keep at most N bundles, the newest."),
            Syntax.Option(
                "--max-age", value: "D",
                help: "Remove bundles that are older than 90m, 12h or 30d, for example."),
            Syntax.Option(
                "--max-total-bytes", value: "BYTES",
                help:
                    "Keep the newest bundles up to this total size: 500000000, 64KB, 500MB or 2GB. A KB has 1,024 "
                    + "bytes."),
            Syntax.Option(
                "--dry-run", help: "List the bundles that would be removed, and remove nothing."),
            .json(
                "Print a JSON object: dryRun, removed and kept (each with bundles and bytes), and the bundles."
            ),
            .noLimits,
        ],
        discussion: """
            Removes bundles from DIR and its subdirectories, the oldest first, until the rest is within all given \
            limits. At least one limit is required. The age of a bundle is the time since its capture, not the age of \
            its file. Prints the path of each removed bundle, and then the totals.

            Everything else stays: other files, zips that are not bundles, symbolic links and their targets, and \
            hidden directories. A damaged zip stays too, with a warning. Tests may run at the same time: their new \
            bundles stay, and the space of the removed ones is free for them.

            The exit status is 74 if a bundle could not be removed; the others are removed nevertheless.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let count = try number(of: "--max-bundles", in: 0...Int.max)
        let age = try age(of: "--max-age")
        let bytes = try size(of: "--max-total-bytes")
        guard count != nil || age != nil || bytes != nil else {
            throw Self.syntax.usageError(
                "'prune' has to be told what to keep: give '--max-bundles', '--max-age' or "
                    + "'--max-total-bytes'.")
        }
        try PathCheck.directory(path)
        let isDryRun = arguments.has("--dry-run")
        var code = ExitCode.done
        // With the path, the order doesn't depend on the file system. The last path counts as the newest.
        let bundles = try bundles(console, &code).sorted { ($0.date, $0.path) < ($1.date, $1.path) }
        let outdated = Array(bundles.dropLast(Self.keptCount(of: bundles, count, age, bytes)))
        var report = Report(dryRun: isDryRun)
        var gone: Set<String> = []
        for (bundle, result) in isDryRun ? outdated.map({ ($0, .removed($0.bytes)) }) : remove(outdated)
        {
            switch result {
            case .removed:
                report.removed.add(bundle)
                report.bundles.append(.init(bundle: bundle.path, bytes: bundle.bytes, at: bundle.time))
                gone.insert(bundle.path)
            // Another process has removed or replaced it.
            case .gone: gone.insert(bundle.path)
            case .inUse:
                try console.warn("'\(bundle.path)' stays: the process that made it is not done with it.")
            case .failed(let error):
                code = .inputOutput
                console.report(CommandError(code, "'\(bundle.path)' is not removed: \(error)."))
            }
        }
        for bundle in bundles where !gone.contains(bundle.path) { report.kept.add(bundle) }
        try write(report, console) { report.lines }
        return code
    }

    /// Returns the number of the newest bundles that are within all limits.
    private static func keptCount(
        of bundles: [Candidate], _ maximumCount: Int?, _ maximumAge: Double?, _ maximumBytes: UInt64?
    ) -> Int {
        let now = Timestamp.now.nanoseconds / 1_000_000
        let start = maximumAge.map { now - Int64($0 * 1000) } ?? .min
        var (count, bytes) = (0, UInt64(0))
        for bundle in bundles.reversed() {
            bytes += bundle.bytes
            guard bundle.date >= start, count < maximumCount ?? .max, bytes <= maximumBytes ?? .max
            else { break }
            count += 1
        }
        return count
    }

    private func remove(_ bundles: [Candidate]) -> [(Candidate, ArtifactsDirectory.Removal)] {
        let directories = Dictionary(grouping: bundles) { Path.directory(of: $0.path) }
        return directories.sorted { $0.key < $1.key }.flatMap { path, bundles in
            let directory = ArtifactsDirectory(path: path)
            do throws(SystemError) {
                return Array(zip(bundles, try directory.removeBundles(bundles.map(\.file))))
            } catch {
                return bundles.map { ($0, .failed(error)) }
            }
        }
    }

    // MARK: - Bundles

    private struct Candidate {
        let path: String
        let file: ArtifactsDirectory.BundleFile
        let bytes: UInt64
        /// The time of capture, in milliseconds since 1970, or else the file's modification time.
        let date: Int64

        init(_ path: String, _ status: FileStatus, _ metadata: BundleMetadata) {
            self.path = path
            file = ArtifactsDirectory.BundleFile(name: Path.name(of: path), identity: status.identity)
            bytes = status.size
            date = MetadataTime.milliseconds(of: metadata.capture.at) ?? status.modified / 1_000_000
        }

        /// The date in the format of the metadata.
        var time: String {
            let milliseconds = (date % 1000 + 1000) % 1000
            return Timestamp(seconds: (date - milliseconds) / 1000, milliseconds: Int32(milliseconds))
                .description
        }
    }

    /// Returns all bundles, and warns about other files whose names look like a bundle's.
    private func bundles(_ console: Console, _ code: inout ExitCode) throws -> [Candidate] {
        let limits = console.limits.archive
        var bundles: [Candidate] = []
        for path in try Self.files(in: path) {
            do {
                guard let status = try FileSystem.statusWithoutFollowing(path), status.kind == .regular
                else { continue }
                let location = BundleLocation(path: path)
                let archive = try location.openArchive(scratchDirectory: "", limits: limits)
                bundles.append(Candidate(path, status, try BundleMetadata(in: archive, of: path)))
            } catch let error as BundleError where error.reason == .noMetadata {
                try console.warn("'\(path)' is left as it is: it is a zip, but no bundle.")
            } catch let error as BundleError where error.reason == .notFound {
                continue
            } catch {
                let failure = CommandError(error)
                if failure.exitCode == .inputOutput {
                    console.report(failure)
                    code = failure.exitCode
                } else {
                    try console.warn(failure.description + " It is left as it is.")
                }
            }
        }
        return bundles
    }

    /// Returns the zips in a directory and its subdirectories, without hidden files and links.
    private static func files(in directory: String, depth: Int = 0) throws(SystemError) -> [String] {
        // The same depth as for other commands.
        guard depth < 8 else { return [] }
        var files: [String] = []
        for name in try contents(of: directory) where !name.hasPrefix(".") {
            let path = Path.join(directory, name)
            switch try FileSystem.statusWithoutFollowing(path)?.kind {
            case .directory: files += try Self.files(in: path, depth: depth + 1)
            case .regular where BundleLocator.isZipName(name): files.append(path)
            default: break
            }
        }
        return files
    }

    /// Returns the names in a directory; none if another process has removed it meanwhile.
    private static func contents(of directory: String) throws(SystemError) -> [String] {
        do throws(SystemError) {
            return try FileSystem.contents(ofDirectory: directory)
        } catch {
            guard error.isNotFound else { throw error }
            return []
        }
    }

    // MARK: - Report

    private struct Report: Encodable {
        struct Amount: Encodable {
            var bundles = 0
            var bytes: UInt64 = 0

            mutating func add(_ bundle: Candidate) {
                bundles += 1
                bytes += bundle.bytes
            }
        }

        struct Entry: Encodable {
            var bundle: String
            var bytes: UInt64
            var at: String
        }

        var dryRun: Bool
        var removed = Amount()
        var kept = Amount()
        var bundles: [Entry] = []

        var lines: [String] {
            let verb = dryRun ? "Would remove" : "Removed"
            let all = Counted.items(Int64(removed.bundles + kept.bundles), "bundle")
            return bundles.map { SafeText.line($0.bundle) } + [
                "\(verb) \(removed.bundles) of \(all), \(Counted.bytes(removed.bytes)); kept \(kept.bundles), "
                    + "\(Counted.bytes(kept.bytes))."
            ]
        }
    }
}
