internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

struct ReportCommand: Command {
    static let syntax = Syntax(
        command: "report", summary: "Write one self-contained HTML page about all failures",
        positionals: [.paths],
        options: [
            .output(
                "The file for the page, which is replaced if it exists; - for standard output. By default, "
                    + "\(Report.fileName) in the directory of bundles, or a file beside the zip, readable by those who "
                    + "may read the bundles: \(BundleAccess.variable)."),
            Syntax.Option(
                "--max-bytes", value: "BYTES",
                help:
                    "The maximum size of all rows, changes and statements on the page: 500000, 64KB or 20MB. By "
                    + "default, 10MB. A KB has 1,024 bytes. One failure gets at most a fifth."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            The page needs no network and no other file. Failures with the same fingerprint are one entry, which \
            lists all of them and shows the stores of the first. If a test passed in another bundle, the \
            findings include the differences.

            If the data doesn't fit, the newest changes and the rows that they concern come first. The page says \
            what it leaves out.
            """)

    let arguments: ParsedArguments

    private var output: String? { arguments.value(of: "--output") }

    func run(_ console: Console) throws -> ExitCode {
        let paths = arguments.positionals
        let maximumBytes = try size(of: "--max-bytes") ?? ReportLimits.standardBytes
        if output == "-" {
            return try console.withReport(of: paths, at: nil, maximumBytes: maximumBytes) { report, _ in
                try report.write { try console.output.write($0) }
            }
        }
        let path = try output ?? Self.defaultOutput(for: paths[0], console)
        return try console.withReport(of: paths, at: path, maximumBytes: maximumBytes) { report, _ in
            try write(report, to: path, console)
            try console.output.writeLine(SafeText.line(path))
        }
    }

    /// Writes the page; only those who may read bundles can read one at the default path.
    private func write(_ report: Report, to path: String, _ console: Console) throws {
        guard output == nil else { return try WholeFile.write(report, to: path) }
        do {
            try WholeFile.write(
                report, toOwn: path, permissions: console.bundleReaders.filePermissions)
        } catch let error as SystemError {
            throw CommandError(
                .inputOutput, CommandError(error).description + " To write another file, use -o.")
        }
    }

    /// Returns the page's path in a directory of bundles, beside a zip, or with the downloads of a run.
    private static func defaultOutput(for path: String, _ console: Console) throws -> String {
        if let downloads = try console.downloadDirectory(of: path) {
            return Path.join(downloads, Report.fileName)
        }
        var place = path
        // A part of a bundle's name, or an entry of a zip, is no file.
        while (try? FileSystem.status(of: place)) ?? nil == nil, Path.directory(of: place) != place {
            place = Path.directory(of: place)
        }
        if ((try? FileSystem.status(of: place)) ?? nil)?.kind == .directory {
            return Path.join(place, Report.fileName)
        }
        let name = Path.name(of: place)
        let file = Path.stem(of: name) + "." + Report.fileName
        return place == name ? file : Path.join(Path.directory(of: place), file)
    }
}
