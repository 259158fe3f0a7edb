internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

// The bundles of a run on GitHub, which GitHub's command-line tool `gh` downloads.

extension Console {
    /// The age after which downloads are removed, in nanoseconds: 30 days.
    private static let maximumAge: Int64 = 30 * 86_400_000_000_000

    /// Returns the directory for the bundles of a run, which may not exist yet; nil for a path.
    func downloadDirectory(of address: String) throws(CommandError) -> String? {
        guard GitHubRun.isAddress(address) else { return nil }
        guard let run = GitHubRun(address) else {
            throw CommandError(
                .usage,
                "'\(address)' is not the address of a run on GitHub. Give one such as "
                    + "https://github.com/OWNER/REPO/actions/runs/123, or a path.")
        }
        guard let caches = ProcessEnvironment.cacheDirectory(of: environment) else {
            throw CommandError(
                .inputOutput, "There is no directory for downloads. Set HOME to an absolute path.")
        }
        return Path.join(caches, "failure-artifacts/runs/" + run.directoryName)
    }

    /// Downloads the bundles of a run that are not there yet, and returns their directory; nil for a path.
    ///
    /// The run is asked for its artifacts each time, because other jobs and attempts may have added some.
    func downloaded(_ address: String) throws -> String? {
        guard let directory = try downloadDirectory(of: address), let run = GitHubRun(address) else {
            return nil
        }
        guard let program = ChildProcess.executable(named: "gh", environment: environment) else {
            throw CommandError(
                .noInput,
                "There is no gh in PATH, which downloads the artifacts of a run. Install it from "
                    + "https://cli.github.com, or download them from '\(address)' and give the path of the zip."
            )
        }
        let downloads = Path.directory(of: directory)
        try FileSystem.createDirectory(downloads)
        try removeOldDownloads(in: downloads)
        return try withScratchDirectory(in: downloads) { scratch in
            func gh(_ arguments: [String]) throws -> String {
                try answer(of: program, arguments, about: run, at: address, scratch: scratch)
            }
            let artifacts = run.artifacts(in: try gh(run.listArguments))
            var isEmpty = true
            for artifact in artifacts {
                let target = Path.join(directory, artifact.directoryName)
                if try FileSystem.status(of: target) == nil {
                    if artifact.isExpired { continue }
                    say("Downloading '\(SafeText.line(artifact.name))' of the run.")
                    let content = Path.join(scratch, artifact.directoryName)
                    _ = try gh(run.downloadArguments(for: artifact, into: content))
                    try FileSystem.createDirectory(directory)
                    do throws(SystemError) {
                        try FileSystem.rename(content, to: target)
                    } catch {
                        // Another process may have downloaded it meanwhile.
                        guard try FileSystem.status(of: target) != nil else { throw error }
                    }
                }
                isEmpty = false
            }
            guard isEmpty else { return directory }
            let names = "'\(GitHubRun.prefix)'" + (run.attempt.map { " and end in '-\($0)'" } ?? "")
            throw CommandError(
                .noInput,
                artifacts.isEmpty
                    ? "'\(address)' has no bundles: there are no artifacts whose names begin with \(names)."
                    : "The bundles of '\(address)' have expired. Run the job again.")
        }
    }

    /// Runs `gh` to its end, and returns its output.
    private func answer(
        of program: String, _ arguments: [String], about run: GitHubRun, at address: String,
        scratch: String
    ) throws -> String {
        var variables = environment
        // These tokens are for one host. gh would send them to any.
        if variables["GH_HOST"]?.lowercased() != run.host {
            for name in ["GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN"] { variables[name] = nil }
        }
        let paths = ["output", "errors"].map { Path.join(scratch, $0) }
        defer { for path in paths { try? FileSystem.remove(path) } }
        let output = try File(creating: paths[0])
        let errors = try File(creating: paths[1])
        let status = try ChildProcess.run(
            program, arguments: arguments, environment: variables, interruption: interruption,
            outputs: [1: output.descriptor, 2: errors.descriptor])
        func text(_ path: String) throws -> String {
            String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
        }
        if status == 0 { return try text(paths[0]) }
        let said = try text(paths[1]).prefix(1000).split { $0.isWhitespace }.joined(separator: " ")
        let isMissing = said.contains("HTTP 404")
        throw CommandError(
            isMissing ? .noInput : .inputOutput,
            "gh cannot download the artifacts of '\(address)': \(said.isEmpty ? "status \(status)" : said)"
                + (isMissing
                    ? " Check the address, and with 'gh auth status' that you may read it." : ""))
    }

    /// Removes the downloads to which nothing was added for long, and what killed processes have left.
    private func removeOldDownloads(in directory: String) throws {
        for name in try FileSystem.contents(ofDirectory: directory) {
            let path = Path.join(directory, name)
            if let status = try FileSystem.statusWithoutFollowing(path),
                status.modified < Timestamp.now.nanoseconds - Self.maximumAge
            {
                try? FileSystem.remove(path)
            }
        }
    }
}
