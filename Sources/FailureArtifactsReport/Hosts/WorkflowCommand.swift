package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// GitHub's [workflow commands](https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands):
/// lines of a step's output that its runner executes.
package enum WorkflowCommand {
    /// The maximum number of annotations that GitHub shows for a step.
    private static let annotationLimit = 10
    /// The maximum size of a message, in bytes; GitHub cuts at 4,096 characters.
    private static let messageLimit = 4000

    /// True if GitHub's runner reads the output.
    package static func isGitHub(_ environment: [String: String]) -> Bool {
        environment["GITHUB_ACTIONS"] == "true"
    }

    /// Returns the lines that mark failures in the source: one for each cause, and at most ten.
    ///
    /// A failure without a place has no file and line, such as an error that a test threw.
    package static func annotations(for causes: [BundleCause], in files: RepositoryFiles) -> [String] {
        let shown = causes.count > annotationLimit ? annotationLimit - 1 : causes.count
        var lines = causes.prefix(shown).map { cause in
            let bundle = cause.first
            let failure = bundle.failures.first
            var properties: [(String, String)] = []
            if let file = failure?.file, let line = failure?.line, line > 0, file != "<EXPR>" {
                let path = files.path(of: file) ?? bundle.packageRoot.relativePath(of: file)
                properties = [("file", path), ("line", String(line))]
            }
            properties.append(("title", SafeText.line(cause.heading { $0 })))
            let message = bundle.message.isEmpty ? "The test \(bundle.outcome.label)." : bundle.message
            var text = SafeText.lines(message)
            if let finding = cause.finding { text += finding.summary }
            return error(text.joined(separator: "\n"), properties)
        }
        lines += causes.prefix(shown).compactMap { culprit(of: $0, in: files) }
        if causes.count > shown {
            let rest = Counted.items(Int64(causes.count - shown), "more failure")
            lines.append(error("\(rest): see the summary of the run.", []))
        }
        return lines
    }

    /// Returns the line that marks the culprit in the source; nil if its line is unknown.
    ///
    /// Weak evidence is a notice.
    private static func culprit(of cause: BundleCause, in files: RepositoryFiles) -> String? {
        guard let finding = cause.finding, let source = finding.source, source.isInPackage,
            source.line > 0
        else { return nil }
        return command(
            finding.confidence == .possible ? "notice" : "warning",
            finding.summary.joined(separator: "\n"),
            [
                ("file", files.path(of: source.file) ?? source.file), ("line", String(source.line)),
                ("title", SafeText.line(cause.heading { $0 })),
            ])
    }

    static func error(_ message: String, _ properties: [(String, String)]) -> String {
        command("error", message, properties)
    }

    private static func command(
        _ name: String, _ message: String, _ properties: [(String, String)]
    ) -> String {
        let cut = message.abridged(toBytes: messageLimit)
        let list = properties.map { "\($0)=\(escaped($1, isProperty: true))" }.joined(separator: ",")
        return "::\(name)" + (list.isEmpty ? "" : " " + list) + "::" + escaped(cut, isProperty: false)
    }

    /// Returns two lines to put around untrusted text; between them, the runner executes no command but the second
    /// line.
    package static func brackets(
        random: UInt64 = .random(in: 0 ... .max), _ more: UInt64 = .random(in: 0 ... .max)
    ) -> (start: String, end: String) {
        let token = [random, more].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        return ("::stop-commands::\(token)", "::\(token)::")
    }

    /// Escapes text as `@actions/core` does: line ends would begin another command.
    private static func escaped(_ text: String, isProperty: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "%": result += "%25"
            case "\r": result += "%0D"
            case "\n": result += "%0A"
            case ":" where isProperty: result += "%3A"
            case "," where isProperty: result += "%2C"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
