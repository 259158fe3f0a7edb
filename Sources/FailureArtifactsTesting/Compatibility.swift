internal import FailureArtifactsBundle
internal import FailureArtifactsSystem
internal import Testing

/// Undocumented behavior of Swift Testing that the trait relies on.
///
/// Verified on Linux with the library that Swift 6.3.1 bundles, and with sources of 6.4 and 6.5; unverified on Apple
/// platforms.
/// `FailureArtifactsTestingTests` has a test for each declaration, so that a toolchain that behaves differently is
/// noticed.
enum Compatibility {
    /// Returns the arguments of a test case, each as Swift Testing prints it.
    ///
    /// Swift Testing has no public access to them; a mirror of the case shows them. If it no longer does, bundles of
    /// parameterized tests don't name the arguments.
    ///
    /// Nil for a test without parameters.
    static func arguments(of testCase: Test.Case) -> [String]? {
        guard testCase.isParameterized else { return nil }
        return find("arguments", in: testCase, depth: 4).map { arguments in
            Mirror(reflecting: arguments).children.compactMap { argument in
                find("value", in: argument.value, depth: 1).map { String(describingForTest: $0) }
            }
        }
    }

    /// Returns an issue's text, such as `Expectation failed: (a → 1) == (b → 2)`.
    ///
    /// From 6.4 on, the description of an issue has no values. Swift Testing has no public access to them; a mirror of
    /// the expression shows them. If it no longer does, messages have no values.
    static func text(of kind: Issue.Kind) -> String {
        let text = String(describing: kind)
        guard case .expectationFailed(let expectation) = kind,
            let expression = find("evaluatedExpression", in: expectation, depth: 0)
        else { return text }
        let found = self.expression(expression)
        return text == "Expectation failed: \(found.sourceCode)"
            ? "Expectation failed: \(found.text)" : text
    }

    static func expression(_ expression: Any) -> ExpressionText {
        func child(_ label: String) -> Any? { find(label, in: expression, depth: 0) }
        // An optional's mirror has one child or none.
        let value = child("runtimeValue").flatMap { Mirror(reflecting: $0).children.first?.value }
        let children = child("_subexpressions").map { Mirror(reflecting: $0).children.map(\.value) }
        return ExpressionText(
            sourceCode: String(describing: expression), value: value.map { String(describing: $0) },
            children: (children ?? []).map(self.expression))
    }

    /// Returns the first child with a label, searching level by level.
    private static func find(_ label: String, in value: Any, depth: Int) -> Any? {
        let children = Mirror(reflecting: value).children
        if let child = children.first(where: { $0.label == label }) { return child.value }
        guard depth > 0 else { return nil }
        return children.lazy.compactMap { find(label, in: $0.value, depth: depth - 1) }.first
    }

    /// Returns true if an error ends a cancelled test rather than failing it.
    ///
    /// `Test.cancel()` throws an internal type, `Testing.SkipInfo`. If the type gets another name, a cancelled test
    /// leaves a bundle as if it had failed.
    ///
    /// - `error`: an error that left the test's function; called in the test's task.
    static func isCancellation(_ error: any Error) -> Bool {
        (error is CancellationError && Task.isCancelled)
            || String(reflecting: type(of: error)) == "Testing.SkipInfo"
    }

    /// Returns the text of the issue for an exceeded time limit if that is why a test's task was cancelled.
    ///
    /// Swift Testing records this issue outside of the test's scope, and then cancels the test's task from a task of
    /// its own. If it ends the test in another way, a test that exceeds its time limit leaves no bundle.
    ///
    /// Nil if the test has no time limit, or not reached it.
    static func timeLimitMessage(for test: Test, after seconds: Double) -> String? {
        guard let limit = test.timeLimit?.components.seconds else { return nil }
        // On a busy machine, the clock of the limit may have started earlier than the scope.
        guard seconds >= Double(limit) * 0.9 else { return nil }
        return "Time limit was exceeded: \(limit).000 seconds"
    }

    /// True if the run keeps attachments.
    ///
    /// Outside Apple platforms, `swift test --attachments-path` passes the option on to the test process. If it gets
    /// another name, bundles aren't attached; they are still in the artifacts directory.
    static let keepsAttachments: Bool = {
        #if canImport(Darwin)
        return true
        #else
        return ProcessEnvironment.arguments.contains {
            $0.hasPrefix("--attachments-path") || $0.hasPrefix("--experimental-attachments-path")
        }
        #endif
    }()
}
