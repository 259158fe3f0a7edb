internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import FailureArtifactsSystem
internal import Testing

/// One run of one test; reports it to the capture session.
struct TestScope: Sendable {
    private let test: Test
    private let testCase: Test.Case
    private let running: RunningTest
    private let start = Instant.now

    /// Reports the start of the run, once, when the first test starts.
    private static let testsWillStart: Void = CaptureSession.shared.testsWillStart(isAlone: false)

    init(_ test: Test, _ testCase: Test.Case) {
        self.test = test
        self.testCase = testCase
        Self.testsWillStart
        // Each access assembles the identifier anew.
        let id = test.id
        running = CaptureSession.shared.testWillStart(
            framework: "Swift Testing", suite: TestName.suite(of: id), name: TestName.name(of: id),
            location: "\(id)", arguments: Compatibility.arguments(of: testCase), isAlone: false)
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
            if !Task.isCancelled {
                CaptureSession.shared.testDidReachEnd(running)
                CaptureSession.shared.testDidPass(running)
            }
        }
    }

    // MARK: Failures

    /// Observes an issue, on the thread that records it, before the test continues.
    ///
    /// Nil for an issue that belongs to no test and is reported elsewhere.
    private func observe(_ issue: Issue) -> Issue? {
        guard RunningTest.ofTask === running else {
            // An issue of a detached task, or of a thread without a task, belongs to no test. Swift Testing reports
            // it once, and once more for each scope that returns it.
            return Test.current == nil ? nil : issue
        }
        // Warnings, and issues that `withKnownIssue` expects, are not failures.
        if issue.isFailure {
            didFail(
                TestName.message(of: issue), issue.sourceLocation,
                issue.error == nil ? .assertion : .error)
        }
        return issue
    }

    /// Observes an error that left the test's function; it becomes an issue outside of this scope.
    private func observe(_ error: any Error) {
        // An error of `#require` was reported as an issue before.
        if error is ExpectationFailedError || Compatibility.isCancellation(error) { return }
        didFail("Caught error: \(String(describingForTest: error))", test.sourceLocation, .error)
    }

    /// Observes the cancellation of the test's task, on the thread that cancels it.
    private func noteCancellation() {
        // A test that cancels itself, or another one, does so in the task of a test.
        guard RunningTest.ofTask == nil,
            let message = Compatibility.timeLimitMessage(for: test, after: start.elapsed)
        else { return }
        // The capture tells the test's own connections from others by the task.
        RunningTest.$ofTask.withValue(running) {
            didFail(message, test.sourceLocation, .assertion)
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

    // MARK: End

    private func end() {
        let attaches = Compatibility.keepsAttachments
        let bundle = CaptureSession.shared.testDidFinish(running, packsNow: attaches ? true : nil)
        guard attaches, let bundle else { return }
        BundleAttachment.record(bundle.path, of: test)
        Attachment.record(bundle.readMe, named: "failure.md", sourceLocation: test.sourceLocation)
    }
}

/// Names and texts of Swift Testing as the metadata has them.
enum TestName {
    /// Returns the suites around a test, outermost first, such as `Outer.Inner`; for a test in no suite, the module.
    static func suite(of test: Test.ID) -> String {
        // The last component is the function.
        let suites = test.nameComponents.dropLast()
        return suites.isEmpty ? test.moduleName : suites.joined(separator: ".")
    }

    /// Returns the function's name, such as `total`, or with its parameters `total(of:in:)`.
    static func name(of test: Test.ID) -> String {
        let name = test.nameComponents.last ?? ""
        return name.hasSuffix("()") ? String(name.dropLast(2)) : name
    }

    /// Returns an issue's text as the console of Swift 6.3 shows it, followed by its comments.
    static func message(of issue: Issue) -> String {
        let comments = issue.comments.map(\.rawValue).joined(separator: "\n")
        let kind = Compatibility.text(of: issue.kind)
        if comments.isEmpty { return kind }
        // `Issue.record("…")` has no other text, and lists of failures have one line for each.
        if case .unconditional = issue.kind { return "\(kind): \(comments)" }
        return "\(kind)\n\(comments)"
    }
}

/// A bundle as an attachment of its test.
///
/// The file is mapped into memory rather than read.
struct BundleAttachment: Attachable {
    private let path: String
    private let size: Int

    /// Records a bundle as an attachment of the current test.
    ///
    /// Called in the test's own task.
    static func record(_ path: String, of test: Test) {
        guard let size = FileSystem.regularFile(path)?.size else { return }
        Attachment.record(
            BundleAttachment(path: path, size: Int(size)), named: Path.name(of: path),
            sourceLocation: test.sourceLocation)
    }

    var estimatedAttachmentByteCount: Int? { size }

    func withUnsafeBytes<Result>(
        for attachment: borrowing Attachment<BundleAttachment>,
        _ body: (UnsafeRawBufferPointer) throws -> Result
    ) throws -> Result {
        try File(reading: path).withMappedBytes(body)
    }
}
