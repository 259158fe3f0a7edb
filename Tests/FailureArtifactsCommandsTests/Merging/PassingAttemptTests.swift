import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Foundation
import Testing

@testable import FailureArtifactsCommands

/// Bundles of passed tests, which are only compared with failures.
@Suite struct PassingAttemptTests {
    /// Writes a bundle of a store.
    ///
    /// `at` is the second of its capture.
    private func bundle(
        _ path: String, in fixture: borrowing Fixture, passed: Bool = false, runAttempt: Int? = nil,
        inProcess: Int = 1, at: Int, fingerprint: String = "a", test: String? = nil, kilos: Int
    ) throws {
        var metadata = Metadata.store("s")
            .replacing("\"attempt\": 1", with: "\"attempt\": \(inProcess)")
            .replacing(
                "\"fingerprint\": \"0\"", with: "\"fingerprint\": \"\(passed ? "p" : fingerprint)\""
            )
            .replacing("07:08:09", with: "07:08:\(10 + at)")
        if let runAttempt {
            metadata = metadata.replacing(
                "\"GITHUB_RUN_ID\"",
                with: "\"GITHUB_RUN_ATTEMPT\": \"\(runAttempt)\", \"GITHUB_RUN_ID\"")
        }
        var object = try #require(
            JSONSerialization.jsonObject(with: Data(metadata.utf8)) as? [String: Any])
        if passed {
            object["outcome"] = "passed"
            object["failures"] = [Any]()
        }
        if let test {
            var identity = object["test"] as? [String: Any] ?? [:]
            identity["name"] = test
            object["test"] = identity
        }
        let store = try fixture.store(
            "CREATE TABLE fruit(id INTEGER PRIMARY KEY, kilos); INSERT INTO fruit VALUES (1, \(kilos))")
        try fixture.zip(
            path,
            [
                ("metadata.json", Array(try JSONSerialization.data(withJSONObject: object))),
                ("stores/s.sqlite", store),
            ])
    }

    private func page(_ path: String) throws -> String {
        String(decoding: try FileSystem.contents(ofFile: path), as: UTF8.self)
    }

    /// Writes two attempts in one directory, which only their times distinguish.
    private func retried(_ fixture: borrowing Fixture) throws {
        try bundle("b/T.t-00000002.zip", in: fixture, at: 1, kilos: 3)
        try bundle("b/T.t-passed-00000001.zip", in: fixture, passed: true, at: 2, kilos: 4)
    }

    @Test func theReportHasItBesideTheFailure() throws {
        let fixture = try Fixture()
        try retried(fixture)
        #expect(run("report", fixture.path("b"), "-o", fixture.path("r.html")).status == 0)
        let page = try page(fixture.path("r.html"))
        for text in [
            "<title>1 failed test</title>",
            "</span> difference-from-pass</p>",
            "Also here: 1 bundle of tests that passed.",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(page.ranges(of: "class=\"failure\"").count == 1)
        #expect(!page.contains("bundles of this failure"))
    }

    @Test func itIsNoFailure() throws {
        let fixture = try Fixture()
        try retried(fixture)
        let all = run("list", fixture.path("b")).output.split(separator: "\n")
        // Two headings, and a line for each.
        #expect(all.count == 4)
        #expect(all[0] == "Passed since, in a later run")
        #expect(all[1].hasPrefix("failed"))
        let passed = all.filter { $0.hasPrefix("passed") && $0.hasSuffix("T.t-passed-00000001.zip") }
        #expect(passed.count == 1)
        #expect(run("summary", "-o", "-", fixture.path("b")).output.hasPrefix("## 1 failed test\n"))
        let junit = run("junit", fixture.path("b")).output
        #expect(junit.contains("tests=\"1\"") && junit.contains("failures=\"1\""))
        let bundle = fixture.path("b/T.t-passed-00000001.zip")
        #expect(run("show", bundle).output.split(separator: "\n").first?.hasSuffix(" passed") == true)
        #expect(run("verify", fixture.path("b")).status == 0)

        #expect(run("report", bundle, "-o", fixture.path("p.html")).status == 0)
        let page = try page(fixture.path("p.html"))
        #expect(page.contains("<title>0 failed tests</title>"))
        #expect(page.contains("Also here: 1 bundle of tests that passed."))
    }

    @Test(arguments: [true, false]) func theEndOfARunTellsThemApart(hasFailure: Bool) throws {
        let fixture = try Fixture()
        try retried(fixture)
        let files = hasFailure ? "b/*" : "b/*passed*"
        let outcome = try Program.tool(
            "run", "--report", "--", "sh", "-c", "mkdir out; cp \(files) out",
            environment: [
                "FAILURE_ARTIFACTS_DIR": "out", "GITHUB_ACTIONS": "true",
                "GITHUB_STEP_SUMMARY": fixture.path("step.md"),
            ], directory: fixture.directory)
        #expect(outcome.status == 0)
        #expect(outcome.error.contains("::error") == hasFailure)
        #expect((FileSystem.regularFile(fixture.path("step.md")) != nil) == hasFailure)
        #expect((FileSystem.regularFile(fixture.path("out/report.html")) != nil) == hasFailure)
        #expect(
            outcome.error.contains(
                hasFailure
                    ? "1 bundle in out, besides 1 of tests that passed"
                    : "1 bundle of tests that passed in out"))
        #expect(outcome.error.contains("explain out/0000000") == hasFailure)
    }

}
