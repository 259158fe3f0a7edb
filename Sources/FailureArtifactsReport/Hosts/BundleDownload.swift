package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

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

    /// Returns a full sentence.
    ///
    /// Once it was followed, the commands for the bundles work.
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
    /// The path in the working directory.
    ///
    /// A directory that is elsewhere has its name alone on another machine.
    fileprivate var portablePath: String {
        guard path.hasPrefix("/"), !variables.isEmpty else { return path }
        return Path.join(Path.name(of: Path.directory(of: path)), Path.name(of: path))
    }

    /// The command that explains the bundle.
    ///
    /// On a CI, it is for a machine to which the bundle was downloaded.
    package var explainCommand: String {
        let path = ToolCommand().shortened(portablePath)
        return "failure-artifacts explain " + ShellWord.quoted(path)
    }
}
