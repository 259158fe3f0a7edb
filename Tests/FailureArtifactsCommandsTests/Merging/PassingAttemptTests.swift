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
            "<title>1 failed test</title>", "<h3>2 attempts side by side</h3>",
            "<p>Failed on attempt 1, passed on attempt 2.</p>",
            "<th scope=\"col\">attempt 1</th><th scope=\"col\">attempt 2, passed</th>",
            "<th scope=\"row\">Outcome</th><td>failed</td><td>passed</td>",
            "<th scope=\"row\">Message</th><td>m</td><td><span class=\"dim\">–</span></td>",
            "Store s, attempt 1 → attempt 2, passed <span class=\"dim\">1 row updated in fruit</span>",
            "<b>kilos</b> <del>3</del> → <ins>4</ins>",
            "Also here: 1 bundle of tests that passed, beside the failures of the same tests.",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(page.ranges(of: "class=\"failure\"").count == 1)
        #expect(!page.contains("has left no bundle"))
        #expect(!page.contains("bundles of this failure"))
    }

    @Test func mergeHasItAsAnAttempt() throws {
        let fixture = try Fixture()
        try bundle("one/T.t-00000001.zip", in: fixture, runAttempt: 1, at: 1, kilos: 3)
        try bundle("two/T.t-00000001.zip", in: fixture, runAttempt: 2, at: 2, kilos: 3)
        try bundle(
            "three/T.t-passed-00000001.zip", in: fixture, passed: true, runAttempt: 3, at: 3, kilos: 4)
        try bundle(
            "three/T.u-passed-00000001.zip", in: fixture, passed: true, runAttempt: 3, at: 3,
            test: "testOther", kilos: 4)
        let output = fixture.path("merged")
        let result = run(["merge"] + ["one", "two", "three"].map { fixture.path($0) } + ["-o", output])
        #expect(result.output.contains("4 bundles, 4 added, 1 of them under another name"))
        let page = try page(output + "/report.html")
        for text in [
            "<title>2 failed tests with 1 cause</title>",
            "<p>Failed on attempt 1, failed on attempt 2, passed on attempt 3.</p>",
            "attempt 2 → attempt 3, passed",
            "<th scope=\"row\">From</th><td>one</td><td>two</td><td>three</td>",
            "2 bundles of tests that passed, beside the failures of the same tests; 1 of them, of tests "
                + "without a failure here, is not shown.",
        ] {
            #expect(page.contains(text), "\(text)")
        }
        #expect(!page.contains("testOther"))
        // Attempts that passed in several shards count as one.
        try bundle(
            "four/T.t-passed-00000001.zip", in: fixture, passed: true, runAttempt: 3, at: 4, kilos: 5)
        #expect(run("merge", fixture.path("four"), "-o", output).status == 0)
        #expect(try self.page(output + "/report.html").contains("<h3>3 attempts side by side</h3>"))
    }

    @Test func onePassesWhereAnotherFails() throws {
        let fixture = try Fixture()
        try bundle("linux/T.t-00000001.zip", in: fixture, at: 2, kilos: 3)
        try bundle("mac/T.t-passed-00000001.zip", in: fixture, passed: true, at: 1, kilos: 4)
        let output = fixture.path("merged")
        #expect(run("merge", fixture.path("linux"), fixture.path("mac"), "-o", output).status == 0)
        #expect(try page(output + "/report.html").contains("<p>Passed on mac, failed on linux.</p>"))
    }

    @Test func amongManyAttemptsItIsCompared() throws {
        let fixture = try Fixture()
        for number in 1...8 {
            try bundle(
                "b/T.t-0000000\(number).zip", in: fixture, inProcess: number, at: number, kilos: number)
        }
        try bundle(
            "b/T.t-passed-00000001.zip", in: fixture, passed: true, inProcess: 9, at: 9, kilos: 9)
        #expect(run("report", fixture.path("b"), "-o", fixture.path("r.html")).status == 0)
        let page = try page(fixture.path("r.html"))
        #expect(page.contains("<h3>9 attempts side by side</h3>"))
        #expect(page.contains("attempt 5 → attempt 9, passed"))
        #expect(page.contains("3 more attempts not compared"))
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
        #expect(
            run("list", "--outcome", "passed", fixture.path("b")).output.split(separator: "\n").count
                == 1)
        #expect(run("summary", "-o", "-", fixture.path("b")).output.hasPrefix("## 1 failed test\n"))
        let junit = run("junit", fixture.path("b")).output
        #expect(junit.contains("tests=\"1\"") && junit.contains("failures=\"1\""))
        let bundle = fixture.path("b/T.t-passed-00000001.zip")
        #expect(run("show", bundle).output.split(separator: "\n").first?.hasSuffix(" passed") == true)
        #expect(run("verify", fixture.path("b")).status == 0)

        let annotations = run(
            "summary", "-o", "-", "--annotations", bundle, environment: [:])
        #expect(!annotations.error.contains("::error"))
        #expect(run("report", bundle, "-o", fixture.path("p.html")).status == 0)
        let page = try page(fixture.path("p.html"))
        #expect(page.contains("<title>0 failed tests</title>"))
        #expect(
            page.contains(
                "1 bundle of tests that passed; 1 of them, of tests without a failure here, is not shown."
            ))
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
        #expect(
            outcome.error.contains(hasFailure ? "explain out/0000000" : "open out/T.t-passed-0000000"))
    }

    @Test func aRunThatPassesIsBesideItsEarlierAttempts() throws {
        let fixture = try Fixture()
        try bundle("b/T.t-00000001.zip", in: fixture, at: 1, kilos: 3)
        try bundle(
            "b/T.u-00000001.zip", in: fixture, at: 1, fingerprint: "b", test: "testOther", kilos: 3)
        try bundle("b/T.t-passed-00000001.zip", in: fixture, passed: true, at: 2, kilos: 4)
        func run(_ files: String) throws -> String {
            let outcome = try Program.tool(
                "run", "--report", "--", "sh", "-c", "mkdir -p out; cp \(files) out",
                environment: ["FAILURE_ARTIFACTS_DIR": "out"], directory: fixture.directory)
            #expect(outcome.status == 0)
            return try page(fixture.path("out/report.html"))
        }
        #expect(try run("b/T.t-0* b/T.u-*").contains("<title>2 failed tests</title>"))
        let now = try run("b/*passed*")
        // The first run's other test isn't in this run.
        #expect(now.contains("<title>1 failed test</title>"))
        #expect(now.contains("<p>Failed on attempt 1, passed on attempt 2.</p>"))
        #expect(!now.contains("testOther"))
    }
}
