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
        running = CaptureSession.shared.testWillStart(
            framework: "Swift Testing", suite: TestName.suite(of: test), name: TestName.name(of: test),
            arguments: TestName.arguments(of: testCase), isAlone: false)
    }

    func run(_ function: @Sendable () async throws -> Void) async throws {
        defer { end() }
        let issues = IssueHandlingTrait.compactMapIssues { issue in
            observe(issue)
            return issue
        }
        try await RunningTest.$ofTask.withValue(running) {
            try await issues.provideScope(for: test, testCase: testCase) {
                do {
                    try await withTaskCancellationHandler(operation: function, onCancel: noteTimeLimit)
                } catch {
                    observe(error)
                    throw error
                }
            }
        }
    }

    // MARK: What can go wrong

    /// An issue was recorded, on this thread, and the test has not gone on.
    private func observe(_ issue: Issue) {
        // Neither warnings nor what `withKnownIssue` expects.
        guard issue.isFailure else { return }
        // Every test's time limit is seen when the test is cancelled, see below.
        let kind: BundleMetadata.Failure.Kind = issue.error == nil ? .assertion : .error
        didFail(TestName.message(of: issue), issue.sourceLocation, kind)
    }

    /// An error has left the test's function.
    private func observe(_ error: any Error) {
        // What `#require` throws was an issue before; and a cancelled test is no failure.
        if error is ExpectationFailedError || Self.isCancellation(error) { return }
        didFail("Caught error: \(String(describingForTest: error))", nil, .error)
    }

    /// The test's task was cancelled, on a thread that may be any.
    ///
    /// That is how Swift Testing ends a test whose time is up; the issue is recorded outside of this scope.
    private func noteTimeLimit() {
        guard let limit = test.timeLimit else { return }
        let seconds = Double(limit.components.seconds) + Double(limit.components.attoseconds) * 1e-18
        guard start.elapsed >= seconds else { return }
        didFail("Time limit was exceeded: \(limit)", test.sourceLocation, .assertion)
    }

    private static func isCancellation(_ error: any Error) -> Bool {
        // `Test.cancel()` throws a type of its own that is not public.
        error is CancellationError || String(reflecting: type(of: error)) == "Testing.SkipInfo"
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
