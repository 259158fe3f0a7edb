internal import FailureArtifactsAnalysis
internal import FailureArtifactsReport
internal import FailureArtifactsSystem

struct CommentCommand: Command {
    static let syntax = Syntax(
        command: "comment", summary: "Write the comment of GitHub's action in a pull request",
        positionals: [.paths],
        options: [
            Syntax.Option(
                "--job", value: "NAME", isRequired: true,
                help: "The job, which has one comment in a pull request."),
            Syntax.Option(
                "--commit", value: "SHA", isRequired: true,
                help: "The commit to which links to the source lead."),
            .output(
                "The file for the comment, a JSON object with the key body, as GitHub's API expects it.",
                isRequired: true),
            Syntax.Option(
                "--comments", value: "FILE",
                help:
                    "A page of the pull request's comments, in the JSON of GitHub's API. Repeat it for each page."
            ),
            Syntax.Option("--page", value: "URL", help: "The address of the uploaded report."),
            Syntax.Option("--bundles", value: "URL", help: "The address of the uploaded bundles."),
            Syntax.Option(
                "--passed",
                help: "Say that the failures are gone, if there is a comment. No bundle is read."),
        ],
        discussion: """
            Prints the ID of the comment to replace, or 'new' for one to create. Prints nothing and writes no file if \
            there is nothing to say, or if a later run of the job has written its comment.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        guard let job = arguments.value(of: "--job"), let commit = arguments.value(of: "--commit"),
            let output = arguments.value(of: "--output")
        else {
            throw Self.syntax.usageError(
                "'comment' needs a job, a commit and a file: --job NAME --commit SHA -o FILE.")
        }
        var comment = PullRequestComment(job: job, commit: commit, environment: console.environment)
        comment.page = arguments.value(of: "--page")
        comment.bundles = arguments.value(of: "--bundles")
        let earlier = try comment.earlier(
            among: arguments.values(of: "--comments").flatMap(Self.comments))
        if let earlier, comment.isOutdated(by: earlier) { return .done }
        var code = ExitCode.done
        let text: String
        if arguments.has("--passed") {
            guard earlier != nil else { return .done }
            text = comment.textWithoutFailures
        } else {
            let (bundles, result) = try console.resultBundles(at: arguments.positionals)
            guard !bundles.isEmpty else { return result }
            code = result
            text = comment.text(of: bundles, isPart: code != .done, files: console.repositoryFiles)
        }
        try WholeFile.write(JSONText.line(["body": text]), to: output)
        try console.output.writeLine(earlier.map { String($0.id) } ?? "new")
        return code
    }

    private static func comments(at path: String) throws -> [PullRequestComment.Posted] {
        do {
            return try PullRequestComment.Posted.page(json: FileSystem.contents(ofFile: path))
        } catch is DecodingError {
            throw CommandError(
                .badData, "'\(path)' is not a page of comments. Give an answer of GitHub's API.")
        }
    }
}

extension Console {
    /// The files of GitHub's checkout, for a command that runs in a package of it.
    var repositoryFiles: RepositoryFiles {
        RepositoryFiles(root: environment["GITHUB_WORKSPACE"], package: Path.currentDirectory)
    }
}
