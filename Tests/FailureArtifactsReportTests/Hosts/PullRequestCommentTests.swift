import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsReport

@Suite struct PullRequestCommentTests {
    private func comment(_ job: String = "test", run: Int = 5) -> PullRequestComment {
        PullRequestComment(
            job: job, commit: String(repeating: "a", count: 40),
            environment: [
                "GITHUB_SERVER_URL": "https://github.example", "GITHUB_REPOSITORY": "o/r",
                "GITHUB_RUN_NUMBER": String(run),
            ])
    }

    /// GitHub refuses a longer text.
    @Test(arguments: ["m", "\u{1F600}", "\u{1}", "`"])
    func longMessagesFit(_ character: String) throws {
        let message = String(repeating: character, count: 20_000)
        let bundles = try (0..<30).map { number in
            try Sample.bundle(
                "test\(number)", message, message, message, message, message, message,
                fingerprint: "\(number)", line: number)
        }
        let text = comment().text(of: bundles, isPart: false, files: RepositoryFiles(root: nil))
        #expect(text.utf8.count <= 65_536)
        #expect(text.contains("\n## 30 failed tests\n"))
        #expect(text.contains("\n### `Suite.test0` failed\n"))
        let told = text.split(separator: "\n").filter { $0.hasPrefix("### `") }.count
        #expect(text.hasSuffix("\nAnd \(30 - told) failures more.\n"))
    }

    @Test func tenCausesAreDescribed() throws {
        let bundles = try (0..<12).map { number in
            try Sample.bundle("test\(number)", "m", fingerprint: "\(number)", line: number)
        }
        let text = comment().text(of: bundles, isPart: true, files: RepositoryFiles(root: nil))
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("### `") }.count == 10)
        #expect(text.hasSuffix("\nAnd 2 failures more.\n"))
        #expect(text.contains("\nSome bundles could not be read: the tool said which.\n"))
    }

    /// A bundle can have any text where the address of its repository should be.
    @Test func linksHaveTheAddressesOfTheRun() throws {
        let bundle = try Sample.bundle(
            "t", "m", file: "Sources/A (1).swift",
            variables: [
                "GITHUB_SERVER_URL": "https://evil.example", "GITHUB_REPOSITORY": "a/b",
                "GITHUB_SHA": String(repeating: "0", count: 40),
            ])
        let text = comment().text(of: [bundle], isPart: false, files: RepositoryFiles(root: nil))
        #expect(!text.contains("evil"))
        let address =
            "https://github.example/o/r/blob/\(String(repeating: "a", count: 40))/Sources/A%20%281%29.swift#L3"
        #expect(text.contains("[`Sources/A (1).swift:3`](<\(address)>)"), "\(text)")
    }

    @Test(arguments: [
        ("<!-- failure-artifacts test 5 -->\n", "github-actions[bot]", "Bot", true),
        ("<!-- failure-artifacts test 6 -->\n", "github-actions[bot]", "Bot", true),
        ("<!-- failure-artifacts test-1 5 -->\n", "github-actions[bot]", "Bot", false),
        (" <!-- failure-artifacts test 5 -->\n", "github-actions[bot]", "Bot", false),
        ("<!-- failure-artifacts test 5 -->\n", "github-actions[bot]", "User", false),
        ("<!-- failure-artifacts test 5 -->\n", "renovate[bot]", "Bot", false),
    ])
    func theJobsComment(_ body: String, _ login: String, _ type: String, isFound: Bool) throws {
        let json = """
            [{"id": 1, "body": null, "user": null},
             {"id": 5000000001, "body": \(JSONText.string(body)), "user": {"login": "\(login)", "type": "\(type)"}}]
            """
        let earlier = try comment().earlier(
            among: PullRequestComment.Posted.page(json: Array(json.utf8)))
        #expect(earlier?.id == (isFound ? 5_000_000_001 : nil))
        if let earlier { #expect(comment().isOutdated(by: earlier) == body.contains("6")) }
    }

    @Test(arguments: [
        ("https://a.example/b?c#d", "[t](<https://a.example/b?c#d>)"), ("javascript:alert(1)", "t"),
        ("https://a.example/>b", "t"), ("https://a.example/\nb", "t"), ("https://a.example/é", "t"),
        ("", "t"),
    ])
    func links(_ address: String, _ markdown: String) {
        #expect(Markdown.link("t", to: address) == markdown)
    }
}
