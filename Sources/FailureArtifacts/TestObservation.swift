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
        if CaptureSession.isInChild { return }
        CaptureSession.shared.testsWillStart()
    }

    func testBundleDidFinish(_ testBundle: Bundle) {
        if CaptureSession.isInChild { return }
        CaptureSession.shared.testsDidFinish()
    }

    func testCaseWillStart(_ testCase: XCTestCase) {
        if CaptureSession.isInChild { return }
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
    // XCTest reports expected failures (`XCTExpectFailure`) by other methods, which aren't implemented here. The selectors
    // are spelled out, because XCTest looks for optional methods by them: a method with another one is never called.

    @objc(testCase:didRecordIssue:)
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue) {
        guard Compatibility.isFailure(issue) else { return }
        didFail(testCase, Self.event(of: issue))
        attachCopies(to: testCase)
    }

    /// Records an issue outside of a test case, such as in a class's `setUp`.
    ///
    /// A suite takes no attachments.
    @objc(testSuite:didRecordIssue:)
    func testSuite(_ testSuite: XCTestSuite, didRecord issue: XCTIssue) {
        guard Compatibility.isFailure(issue) else { return }
        CaptureSession.shared.suiteDidFail(
            framework: Self.framework, suite: testSuite.name, Self.event(of: issue))
    }

    func testSuiteDidFinish(_ testSuite: XCTestSuite) {
        CaptureSession.shared.suiteDidFinish(testSuite.name)
    }

    private static func event(of issue: XCTIssue) -> FailureEvent {
        let location = issue.sourceCodeContext.location
        return FailureEvent(
            message: issue.compactDescription, file: location?.fileURL.path(percentEncoded: false),
            line: location?.lineNumber, kind: issue.type == .thrownError ? .error : .assertion)
    }

    /// Adds the copies of the stores to Xcode's report.
    ///
    /// XCTest's header allows it on any thread, so this is the thread of the failure. An attachment made from a file may
    /// read that file later, when it is packed and gone; so attachments are made from data.
    private func attachCopies(to testCase: XCTestCase) {
        guard let test = CaptureSession.shared.currentTest else { return }
        for copy in CaptureSession.shared.newCopies(of: test) {
            let attachment = XCTAttachment(
                data: Data(copy.content), uniformTypeIdentifier: "public.data")
            attachment.name = copy.name
            attachment.lifetime = .keepAlways
            testCase.add(attachment)
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
        guard !CaptureSession.isInChild, let test = CaptureSession.shared.currentTest else { return }
        // A test that was skipped has not passed.
        if CaptureSession.shared.recordsPasses, testCase.testRun?.hasBeenSkipped == false {
            CaptureSession.shared.testDidPass(test)
        }
        CaptureSession.shared.testDidFinish(test)
    }

    private func didFail(_ testCase: XCTestCase, _ event: FailureEvent, testGoesOn: Bool = true) {
        guard !CaptureSession.isInChild, let test = CaptureSession.shared.currentTest else { return }
        CaptureSession.shared.testDidFail(test, event, testGoesOn: testGoesOn)
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
