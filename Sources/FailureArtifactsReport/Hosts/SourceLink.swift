package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Links to a line of a source file on the CI's code host, at the commit that was tested.
enum SourceLink {
    /// Returns the address of a failure's line; nil if the host, the commit or the path in the repository is not known.
    static func url(file: String, line: Int?, variables: [String: String]) -> String? {
        guard let place = place(variables), let path = relative(file, in: place) else {
            return nil
        }
        let encoded = URLText.path(path)
        guard let line else { return place.base + encoded }
        return place.base + encoded + place.anchor + String(line)
    }

    /// Returns the address of the line that ran a statement; nil if it is not known.
    static func url(of source: StatementRecord.Source, variables: [String: String]) -> String? {
        guard source.isInPackage else { return nil }
        return url(file: source.file, line: source.line, variables: variables)
    }

    private struct Place {
        let base: String
        let anchor: String
        /// The directory of the checkout, if it is the same in every run; nil if it has the repository's own name.
        let directory: String?
        let name: String
    }

    private static func place(_ variables: [String: String]) -> Place? {
        if let server = variables["GITHUB_SERVER_URL"], let name = variables["GITHUB_REPOSITORY"],
            let commit = variables["GITHUB_SHA"]
        {
            return place(server + "/" + name, "/blob/", commit, anchor: "#L")
        }
        if let commit = variables["CI_COMMIT_SHA"],
            let project = variables["CI_PROJECT_URL"]
                ?? variables["CI_JOB_URL"].flatMap({ before("/-/jobs/", in: $0) })
        {
            return place(project, "/-/blob/", commit, anchor: "#L")
        }
        if let origin = variables["BITBUCKET_GIT_HTTP_ORIGIN"],
            let commit = variables["BITBUCKET_COMMIT"]
        {
            // `BITBUCKET_CLONE_DIR`, which can't be changed.
            return place(
                origin, "/src/", commit, anchor: "#lines-",
                directory: "/opt/atlassian/pipelines/agent/build/")
        }
        return nil
    }

    private static func before(_ marker: String, in text: String) -> String? {
        text.firstRange(of: marker).map { String(text[..<$0.lowerBound]) }
    }

    private static func place(
        _ repository: String, _ kind: String, _ commit: String, anchor: String,
        directory: String? = nil
    ) -> Place? {
        guard repository.hasPrefix("https://") || repository.hasPrefix("http://"),
            repository.utf8.allSatisfy(isOfURL), (7...64).contains(commit.utf8.count),
            commit.allSatisfy({ $0.isASCII && $0.isHexDigit }),
            let name = repository.split(separator: "/").last
        else { return nil }
        return Place(
            base: repository + kind + commit + "/", anchor: anchor, directory: directory,
            name: String(name))
    }

    /// Returns the path below the checkout; nil if it is not known.
    private static func relative(_ file: String, in place: Place) -> String? {
        var path = file[...]
        if file.hasPrefix("/") {
            guard let below = below(place, file) else { return nil }
            path = below
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else { return nil }
        return String(path)
    }

    private static func below(_ place: Place, _ file: String) -> Substring? {
        if let directory = place.directory {
            return file.hasPrefix(directory) ? file.dropFirst(directory.count) : nil
        }
        // GitHub's runners check `name` out into `…/name/name`.
        let name = place.name
        let folder = file.firstRange(of: "/\(name)/\(name)/") ?? file.firstRange(of: "/\(name)/")
        return folder.map { file[$0.upperBound...] }
    }

    /// True for letters, digits, and the other characters of a repository's address.
    private static func isOfURL(_ byte: UInt8) -> Bool {
        URLText.isUnreserved(byte) || "/:%".utf8.contains(byte)
    }
}

/// The source files of a checkout, for the paths that a code host expects.
///
/// Tests name files by absolute paths, statements by paths relative to their package, and fatal errors by the module
/// and the file's name (`#fileID`). A package may be in a subdirectory of its repository.
package struct RepositoryFiles {
    /// The checkout's directory, with a slash at its end; nil if it is unknown.
    private let root: String?
    /// The directories that may have a package.
    private let packages: [String]

    package init(root: String?, package: String? = nil) {
        let root = root.flatMap { $0.isEmpty ? nil : $0.hasSuffix("/") ? $0 : $0 + "/" }
        self.root = root
        var packages = [package, root].compactMap(\.self)
        // The directories between both, such as for a command that runs in a directory of the package.
        if let package, let root, package.hasPrefix(root) {
            var directory = Path.directory(of: package)
            while directory.utf8.count >= root.utf8.count {
                packages.append(directory)
                directory = Path.directory(of: directory)
            }
        }
        self.packages = packages
    }

    /// Returns the path of a file in the repository; nil if an absolute path is outside of it, or if no package has the
    /// file.
    package func path(of file: String) -> String? {
        guard let root, file != "<EXPR>" else { return nil }
        if file.hasPrefix("/") { return below(root, file) }
        for package in packages {
            let place = Path.join(package, file)
            if exists(place) { return below(root, place) }
        }
        let parts = file.split(separator: "/")
        guard parts.count == 2, parts[1].hasSuffix(".swift") else { return nil }
        for package in packages {
            for folder in ["Sources", "Tests"] {
                let target = Path.join(package, folder + "/" + parts[0])
                let found = Self.files(named: String(parts[1]), below: target)
                // A file's name is unique in its module.
                if found.count == 1 { return below(root, found[0]) }
            }
        }
        return nil
    }

    private func below(_ root: String, _ path: String) -> String? {
        guard path.hasPrefix(root) else { return nil }
        let path = String(path.dropFirst(root.count))
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        return parts.contains { $0.isEmpty || $0 == "." || $0 == ".." } ? nil : path
    }

    private func exists(_ path: String) -> Bool { FileSystem.regularFile(path) != nil }

    /// The maximum number of files and directories of a target to look at.
    private static let searchLimit = 5000

    private static func files(named name: String, below directory: String) -> [String] {
        var found: [String] = []
        var directories = [directory]
        var count = 0
        while let directory = directories.popLast(), count < searchLimit {
            for entry in (try? FileSystem.contents(ofDirectory: directory)) ?? [] {
                count += 1
                let path = directory + "/" + entry
                guard let status = try? FileSystem.statusWithoutFollowing(path) else { continue }
                if status.kind == .directory {
                    directories.append(path)
                } else if entry == name {
                    found.append(path)
                }
            }
        }
        return found
    }
}

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
            if let finding = cause.finding { text.append("\(finding.label): \(finding.line)") }
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
            finding.confidence == .possible ? "notice" : "warning", "\(finding.label): \(finding.line)",
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
