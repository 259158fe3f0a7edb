package import Testing

/// A trait for tests that fail on purpose: elsewhere than in a ``ChildTestRun`` they pass without being run.
///
/// They aren't disabled, because a test that is skipped for want of a program must stand out.
package struct ChildOnlyTrait: SuiteTrait, TestTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if testCase == nil || ChildTestRun.isChild { try await function() }
    }
}

extension Trait where Self == ChildOnlyTrait {
    /// Runs tests in a ``ChildTestRun`` only.
    package static var inChildOnly: Self { Self() }
}
