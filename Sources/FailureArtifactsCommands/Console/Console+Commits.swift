internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

extension Console {
    /// The maximum number of lines whose commits are looked up.
    private static let maximumLines = 4

    /// Names the commits that last touched the lines of differences, if the working directory has them in Git.
    func addCommits(to explanation: inout Explanation) {
        guard let git = ChildProcess.executable(named: "git", environment: environment) else { return }
        var count = 0
        explanation.describeLines { source in
            count += 1
            return count > Self.maximumLines ? nil : lastCommit(of: source, git)
        }
    }

    /// Returns a sentence about the commit of a line; nil if Git doesn't know it.
    private func lastCommit(of source: StatementRecord.Source, _ git: String) -> String? {
        let file = Path.join(Path.currentDirectory, source.file)
        guard (try? FileSystem.status(of: file))??.kind == .regular else { return nil }
        var environment = environment
        // Git only reads here: no index is written, nothing is fetched, and the path is no pattern.
        for name in ["GIT_LITERAL_PATHSPECS", "GIT_NO_LAZY_FETCH"] { environment[name] = "1" }
        for name in ["GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"] { environment[name] = "0" }
        let line = "\(source.line),\(source.line)"
        let arguments = [
            "-c", "core.fsmonitor=false", "blame", "--no-textconv", "--porcelain", "-L", line, "--",
            source.file,
        ]
        guard
            let answer = ChildProcess.answer(of: git, arguments: arguments, environment: environment)
        else { return nil }
        let lines = String(decoding: answer, as: UTF8.self).split(separator: "\n")
        let commit = lines.first?.prefix { $0.isHexDigit } ?? ""
        guard commit.count >= 40 else { return nil }
        if commit.allSatisfy({ $0 == "0" }) { return "The line is not committed." }
        let summary = lines.first { $0.hasPrefix("summary ") }.map { ": \($0.dropFirst(8))" } ?? ""
        return "The last commit of the line is \(commit.prefix(10))\(summary)."
    }
}
