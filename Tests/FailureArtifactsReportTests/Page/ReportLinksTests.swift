import FailureArtifactsBundle
import FailureArtifactsReading
import FailureArtifactsSQLite
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import FailureArtifactsTestStores
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsReport

@Suite("Links to source lines and runs")
struct ReportLinksTests {
    static let github = [
        "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "owner/app",
        "GITHUB_SHA": "0123456789abcdef",
    ]
    static let base = "https://github.example/owner/app/blob/0123456789abcdef/"

    @Test(arguments: [
        ("/actions/app/app/Tests/A b#?.swift", "Tests/A%20b%23%3F.swift"),
        ("/__w/app/app/Tests/é.swift", "Tests/%C3%A9.swift"),
        ("/Users/me/app/Tests/A.swift", "Tests/A.swift"),
        ("Tests/<\"'>.swift", "Tests/%3C%22%27%3E.swift"),
    ])
    func `A line is linked at the commit`(file: String, path: String) {
        #expect(
            SourceLink.url(file: file, line: 7, variables: Self.github) == Self.base + path + "#L7")
    }

    @Test(arguments: ["/elsewhere/A.swift", "/app/../../etc/passwd", "", "a//b", "../A.swift"])
    func `A file that is not known to be in the repository is not linked`(file: String) {
        #expect(SourceLink.url(file: file, line: 7, variables: Self.github) == nil)
    }

    @Test(arguments: [
        ["GITHUB_SERVER_URL": "javascript:alert(1)//"], ["GITHUB_SHA": "\"><script>"],
        ["GITHUB_SHA": "abc"],
        ["GITHUB_REPOSITORY": "a/b?x=<"], ["GITHUB_SERVER_URL": "https://user@host"],
    ])
    func `A run that is not what it should be is not linked`(change: [String: String]) {
        let variables = Self.github.merging(change) { $1 }
        #expect(SourceLink.url(file: "Tests/A.swift", line: 7, variables: variables) == nil)
    }

    @Test func `Other hosts have other addresses`() {
        #expect(
            SourceLink.url(
                file: "/builds/group/app/Tests/A.swift", line: 7,
                variables: [
                    "CI_JOB_URL": "https://gitlab.example/group/app/-/jobs/12",
                    "CI_COMMIT_SHA": "0123456789",
                ]) == "https://gitlab.example/group/app/-/blob/0123456789/Tests/A.swift#L7")
        #expect(
            SourceLink.url(
                file: "Tests/A.swift", line: nil,
                variables: [
                    "BITBUCKET_GIT_HTTP_ORIGIN": "https://bitbucket.example/w/app",
                    "BITBUCKET_COMMIT": "0123456789",
                ]) == "https://bitbucket.example/w/app/src/0123456789/Tests/A.swift")
        #expect(
            SourceLink.url(
                file: "/opt/atlassian/pipelines/agent/build/Tests/A.swift", line: 7,
                variables: [
                    "BITBUCKET_GIT_HTTP_ORIGIN": "http://bitbucket.example/w/app",
                    "BITBUCKET_COMMIT": "0123456789",
                ]) == "http://bitbucket.example/w/app/src/0123456789/Tests/A.swift#lines-7")
        #expect(SourceLink.url(file: "Tests/A.swift", line: 1, variables: [:]) == nil)
    }

    @Test(arguments: [
        ("Tests/A.swift", "Tests/A.swift"), ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("/__w/app/app/Tests/A.swift", nil), ("../Tests/A.swift", nil), ("Tests/../A.swift", nil),
        ("//evil.example/A.swift", nil), ("", nil),
    ])
    func `A statement's line is linked below the package root only`(file: String, path: String?) {
        let source = StatementRecord.Source(file: file, function: nil, line: 7)
        #expect(
            SourceLink.url(of: source, variables: Self.github) == path.map { Self.base + $0 + "#L7" })
    }
}
