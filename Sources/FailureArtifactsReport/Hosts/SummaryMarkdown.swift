package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
package import FailureArtifactsSystem

/// Failures as Markdown, for the page that a CI shows of a run.
///
/// The first failures are described, and the rest is counted. So the text fits, however many failures there are.
package struct SummaryMarkdown {
    /// The maximum number of bytes that GitHub accepts from a step; beyond it, GitHub [shows
    /// nothing](https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands).
    static let byteLimit = 1 << 20
    private static let messageLimit = 6000
    /// The maximum number of further failures that are listed for a cause.
    private static let otherLimit = 20
    /// The bytes reserved for the sentences about omitted failures.
    private static let reserve = 1024

    let causes: [BundleCause]
    var limit = Self.byteLimit
    /// The maximum number of causes that are described.
    var causeLimit = 100
    /// True if some bundles could not be read.
    package var isPart = false
    /// The path of the report on these failures; nil without a report.
    package var report: String?
    /// A paragraph of Markdown below the heading; empty for none.
    var introduction = ""
    /// The files that links lead to; without them, paths are as the bundles have them.
    package var files: RepositoryFiles?

    package init(causes: [BundleCause]) {
        self.causes = causes
    }

    /// The text: at most ``limit`` bytes, and empty if not even the heading fits.
    package var text: String {
        let bundles = causes.map(\.bundles.count).reduce(0, +)
        var head = "## " + Counted.items(Int64(bundles), "failed test")
        if causes.count < bundles { head += " with " + Counted.items(Int64(causes.count), "cause") }
        head += "\n"
        if !introduction.isEmpty { head += "\n" + introduction + "\n" }
        if isPart { head += "\nSome bundles could not be read: the tool said which.\n" }
        if let report { head += "\nThe report: \(Markdown.code(report))\n" }
        if let first = causes.first?.first, let download = BundleDownload(of: first) {
            head += "\n" + download.sentence(Markdown.code) + "\n"
        }
        let room = limit - Self.reserve
        guard head.utf8.count <= room else { return head.utf8.count <= limit ? head : "" }
        var text = head
        var told = 0
        for cause in causes.prefix(causeLimit) {
            let part = section(cause)
            guard text.utf8.count + part.utf8.count <= room else { break }
            text += part
            told += 1
        }
        let rest = causes.count - told
        if rest > 0 { text += "\nAnd " + Counted.items(Int64(rest), "failure") + " more.\n" }
        return text
    }

    private func section(_ cause: BundleCause) -> String {
        let bundle = cause.first
        var text = "\n### \(cause.heading(Markdown.code))\n\n"
        for failure in bundle.failures.prefix(5) {
            if let place = place(of: failure, in: bundle) { text += place + "\n\n" }
            text +=
                Markdown.block(
                    FailureText.essence(of: failure.message)
                        .abridged(toBytes: min(Self.messageLimit, limit / 40))) + "\n"
        }
        if bundle.failures.count > 5 {
            text += "\(bundle.failures.count - 5) more failures of this test.\n\n"
        }
        if let seen = bundle.seenBefore { text += Markdown.code(seen) + "\n\n" }
        if let finding = cause.finding {
            let line = Markdown.code(finding.line)
            let address = finding.source.flatMap { source in
                source.isInPackage ? url(source.file, source.line, in: bundle) : nil
            }
            text += "\(finding.label): " + Markdown.link(line, to: address) + "\n\n"
            let more = finding.summary.dropFirst().joined(separator: "\n")
            if !more.isEmpty { text += Markdown.block(more) + "\n" }
        }
        let others = cause.failures.dropFirst()
        if !others.isEmpty {
            text += "The same cause:\n\n" + others.prefix(Self.otherLimit).map(Self.line).joined()
            let rest = others.count - Self.otherLimit
            if rest > 0 { text += "- and \(rest) more\n" }
            text += "\n"
        }
        for store in bundle.stores { text += "- Store \(Markdown.code(store))\n" }
        text += bundle.stores.isEmpty ? "" : "\n"
        return text
            + (bundle.usesNoStore ? "It used no store.\n" : Markdown.block(bundle.explainCommand))
    }

    private static func line(_ failure: ReportedFailure) -> String {
        "- " + failure.heading(Markdown.code) + message(of: failure.first)
    }

    private static func message(of bundle: ReportedBundle) -> String {
        let message = TextWidth.abridged(bundle.headline, to: 120)
        return (message.isEmpty ? "" : ": " + Markdown.code(message)) + "\n"
    }

    private func place(of failure: TestAttempt.Failure, in bundle: ReportedBundle) -> String? {
        guard let file = failure.file else { return nil }
        let path = bundle.packageRoot.relativePath(of: file)
        let text = Markdown.code(path + (failure.line.map { ":\($0)" } ?? ""))
        return Markdown.link(text, to: url(file, failure.line, in: bundle))
    }

    private func url(_ file: String, _ line: Int?, in bundle: ReportedBundle) -> String? {
        SourceLink.url(
            file: files?.path(of: file) ?? file, line: line, variables: bundle.variables)
    }

    /// Appends the text to the file of a step, as far as it fits.
    package func append(to path: String) throws(SystemError) {
        var fitting = self
        fitting.limit = Self.byteLimit - Int(clamping: try FileSystem.status(of: path)?.size ?? 0)
        let text = fitting.text
        if !text.isEmpty { try WholeFile.append(text, to: path) }
    }
}

