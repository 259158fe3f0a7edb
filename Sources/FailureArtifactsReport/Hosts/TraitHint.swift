package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Failed tests of Swift Testing that left no bundle, and the way to have one.
package struct TraitHint {
    /// Tests that are named in a line.
    private static let lineLimit = 3
    /// Tests that are named in a list.
    private static let listLimit = 50

    let tests: [TestIdentity]

    /// Fails without any test.
    ///
    /// - Parameter tests: Those that failed and left no bundle.
    package init?(_ tests: [TestIdentity]) {
        if tests.isEmpty { return nil }
        self.tests = tests
    }

    private var count: String { Counted.items(Int64(tests.count), "failed test") }

    private static func title(_ test: TestIdentity) -> String {
        TextWidth.shortened(SafeText.line("\(test.suite).\(test.caseName)"), to: 200)
    }

    /// Makes two lines for a terminal.
    ///
    /// - Parameter width: The maximum of the first line's columns.
    /// - Returns: The tests, and the line to add.
    package func lines(width: Int) -> [String] {
        var names = tests.prefix(Self.lineLimit).map(Self.title).joined(separator: ", ")
        if tests.count > Self.lineLimit { names += " and \(tests.count - Self.lineLimit) more" }
        return [
            TextWidth.shortened("\(count) of Swift Testing left no bundle: \(names)", to: width),
            "For bundles, link FailureArtifactsTesting, import it, and add the trait: "
                + "@Suite(.failureArtifacts) or @Test(.failureArtifacts)",
        ]
    }

    /// Makes a section of Markdown.
    ///
    /// - Parameter heading: The number signs of its heading.
    /// - Returns: The section, after an empty line.
    func markdown(heading: String) -> String {
        var text = "\n\(heading) \(count) without a bundle\n\n"
        for test in tests.prefix(Self.listLimit) { text += "- \(Markdown.code(Self.title(test)))\n" }
        let rest = tests.count - Self.listLimit
        if rest > 0 { text += "- and \(rest) more\n" }
        return text + """

            A test of Swift Testing leaves a bundle if it or its suite has the trait. Add the product \
            `FailureArtifactsTesting` to the test target, and in the source:

            ```swift
            import FailureArtifactsTesting

            @Suite(.failureArtifacts)
            ```

            """
    }
}
