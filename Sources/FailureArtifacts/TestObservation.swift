internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import XCTest

#if canImport(ObjectiveC)
internal import Foundation
internal import ObjectiveC

/// The superclass that XCTest requires of an observer.
typealias ObserverBase = NSObject
#else
/// The superclass that XCTest requires of an observer: any.
class ObserverBase {}
#endif

/// An observer of XCTest that reports tests to the capture session.
final class TestObservation: ObserverBase {
    /// The last test's suite, which mostly is the next one's too.
    private var suite: SuiteName?

    /// Starts to observe; called on the main thread, as XCTest requires.
    func begin() {
        XCTestObservationCenter.shared.addTestObserver(self)
    }
}

extension TestObservation: XCTestObservation {
    func testBundleWillStart(_ testBundle: Bundle) {
        CaptureSession.shared.testsWillStart()
    }

    func testBundleDidFinish(_ testBundle: Bundle) {
        CaptureSession.shared.testsDidFinish()
    }

    func testCaseWillStart(_ testCase: XCTestCase) {
        let suite = suite(of: testCase)
        let test = CaptureSession.shared.testWillStart(
            framework: Self.framework, suite: suite.name, name: suite.methodName(of: testCase.name),
            isAlone: true)
        guard CaptureSession.shared.capturesPassingTests else { return }
        Compatibility.addLastTeardownBlock(to: testCase) { [weak testCase] in
            // A test that was skipped has not passed.
            if testCase?.testRun?.hasBeenSkipped != false { return }
            CaptureSession.shared.testDidReachEnd(test)
        }
    }

    #if canImport(ObjectiveC)
    // XCTest reports expected failures (`XCTExpectFailure`) by another method, which isn't implemented here.
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue) {
        guard Compatibility.isFailure(issue) else { return }
        let location = issue.sourceCodeContext.location
        didFail(
            testCase,
            FailureEvent(
                message: issue.compactDescription, file: location?.fileURL.path(percentEncoded: false),
                line: location?.lineNumber, kind: issue.type == .thrownError ? .error : .assertion))
        attachCopies(to: testCase)
    }

    /// Adds the copies of the stores to Xcode's report.
    ///
    /// The bundle itself appears after the test's end, when the test takes no more attachments.
    private func attachCopies(to testCase: XCTestCase) {
        // Attachments are added on the main thread; an asynchronous test may fail on another one.
        guard Thread.isMainThread, let test = CaptureSession.shared.currentTest,
            test.hasFailedOnce
        else { return }
        for (name, path) in CaptureSession.shared.copies(of: test) {
            let attachment = XCTAttachment(contentsOfFile: URL(filePath: path))
            attachment.name = "\(name).sqlite"
            attachment.lifetime = .keepAlways
            nonisolated(unsafe) let (target, content) = (testCase, attachment)
            MainActor.assumeIsolated { target.add(content) }
        }
    }
    #else
    func testCase(
        _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?,
        atLine lineNumber: Int
    ) {
        let isError = Compatibility.isThrownError(file: filePath, line: lineNumber)
        didFail(
            testCase,
            FailureEvent(
                message: description, file: isError ? nil : filePath, line: isError ? nil : lineNumber,
                kind: isError ? .error : .assertion),
            testGoesOn: Compatibility.processContinues(afterFailureOf: testCase))
    }
    #endif

    func testCaseDidFinish(_ testCase: XCTestCase) {
        guard let test = CaptureSession.shared.currentTest else {
            CaptureSession.shared.unreportedTestDidFinish()
            return
        }
        CaptureSession.shared.testDidFinish(test)
    }

    private func didFail(_ testCase: XCTestCase, _ event: FailureEvent, testGoesOn: Bool = true) {
        guard let test = CaptureSession.shared.currentTest ?? unreportedTest(testCase) else { return }
        CaptureSession.shared.testDidFail(test, event, testGoesOn: testGoesOn)
    }

    /// Returns the test that was running when the observer was installed; nil if no test was running.
    ///
    /// The suite's name isn't kept, because an asynchronous test may fail on another thread.
    private func unreportedTest(_ testCase: XCTestCase) -> RunningTest? {
        let suite = SuiteName(of: type(of: testCase))
        return CaptureSession.shared.unreportedTestIs(
            framework: Self.framework, suite: suite.name, name: suite.methodName(of: testCase.name))
    }

    private static let framework = "XCTest"

    private func suite(of testCase: XCTestCase) -> SuiteName {
        let type = type(of: testCase)
        if let suite, suite.type == type { return suite }
        let new = SuiteName(of: type)
        suite = new
        return new
    }
}
