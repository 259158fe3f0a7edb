internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// The answers of Git about the sources in the working directory.
private struct Git: Sendable {
    private let git: String
    private let environment: [String: String]

    /// Returns nil without Git.
    init?(environment: [String: String]) {
        guard let git = ChildProcess.executable(named: "git", environment: environment) else {
            return nil
        }
        self.git = git
        // Git only reads here: no index is written, nothing is fetched, and the path is no pattern.
        var environment = environment
        for name in ["GIT_LITERAL_PATHSPECS", "GIT_NO_LAZY_FETCH"] { environment[name] = "1" }
        for name in ["GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"] { environment[name] = "0" }
        self.environment = environment
    }

    /// Returns a sentence about the commit of a line; nil if Git doesn't know it.
    func sentence(about source: StatementRecord.Source) -> String? {
        let file = Path.join(Path.currentDirectory, source.file)
        guard (try? FileSystem.status(of: file))??.kind == .regular else { return nil }
        let line = "\(source.line),\(source.line)"
        let arguments = ["blame", "--no-textconv", "--porcelain", "-L", line, "--", source.file]
        guard let lines = answer(["-c", "core.fsmonitor=false"] + arguments) else { return nil }
        let commit = lines.first?.prefix { $0.isHexDigit } ?? ""
        guard commit.count >= 40 else { return nil }
        if commit.allSatisfy({ $0 == "0" }) { return "The line is not committed." }
        // A shallow clone, such as a CI's, blames its oldest commit for all that is older.
        if lines.contains("boundary"),
            answer(["rev-parse", "--is-shallow-repository"])?.first != "false"
        {
            return nil
        }
        let summary = lines.first { $0.hasPrefix("summary ") }.map { ": \($0.dropFirst(8))" } ?? ""
        return "The last commit of the line is \(commit.prefix(10))\(summary)."
    }

    /// Returns the only line of Swift that has a text; nil without one, or with several.
    func line(with text: String) -> StatementRecord.Source? {
        let arguments = ["grep", "--no-textconv", "-n", "-z", "-I", "-F", "-e", text]
        let lines = answer(["-c", "core.fsmonitor=false"] + arguments) ?? []
        let found = lines.compactMap { line -> StatementRecord.Source? in
            let fields = line.split(separator: "\0", maxSplits: 2)
            guard fields.count == 3, fields[0].hasSuffix(".swift"), let number = Int(fields[1]) else {
                return nil
            }
            return StatementRecord.Source(file: String(fields[0]), function: nil, line: number)
        }
        return found.count == 1 ? found[0] : nil
    }

    private func answer(_ arguments: [String]) -> [Substring]? {
        ChildProcess.answer(of: git, arguments: arguments, environment: environment)
            .map { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
    }
}

extension Console {
    /// The checkout in the working directory; nil without Git.
    var checkout: Checkout? {
        guard let git = Git(environment: environment) else { return nil }
        return Checkout(commit: { git.sentence(about: $0) }, line: { git.line(with: $0) })
    }
}
