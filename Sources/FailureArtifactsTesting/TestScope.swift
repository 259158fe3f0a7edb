internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Testing

/// One run of one test: passes on to the session what Swift Testing tells.
struct TestScope: Sendable {
    private let test: Test
    private let testCase: Test.Case
    private let running: RunningTest
    private let start = Instant.now

    /// Told once, when the first test starts.
    private static let testsWillStart: Void = CaptureSession.shared.testsWillStart()

    init(_ test: Test, _ testCase: Test.Case) {
        self.test = test
        self.testCase = testCase
        Self.testsWillStart
        // Put together anew each time it is asked for.
        let id = test.id
        running = CaptureSession.shared.testWillStart(
            framework: "Swift Testing", suite: TestName.suite(of: id), name: TestName.name(of: id),
            arguments: TestName.arguments(of: testCase), location: "\(id)", isAlone: false)
    }

    func run(_ function: @Sendable () async throws -> Void) async throws {
        defer { end() }
        let issues = IssueHandlingTrait.compactMapIssues(observe)
        try await RunningTest.$ofTask.withValue(running) {
            try await issues.provideScope(for: test, testCase: testCase) {
                do {
                    try await withTaskCancellationHandler(
                        operation: function, onCancel: noteCancellation)
                } catch {
                    observe(error)
                    throw error
                }
            }
            // A test that was cancelled has not passed.
            if !Task.isCancelled { CaptureSession.shared.testDidReachEnd(running) }
        }
    }

    // MARK: What can go wrong

    /// An issue was recorded, on this thread, and the test has not gone on.
    ///
    /// - Returns: The issue as it was; nil where it is none of this test's.
    private func observe(_ issue: Issue) -> Issue? {
        guard RunningTest.ofTask === running else {
            // What is recorded in a detached task, or on a thread without a task, belongs to no test. It is
            // reported once by itself, and once more for each scope that lets it pass.
            return Test.current == nil ? nil : issue
        }
        // Neither warnings nor what `withKnownIssue` expects.
        if issue.isFailure {
            didFail(
                TestName.message(of: issue), issue.sourceLocation,
                issue.error == nil ? .assertion : .error)
        }
        return issue
    }

    /// An error has left the test's function, and becomes an issue only outside of this scope.
    private func observe(_ error: any Error) {
        // What `#require` throws was an issue before; and a cancelled test is no failure.
        if error is ExpectationFailedError || Self.isCancellation(error) { return }
        didFail("Caught error: \(String(describingForTest: error))", test.sourceLocation, .error)
    }

    /// Whether Swift Testing takes an error for the end of a test that was cancelled.
    private static func isCancellation(_ error: any Error) -> Bool {
        // `Test.cancel()` throws a type of its own that is not public.
        (error is CancellationError && Task.isCancelled)
            || String(reflecting: type(of: error)) == "Testing.SkipInfo"
    }

    /// The test's task was cancelled, on the thread that does it.
    ///
    /// That is how Swift Testing ends a test whose time is up; the issue is recorded outside of this scope,
    /// just before.
    private func noteCancellation() {
        // A test that cancels itself, or another one, does so in a test's task.
        guard RunningTest.ofTask == nil, let limit = test.timeLimit?.components.seconds else { return }
        // The limit's clock may have started earlier, on a machine with a lot to do.
        guard start.elapsed >= Double(limit) * 0.9 else { return }
        // What looks at the test's connections is to know whose they are.
        RunningTest.$ofTask.withValue(running) {
            didFail("Time limit was exceeded: \(limit).000 seconds", test.sourceLocation, .assertion)
        }
    }

    private func didFail(
        _ message: String, _ location: SourceLocation?, _ kind: BundleMetadata.Failure.Kind
    ) {
        CaptureSession.shared.testDidFail(
            running,
            FailureEvent(
                message: message, file: location?.filePath, line: location?.line, kind: kind))
    }

    // MARK: The end

    private func end() {
        guard BundleAttachment.isWanted else {
            CaptureSession.shared.testDidFinish(running)
            return
        }
        let bundle = CaptureSession.shared.testDidFinishAndIsPacked(running)
        if let bundle { BundleAttachment.record(bundle, of: test) }
    }
}
