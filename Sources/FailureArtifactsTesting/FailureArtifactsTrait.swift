@_exported public import FailureArtifactsCapture
public import Testing

/// A trait that captures the SQLite stores of each failing test in a bundle.
///
/// Linking the package adds it to every test. Where that isn't possible, add it in the source. On a suite it applies to
/// the suite's tests and to those of nested suites. A test that has the trait several times leaves one bundle.
public struct FailureArtifactsTrait: SuiteTrait, TestTrait, TestScoping {
    /// A Boolean value that indicates whether the trait applies to a suite's tests and nested suites: true.
    public var isRecursive: Bool { true }

    /// Runs a test, or one case of a parameterized test, and captures its stores at the first failure.
    ///
    /// Swift Testing calls this method.
    ///
    /// - Parameters:
    ///   - test: The test or suite.
    ///   - testCase: The case; nil for a scope around several tests.
    ///   - function: A closure that runs the test.
    /// - Throws: The error that `function` throws.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        // If the suite has the trait as well, the test has a scope already.
        guard let testCase, RunningTest.ofTask == nil,
            CaptureSession.shared.configuration.mode != .off
        else { return try await function() }
        let scope = TestScope(test, testCase)
        try await scope.run(function)
    }
}

extension Trait where Self == FailureArtifactsTrait {
    /// A trait that captures the SQLite stores of each failing test in a bundle: `@Suite(.failureArtifacts)`,
    /// `@Test(.failureArtifacts)`.
    public static var failureArtifacts: Self { Self() }
}
