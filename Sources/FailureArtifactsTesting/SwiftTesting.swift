@_exported public import FailureArtifactsCapture
internal import FailureArtifactsSystem
public import Testing

/// A closure that makes a test, as the macros of Swift Testing pass it.
typealias TestMaker = @Sendable () async -> Test

/// Calls Swift Testing's own function; defined in C.
@_silgen_name("failure_artifacts_store_test")
private func storeTest(
    _ makeTest: @escaping TestMaker, _ record: UnsafeMutableRawPointer, _ type: UnsafeRawPointer
) -> Bool

/// True unless the environment turns capturing off.
private let addsTrait: Bool = {
    guard CaptureConfiguration().mode != .off else { return false }
    CaptureSession.shared.testsWillHaveTasks()
    return true
}()

/// Adds the trait to a test or a suite; called by C for each that Swift Testing finds.
@_silgen_name("failure_artifacts_test_is_stored")
func testIsStored(
    _ makeTest: @escaping TestMaker, _ record: UnsafeMutableRawPointer, _ type: UnsafeRawPointer
) -> Bool {
    guard addsTrait else { return storeTest(makeTest, record, type) }
    return storeTest(
        {
            var test = await makeTest()
            // The scope of the first trait is around those of the others, which may open stores, or fail. A suite's
            // traits come before those of its tests.
            test.traits.insert(FailureArtifactsTrait(), at: 0)
            return test
        }, record, type)
}

package enum SwiftTesting {
    /// Starts the session, which discovers stores from then on, and lets it record issues.
    package static func install() {
        CaptureSession.shared.recordIssues { message, file, line in
            guard let test = Test.current else { return false }
            Issue.record(
                Comment(rawValue: message),
                sourceLocation: SourceLocation(
                    fileID: "\(test.sourceLocation.moduleName)/\(Path.name(of: file))", filePath: file,
                    line: line, column: 1))
            return true
        }
    }
}

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
