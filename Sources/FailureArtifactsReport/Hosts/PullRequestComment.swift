package import FailureArtifactsAnalysis

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A job's comment in a pull request on GitHub: one, which each run of the job replaces.
package struct PullRequestComment {
    /// A comment as GitHub's [API](https://docs.github.com/en/rest/issues/comments) describes it.
    package struct Posted: Decodable {
        fileprivate struct User: Decodable {
            var login: String
            var type: String
        }

        package let id: Int64
        fileprivate let body: String?
        fileprivate let user: User?

        /// Parses a page of a pull request's comments.
        package static func page(json: [UInt8]) throws -> [Posted] {
            try JSONDecoder().decode([Posted].self, from: Data(json))
        }
    }

    /// The maximum length of a comment: GitHub counts characters, and this code their bytes, of which there are more.
    private static let byteLimit = 65_536
    private static let causeLimit = 10

    private let job: String
    /// The last commit of the pull request.
    ///
    /// The run has tested another one, which merges it into the base branch.
    private let commit: String
    private let environment: [String: String]
    /// The address of the uploaded page about all failures; nil without one.
    package var page: String?
    /// The address of the uploaded bundles; nil without one.
    package var bundles: String?

    package init(job: String, commit: String, environment: [String: String]) {
        self.job = job
        self.commit = commit
        self.environment = environment
    }

    /// The start of the text, by which later runs find it; GitHub doesn't show it.
    private var marker: String { "<!-- failure-artifacts \(URLText.path(job)) " }

    private var run: Int { environment["GITHUB_RUN_NUMBER"].flatMap { Int($0) } ?? 0 }

    /// Returns the job's comment; nil if none of the comments is it.
    ///
    /// Anyone can write the marker, so the author must be the workflow, too.
    package func earlier(among comments: [Posted]) -> Posted? {
        comments.first { comment in
            comment.user?.login == "github-actions[bot]" && comment.user?.type == "Bot"
                && comment.body?.hasPrefix(marker) == true
        }
    }

    /// True if a later run, which can be the first to end, has written the job's comment.
    package func isOutdated(by earlier: Posted) -> Bool {
        let number = earlier.body?.dropFirst(marker.count).prefix { $0.isWholeNumber }
        return number.flatMap { Int($0) } ?? 0 > run
    }

    /// Returns the text about failures, with links to the source at the commit.
    package func text(of failures: [ReportedBundle], isPart: Bool, files: RepositoryFiles) -> String {
        let names = ["GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID"]
        // A bundle could name any host.
        var variables = environment.filter { names.contains($0.key) }
        variables["GITHUB_SHA"] = commit
        let failures = failures.map { bundle in
            var bundle = bundle
            bundle.variables = variables
            return bundle
        }
        let start = start
        var summary = SummaryMarkdown(causes: BundleCause.causes(of: failures))
        summary.isPart = isPart
        summary.files = files
        summary.limit = Self.byteLimit - start.utf8.count
        summary.causeLimit = Self.causeLimit
        let links = [("**The page about all failures**", page), ("The bundles", bundles)]
        summary.introduction = ([place] + links.map { $1 == nil ? "" : Markdown.link($0, to: $1) })
            .filter { !$0.isEmpty }.joined(separator: " · ")
        return start + summary.text
    }

    /// The text after the failures are gone.
    package var textWithoutFailures: String {
        start + "## No failed tests\n\nThe failures are gone: \(place)\n"
    }

    private var start: String { marker + "\(run) -->\n" }

    /// The job, its commit and its run.
    private var place: String {
        let home =
            environment["GITHUB_SERVER_URL", default: ""] + "/"
            + environment["GITHUB_REPOSITORY", default: ""]
        let attempt = environment["GITHUB_RUN_ATTEMPT"].map { "/attempts/\($0)" } ?? ""
        let run = environment["GITHUB_RUN_ID"].map { "\(home)/actions/runs/\($0)\(attempt)" }
        let commit = Markdown.link(
            Markdown.code(String(commit.prefix(7))), to: "\(home)/commit/\(commit)")
        return Markdown.link(Markdown.code(job), to: run) + " at " + commit
    }
}
