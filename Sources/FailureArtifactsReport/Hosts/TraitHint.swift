package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Failed tests of Swift Testing that left no bundle, with advice on how to get one.
package struct TraitHint {
    /// The maximum number of tests that are named in a line.
    private static let lineLimit = 3
    /// The maximum number of tests that are named in a list.
    private static let listLimit = 50

    let tests: [TestIdentity]

    /// Creates a hint; nil if there are no tests.
    package init?(_ tests: [TestIdentity]) {
        if tests.isEmpty { return nil }
        self.tests = tests
    }

    private var count: String { Counted.items(Int64(tests.count), "failed test") }

    private static func title(_ test: TestIdentity) -> String {
        TextWidth.shortened(SafeText.line("\(test.suite).\(test.caseName)"), to: 200)
    }

    /// Returns two lines for a terminal.
    package func lines(width: Int) -> [String] {
        var names = tests.prefix(Self.lineLimit).map(Self.title).joined(separator: ", ")
        if tests.count > Self.lineLimit { names += " and \(tests.count - Self.lineLimit) more" }
        return [
            TextWidth.shortened("\(count) of Swift Testing left no bundle: \(names)", to: width),
            "For bundles, link FailureArtifacts to the test target; if that isn't enough, import "
                + "FailureArtifactsTesting and add the trait: @Suite(.failureArtifacts)",
        ]
    }

    /// Returns a section of Markdown.
    func markdown(heading: String) -> String {
        var text = "\n\(heading) \(count) without a bundle\n\n"
        for test in tests.prefix(Self.listLimit) { text += "- \(Markdown.code(Self.title(test)))\n" }
        let rest = tests.count - Self.listLimit
        if rest > 0 { text += "- and \(rest) more\n" }
        return text + """

            Add the product `FailureArtifacts` to the test target. If that isn't enough, as where the product is \
            a part of a dynamic library, add the trait:

            ```swift
            import FailureArtifactsTesting

            @Suite(.failureArtifacts)
            ```

            """
    }
}
