import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsAnalysis
@testable import FailureArtifactsReport

@Suite struct SummaryMarkdownTests {
    /// The bundles of one cause can be of several arguments, and of several attempts with the same one.
    @Test(arguments: [
        (["1", "2"], "`Suite.receive(sku:)` failed with 2 arguments: `1`, `2`"),
        (["1", "2", "1"], "`Suite.receive(sku:)` failed with 2 arguments: `1`, `2`, 3 times"),
        (["1", "1"], "`Suite.receive(sku:)(1)` failed, 2 times"),
        (["1"], "`Suite.receive(sku:)(1)` failed"),
        (
            ["1", "2", "3", "4", "5", "6"],
            "`Suite.receive(sku:)` failed with 6 arguments: `1`, `2`, `3`, `4`, `5` and 1 more"
        ),
    ]) func argumentsWithTheSameFailure(_ arguments: [String], heading: String) throws {
        let bundles = try arguments.map {
            try Sample.bundle("receive(sku:)", "m", arguments: [$0], fingerprint: "f")
        }
        let causes = BundleCause.causes(of: bundles)
        #expect(SummaryMarkdown(causes: causes).text.contains("\n### \(heading)\n\n"))
        let annotation = WorkflowCommand.annotations(for: causes, in: RepositoryFiles(root: nil))[0]
        let title = heading.replacing("`", with: "").replacing(":", with: "%3A")
            .replacing(",", with: "%2C")
        #expect(annotation.contains("title=\(title)::"), "\(annotation)")
    }

    /// Each message has the maximum length, in characters that take four bytes, or six times as many to show.
    @Test(arguments: ["m", "\u{1F600}", "\u{1}", "`"])
    func manyLongMessagesFit(_ character: String) throws {
        let bundles = try (0..<130).map { number in
            try Sample.bundle(
                "test\(number)", String(repeating: character, count: 20_000), fingerprint: "\(number)",
                line: number)
        }
        let summary = SummaryMarkdown(causes: BundleCause.causes(of: bundles)).text
        #expect(summary.utf8.count <= 1 << 20)
        #expect(summary.hasPrefix("## 130 failed tests\n"))
        #expect(summary.contains("### `Suite.test0` failed\n"))
        let told = summary.split(separator: "\n").filter { $0.hasPrefix("### `") }.count
        #expect(told >= 10)
        #expect(summary.hasSuffix("\nAnd \(130 - told) failures more.\n"))
    }

    @Test func anyLimitIsKept() throws {
        let bundles = try (0..<300).map {
            try Sample.bundle("test\($0)", "message", fingerprint: "\($0)", line: $0)
        }
        var summary = SummaryMarkdown(causes: BundleCause.causes(of: bundles))
        for limit in [0, 10, 30, 1000, 1100, 2000, 5000, 100_000] {
            summary.limit = limit
            #expect(summary.text.utf8.count <= limit)
            #expect(summary.text.isEmpty == (limit < 30))
        }
    }

