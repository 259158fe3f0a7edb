import FailureArtifactsAnalysis
import FailureArtifactsBundle
import FailureArtifactsSystem
import FailureArtifactsTestFixtures
import Testing

@testable import FailureArtifactsReport

@Suite struct SummaryMarkdownTests {
    @Test func testsWithoutABundleAreListed() throws {
        let tests = (0..<60).map { number in
            TestIdentity(
                framework: TestIdentity.swiftTesting, module: nil, suite: "Suite", name: "a`b\(number)")
        }
        var summary = SummaryMarkdown(causes: [])
        summary.hint = TraitHint(Array(tests.prefix(1)))
        #expect(
            summary.text == """
                ## 1 failed test without a bundle

                - ``Suite.a`b0()``

                Add the product `FailureArtifacts` to the test target. If that isn't enough, as where the product is \
                a part of a dynamic library, add the trait:

                ```swift
                import FailureArtifactsTesting

                @Suite(.failureArtifacts)
                ```

                """)
        summary = SummaryMarkdown(causes: BundleCause.causes(of: [try Sample.bundle("test", "m")]))
        summary.hint = TraitHint(tests)
        #expect(summary.text.hasPrefix("## 1 failed test\n"))
        #expect(summary.text.contains("\n### 60 failed tests without a bundle\n"))
        #expect(summary.text.contains("\n- and 10 more\n"))
        // If both do not fit, the failures come first.
        summary.limit = 3000
        #expect(summary.text.contains("`Suite.test`"))
        for limit in stride(from: 0, through: 6000, by: 100) {
            summary.limit = limit
            #expect(summary.text.utf8.count <= limit)
        }
    }

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
    func fiveThousandFailuresFit(_ character: String) throws {
        let bundles = try (0..<5000).map { number in
            try Sample.bundle(
                "test\(number)", String(repeating: character, count: 20_000), fingerprint: "\(number)")
        }
        let summary = SummaryMarkdown(causes: BundleCause.causes(of: bundles)).text
        #expect(summary.utf8.count <= 1 << 20)
        #expect(summary.hasPrefix("## 5000 failed tests\n"))
        #expect(summary.contains("### `Suite.test0` failed\n"))
        let told = summary.split(separator: "\n").filter { $0.hasPrefix("### `") }.count
        let listed = summary.split(separator: "\n").filter { $0.hasPrefix("- `Suite.test") }.count
        #expect(told >= 10)
        #expect(listed == 1000)
        #expect(summary.hasSuffix("\nAnd \(5000 - told - listed) failures more.\n"))
    }

    @Test(arguments: [0, 10, 30, 1000, 1100, 2000, 5000, 100_000]) func anyLimitIsKept(_ limit: Int)
        throws
    {
        let bundles = try (0..<300).map {
            try Sample.bundle("test\($0)", "message", fingerprint: "\($0)")
        }
        var summary = SummaryMarkdown(causes: BundleCause.causes(of: bundles))
        summary.limit = limit
        #expect(summary.text.utf8.count <= limit)
        #expect(summary.text.isEmpty == (limit < 30))
    }

    @Test func whatIsInTheFileAlreadyCounts() throws {
        let fixture = try Fixture()
        let bundles = try (0..<5000).map { number in
            try Sample.bundle(
                "test\(number)", String(repeating: "m", count: 9000), fingerprint: "\(number)")
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
            try FileSystem.contents(ofFile: fixture.path("new.md")).starts(with: Array("## 5000".utf8)))
    }

    @Test func oneCauseIsToldOnce() throws {
        let bundles = try (0..<40).map { try Sample.bundle("t", "m", at: $0, fingerprint: "same") }
        let text = SummaryMarkdown(causes: BundleCause.causes(of: bundles)).text
        #expect(text.hasPrefix("## 40 failed tests with 1 cause\n"))
        #expect(text.contains("### `Suite.t` failed, 40 times\n"))
    }

    @Test(arguments: [
        ("a", "`a`"), ("a`b", "``a`b``"), ("`a", "`` `a ``"), ("``` a", "```` ``` a ````"), ("", ""),
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