extension BundleCause {
    /// Returns the first test and its outcome, and the number of other failures.
    func heading(_ code: (String) -> String) -> String {
        let others = failures.count - 1
        return failures[0].heading(code)
            + (others > 0
                ? ", and " + Counted.items(Int64(others), "other failure") + " with this cause" : "")
    }
}

extension ReportedFailure {
    /// The maximum number of arguments listed for a failure.
    private static let argumentLimit = 5

    /// Returns the test and its outcome, such as `Suite.test(count:) failed with 2 arguments: 1, 2`.
    func heading(_ code: (String) -> String) -> String {
        let arguments = arguments
        var text = code(arguments.isEmpty ? first.title : first.testTitle) + " \(first.outcome.label)"
        if !arguments.isEmpty {
            text += " with \(arguments.count) arguments: "
            text += arguments.prefix(Self.argumentLimit).map { code(TextWidth.shortened($0, to: 80)) }
                .joined(separator: ", ")
            let rest = arguments.count - Self.argumentLimit
            if rest > 0 { text += " and \(rest) more" }
        }
        return bundles.count > max(arguments.count, 1) ? text + ", \(bundles.count) times" : text
    }
}

/// The way from the run of a CI to its bundles on one's own machine.
package struct BundleDownload {
    private let variables: [String: String]
    private let directory: String

    /// Creates the way to a bundle and those beside it; nil for a run outside CI.
    package init?(of bundle: ReportedBundle) {
        guard !bundle.variables.isEmpty else { return nil }
        variables = bundle.variables
        directory = Path.directory(of: bundle.portablePath)
    }

    /// Returns a full sentence; once it was followed, the commands for the bundles work.
    package func sentence(_ code: (String) -> String = { SafeText.line($0) }) -> String {
        if let run = variables["GITHUB_RUN_ID"] {
            var command = "gh run download \(ShellWord.quoted(run))"
            var page = "the run's page"
            if let repository = variables["GITHUB_REPOSITORY"] {
                command += " --repo \(ShellWord.quoted(repository))"
                if let server = variables["GITHUB_SERVER_URL"] {
                    page += ", " + code("\(server)/\(repository)/actions/runs/\(run)")
                }
            }
            command += " --dir \(ShellWord.quoted(directory))"
            return "To get the bundles: \(code(command)), or unpack the artifact from \(page), "
                + "into the directory \(code(directory))."
        }
        if let job = variables["CI_JOB_URL"] {
            return "To get the bundles, download the job's artifacts and unpack them: "
                + code(job + "/artifacts/download")
        }
        return "To get the bundles, download the directory \(code(directory)) that the job uploaded."
    }
}

extension ReportedBundle {
    /// The path in the working directory; a directory that is elsewhere has its name alone on another machine.
    fileprivate var portablePath: String {
        guard path.hasPrefix("/"), !variables.isEmpty else { return path }
        return Path.join(Path.name(of: Path.directory(of: path)), Path.name(of: path))
    }

    /// True if the test failed without a store, so that there is nothing to explain.
    package var usesNoStore: Bool { stores.isEmpty && finding == nil && outcome == .failed }

    /// The command that explains the bundle; on a CI, it is for a machine to which the bundle was downloaded.
    package var explainCommand: String {
        let path = ToolCommand().shortened(portablePath)
        return "failure-artifacts explain " + ShellWord.quoted(path)
    }
}