    @Test func whatIsInTheFileAlreadyCounts() throws {
        let fixture = try Fixture()
        let bundles = try (0..<200).map { number in
            try Sample.bundle(
                "test\(number)", String(repeating: "m", count: 9000), fingerprint: "\(number)",
                line: number)
        }
        let summary = SummaryMarkdown(causes: BundleCause.causes(of: bundles))
        let before = [UInt8](repeating: UInt8(ascii: "x"), count: (1 << 20) - 40_000)
        try fixture.write(before, to: "step.md")
        try summary.append(to: fixture.path("step.md"))
        let after = try FileSystem.contents(ofFile: fixture.path("step.md"))
        #expect(Array(after.prefix(before.count)) == before)
        #expect((before.count + 20_000...1 << 20).contains(after.count))
        try summary.append(to: fixture.path("step.md"))
        #expect(try FileSystem.contents(ofFile: fixture.path("step.md")).count <= 1 << 20)
        try summary.append(to: fixture.path("new.md"))
        #expect(
            try FileSystem.contents(ofFile: fixture.path("new.md")).starts(with: Array("## 200".utf8)))
    }

    @Test func oneCauseIsToldOnce() throws {
        let bundles = try (0..<40).map { try Sample.bundle("t", "m", at: $0, fingerprint: "same") }
        let text = SummaryMarkdown(causes: BundleCause.causes(of: bundles)).text
        #expect(text.hasPrefix("## 40 failed tests with 1 cause\n"))
        #expect(text.contains("### `Suite.t` failed, 40 times\n"))
    }

    private func bundle(
        _ name: String, _ confidence: Finding.Confidence?, line: Int = 42,
        outcome: BundleMetadata.Outcome = .failed, variables: [String: String] = [:]
    ) throws -> ReportedBundle {
        var bundle = try Sample.bundle(
            name, "m", outcome: outcome, fingerprint: name, line: name.utf8.count, variables: variables,
            path: "failure-artifacts/\(name)-0000000\(name.utf8.count).zip")
        guard let confidence else { return bundle }
        var finding = Finding(
            code: .orphan, title: "\(name)'s title", confidence: confidence, explanation: "")
        finding.statement = StatementRecord(
            at: "2026-11-21T07:08:09.000Z", changes: 1, connection: 1, order: 1, phase: .test,
            sql: "DELETE FROM a",
            thread: "1")
        finding.statement?.source = .init(file: "Sources/A.swift", function: nil, line: line)
        bundle.finding = finding
        return bundle
    }

    /// Crashes come first, and then the best findings.
    ///
    /// A weak one is no reason to be of one cause.
    @Test func equalCausesAreOneEntry() throws {
        let bundles = [
            try bundle("none", nil), try bundle("weak1", .possible), try bundle("likely", .likely),
            try bundle("certain", .certain), try bundle("crashed1", nil, outcome: .crashed),
            try bundle("elsewhere", .likely, line: 43), try bundle("another123", .likely),
        ]
        let causes = BundleCause.causes(of: bundles)
        #expect(
            causes.map { $0.bundles.map(\.test.name) } == [
                ["crashed1"], ["certain", "likely", "another123"], ["elsewhere"], ["weak1"], ["none"],
            ])
        let text = SummaryMarkdown(causes: causes).text
        #expect(text.hasPrefix("## 7 failed tests with 5 causes\n\n### `Suite.crashed1` crashed\n"))
        #expect(
            text.contains(
                """
                ### `Suite.certain` failed, and 2 other failures with this cause

                `/p/A.swift:7`

                ```text
                m
                ```

                Cause (certain): `certain's title, Sources/A.swift:42`

                The same cause:

                - `Suite.likely` failed: `m`
                - `Suite.another123` failed: `m`

                ```text
                failure-artifacts explain failure-artifacts/00000007
                ```

                """), "\(text)")
        #expect(text.contains("\nWeak hint (possible): `weak1's title, Sources/A.swift:42`\n"))
    }

    /// The commands work after the bundles were downloaded as the sentence says.
    @Test(arguments: [
        (
            [
                "GITHUB_RUN_ID": "7", "GITHUB_REPOSITORY": "owner/app",
                "GITHUB_SERVER_URL": "https://github.example",
            ],
            "To get the bundles: `gh run download 7 --repo owner/app --dir failure-artifacts`, or unpack the artifact "
                + "from the run's page, `https://github.example/owner/app/actions/runs/7`, into the directory "
                + "`failure-artifacts`."
        ),
        (
            ["CI_JOB_URL": "https://gitlab.example/o/a/-/jobs/7", "CI_JOB_ID": "7"],
            "To get the bundles, download the job's artifacts and unpack them: "
                + "`https://gitlab.example/o/a/-/jobs/7/artifacts/download`"
        ),
        (
            ["BUILD_TAG": "b"],
            "To get the bundles, download the directory `failure-artifacts` that the job uploaded."
        ),
        ([:], nil),
    ]) func theWayToTheBundles(variables: [String: String], sentence: String?) throws {
        var bundle = try bundle("a", nil, variables: variables)
        #expect(BundleDownload(of: bundle)?.sentence(Markdown.code) == sentence)
        let text = SummaryMarkdown(causes: BundleCause.causes(of: [bundle])).text
        #expect(text.contains("To get the bundles") == (sentence != nil))
        if let sentence { #expect(text.hasPrefix("## 1 failed test\n\n\(sentence)\n")) }
        #expect(bundle.explainCommand == "failure-artifacts explain failure-artifacts/00000001")
        // A directory outside of the working directory has its name alone on another machine.
        bundle = try Sample.bundle("a", "m", variables: variables, path: "/x/y z/a-00000001.zip")
        let place = sentence == nil ? "/x/y z" : "y z"
        #expect(bundle.explainCommand == "failure-artifacts explain '\(place)/00000001'")
    }

    @Test(arguments: [
        ("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("``` a", "```` ``` a ````"), ("", ""),
        ("`\u{301}a", "`` `\u{301}a ``"), ("a\u{600}`", "`` a\u{600}` ``"),
        ("a\n# b", "`a # b`"), ("<b>\u{1B}", "`<b>\\u{1b}`"),
    ])
    func codeInALine(_ text: String, _ markdown: String) {
        #expect(Markdown.code(text) == markdown)
    }

    @Test func blocks() {
        #expect(Markdown.block("a\n```\n# b") == "````text\na\n```\n# b\n````\n")
        #expect(Markdown.block("a") == "```text\na\n```\n")
    }
}
