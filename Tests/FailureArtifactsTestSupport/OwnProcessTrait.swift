package import Testing

/// A trait for a suite whose tests measure state that exists once per process: it runs them in a ``ChildTestRun``.
///
/// In this process, tests of other suites run at the same time. They open and close stores, and use up limits that the
/// whole process shares.
package struct OwnProcessTrait: SuiteTrait, TestScoping {
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        guard ChildTestRun.isPossible, !ChildTestRun.isChild else { return try await function() }
        let run = try ChildTestRun.run(.swiftTesting("\(test.name)/"), ["FAILURE_ARTIFACTS": "off"])
        if run.status != 0 || run.testCount ?? 0 == 0 {
            Issue.record("\(test.name), run in a process of its own:\n\(run.output)")
        }
    }
}

extension Trait where Self == OwnProcessTrait {
    /// Runs the suite's tests in a process of their own.
    package static var inOwnProcess: Self { Self() }
}
