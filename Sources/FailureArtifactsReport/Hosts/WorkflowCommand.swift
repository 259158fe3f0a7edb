package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// GitHub's [workflow commands](https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands):
/// lines of a step's output that its runner obeys.
package enum WorkflowCommand {
    /// Annotations that GitHub shows of a step.
    private static let annotationLimit = 10
    /// Characters of a message; GitHub cuts at 4,096.
    private static let messageLimit = 4000

    /// The lines that mark failures in the source: one for each cause, and ten at most.
    ///
    /// - Parameters:
    ///   - causes: In the order they are told in.
    ///   - workspace: Where the repository is checked out; files in it are named from there.
    /// - Returns: A failure without a place, as of an error that was thrown out of a test, has no file and line.
    package static func annotations(for causes: [BundleCause], workspace: String?) -> [String] {
        let shown = causes.count > annotationLimit ? annotationLimit - 1 : causes.count
        var lines = causes.prefix(shown).map { cause in
            let bundle = cause.first
            let failure = bundle.failures.first
            var properties: [(String, String)] = []
            if let file = failure?.file, let line = failure?.line, line > 0, file != "<EXPR>" {
                properties = [("file", relative(file, to: workspace)), ("line", String(line))]
            }
            let count = cause.bundles.count
            let title = "\(bundle.title) \(bundle.outcome.label)" + (count > 1 ? ", \(count) times" : "")
            properties.append(("title", SafeText.line(title)))
            let message = bundle.message.isEmpty ? "The test \(bundle.outcome.label)." : bundle.message
            return error(SafeText.lines(message).joined(separator: "\n"), properties)
        }
        if causes.count > shown {
            let rest = Counted.items(Int64(causes.count - shown), "more failure")
            lines.append(error("\(rest): see the summary of the run.", []))
        }
        return lines
    }

    /// An `::error` line.
    static func error(_ message: String, _ properties: [(String, String)]) -> String {
        let cut =
            message.unicodeScalars.count > messageLimit
            ? String(String.UnicodeScalarView(message.unicodeScalars.prefix(messageLimit))) + "…"
            : message
        let list = properties.map { "\($0)=\(escaped($1, isProperty: true))" }.joined(separator: ",")
        return "::error" + (list.isEmpty ? "" : " " + list) + "::" + escaped(cut, isProperty: false)
    }

    /// Two lines around text from outside: between them the runner obeys nothing but the second.
    ///
    /// - Parameters:
    ///   - random: Half of what nobody may guess.
    ///   - more: The other half.
    /// - Returns: The two lines.
    package static func brackets(
        random: UInt64 = .random(in: 0 ... .max), _ more: UInt64 = .random(in: 0 ... .max)
    ) -> (start: String, end: String) {
        let token = [random, more].map { number in
            let digits = String(number, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
        return ("::stop-commands::\(token)", "::\(token)::")
    }

    private static func relative(_ file: String, to workspace: String?) -> String {
        guard let workspace, !workspace.isEmpty else { return file }
        let start = workspace.hasSuffix("/") ? workspace : workspace + "/"
        return file.hasPrefix(start) ? String(file.dropFirst(start.count)) : file
    }

    /// As `@actions/core` escapes: line ends would begin another command.
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

/// What a CI's log does with lines that are for it, and how text from outside is kept from being taken for such.
package enum HostLog {
    /// Whether GitHub's runner reads what is printed.
    package static func isGitHub(_ environment: [String: String]) -> Bool {
        environment["GITHUB_ACTIONS"] == "true"
    }

    /// Lines that may hold anything, as they can be printed.
    ///
    /// - Parameters:
    ///   - lines: Without line ends.
    ///   - environment: It tells which CI reads them.
    /// - Returns: On GitHub between two lines that have its runner obey nothing in between. On Azure, which has
    ///   nothing like it, what would start a command is pulled apart.
    package static func quoted(_ lines: [String], _ environment: [String: String]) -> [String] {
        guard !lines.isEmpty else { return [] }
        if isGitHub(environment) {
            let brackets = WorkflowCommand.brackets()
            return [brackets.start] + lines + [brackets.end]
        }
        if !environment["TF_BUILD", default: ""].isEmpty {
            // https://learn.microsoft.com/azure/devops/pipelines/scripts/logging-commands
            return lines.map { $0.replacing("##", with: "# #") }
        }
        return lines
    }
}
