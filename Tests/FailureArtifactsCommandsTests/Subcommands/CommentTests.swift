import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@Suite("comment") struct CommentTests {
    private static let options = ["--job", "test", "--commit", "abc", "-o"]

    @Test func aCommentToCreate() throws {
        let fixture = try Fixture()
        let bundle = try fixture.plain("a.zip")
        let file = fixture.path("body.json")
        let outcome = run(["comment", bundle] + Self.options + [file])
        #expect(outcome == Outcome(status: 0, output: "new\n", error: ""))
        let json = String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
        #expect(
            json.hasPrefix("{\"body\":\"<!-- failure-artifacts test 0 -->\\n## 1 failed test\\n"),
            "\(json)")
    }

    /// A comment about the bundles that can be read is made, and the status is an error's.
    @Test func anUnreadableBundle() throws {
        let fixture = try Fixture()
        try fixture.plain("there/a.zip")
        try fixture.write([1, 2, 3], to: "there/b-00000001.zip")
        let file = fixture.path("body.json")
        let outcome = run(["comment", fixture.path("there")] + Self.options + [file])
        #expect(outcome.status == 65)
        #expect(outcome.output == "new\n")
        #expect(
            String(decoding: try FileSystem.contents(ofFile: file), as: UTF8.self)
                .contains("Some bundles could not be read"))
    }

    @Test func nothingIsWrittenWithoutNeed() throws {
        let fixture = try Fixture()
        let file = fixture.path("body.json")
        let passed = Metadata.plain(test: "t", message: "m").replacing(
            "\"outcome\": \"failed\"", with: "\"outcome\": \"passed\"")
        try fixture.zip("passed.zip", [("metadata.json", Array(passed.utf8))])
        for words in [["--passed", fixture.path("missing")], [fixture.path("passed.zip")]] {
            let outcome = run(["comment"] + words + Self.options + [file])
            #expect(outcome == Outcome(status: 0, output: "", error: ""))
            #expect(try FileSystem.status(of: file) == nil)
        }
    }

    @Test(arguments: ["", "{}", "[{}]", "[{\"id\": \"1\"}]"]) func commentsOfAnotherForm(_ text: String)
        throws
    {
        let fixture = try Fixture()
        let page = try fixture.write(Array(text.utf8), to: "page.json")
        let outcome = run(
            ["comment", "--passed", "--comments", page] + Self.options + [fixture.path("body.json")])
        #expect(
            outcome
                == Outcome(
                    status: 65, output: "",
                    error:
                        "error: '\(page)' is not a page of comments. Give an answer of GitHub's API.\n"))
    }

    @Test func missingOptions() {
        for words in [["--job", "test"], ["--commit", "abc", "-o", "a"]] {
            let outcome = run(["comment"] + words)
            #expect(outcome.status == 64)
            #expect(outcome.error.contains("'comment' needs a job, a commit and a file"))
        }
    }
}
