internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import XCTest

#if canImport(ObjectiveC)
/// Passes on to the session what XCTest tells its observers.
final class TestObservation: NSObject {}
#else
/// Passes on to the session what XCTest tells its observers.
final class TestObservation {}
#endif

extension TestObservation: XCTestObservation {
    func testBundleWillStart(_ testBundle: Bundle) {
        CaptureSession.shared.testsWillStart()
    }

    func testBundleDidFinish(_ testBundle: Bundle) {
        CaptureSession.shared.testsDidFinish()
    }

    func testCaseWillStart(_ testCase: XCTestCase) {
        let suite = String(describing: type(of: testCase))
        _ = CaptureSession.shared.testWillStart(
            framework: "XCTest", suite: suite, name: Self.methodName(of: testCase, suite: suite),
            isAlone: true)
    }

    #if canImport(ObjectiveC)
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue) {
        let location = issue.sourceCodeContext.location
        didFail(
            FailureEvent(
                message: issue.compactDescription, file: location?.fileURL.path(percentEncoded: false),
                line: location?.lineNumber, kind: issue.type == .thrownError ? .error : .assertion))
    }
    #else
    func testCase(
        _ testCase: XCTestCase, didFailWithDescription description: String, inFile filePath: String?,
        atLine lineNumber: Int
    ) {
        // This is how an error that was thrown out of a test arrives: from `<EXPR>`, line 0.
        let isError = filePath == "<EXPR>" || lineNumber == 0
        didFail(
            FailureEvent(
                message: description, file: isError ? nil : filePath, line: isError ? nil : lineNumber,
                kind: isError ? .error : .assertion),
            // Where this reads false, XCTest ends the process as soon as its observers have been told.
            testGoesOn: testCase.continueAfterFailure)
    }
    #endif

    func testCaseDidFinish(_ testCase: XCTestCase) {
        guard let test = CaptureSession.shared.currentTest else { return }
        CaptureSession.shared.testDidFinish(test)
    }

    private func didFail(_ event: FailureEvent, testGoesOn: Bool = true) {
        guard let test = CaptureSession.shared.currentTest else { return }
        CaptureSession.shared.testDidFail(test, event, testGoesOn: testGoesOn)
    }

    /// The method's name out of `Class.method`, or `-[Module.Class method]` on Apple's systems.
    private static func methodName(of testCase: XCTestCase, suite: String) -> String {
        let name = testCase.name
        if name.hasPrefix(suite + ".") { return String(name.dropFirst(suite.count + 1)) }
        guard name.hasPrefix("-["), name.hasSuffix("]") else { return name }
        return name.dropLast().split(separator: " ", maxSplits: 1).last.map(String.init) ?? name
    }
}
