@_exported public import FailureArtifactsCapture
public import Testing

/// Leaves a bundle for each failing test.
///
/// On a suite it covers the tests in it and in the suites below it.
public struct FailureArtifactsTrait: SuiteTrait, TestTrait, TestScoping {
    /// Whether the trait goes on to what a suite holds: it does.
    public var isRecursive: Bool { true }

    /// Runs one test, or one case of a parameterised test, and captures its stores at its first failure.
    ///
    /// Called by Swift Testing.
    ///
    /// - Parameters:
    ///   - test: The test, or a suite.
    ///   - testCase: The case; nil for what is only a scope around other tests.
    ///   - function: Runs the test.
    /// - Throws: What the test throws.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // A test whose suite has the trait as well has a scope already.
        guard let testCase, RunningTest.ofTask == nil,
            CaptureSession.shared.configuration.mode != .off
        else { return try await function() }
        let scope = TestScope(test, testCase)
        try await scope.run(function)
    }
}

extension Trait where Self == FailureArtifactsTrait {
    /// Leaves a bundle for each failing test: `@Suite(.failureArtifacts)`, `@Test(.failureArtifacts)`.
    public static var failureArtifacts: Self { Self() }
}

/// Called by C when the process starts: stores that are opened before the first test are to be known too.
@_cdecl("failure_artifacts_testing_install")
func installAtProcessStart() {
    CaptureSession.shared.tellTests { Test.current != nil }
}
