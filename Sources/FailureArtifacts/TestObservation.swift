internal import FailureArtifactsBundle
internal import FailureArtifactsCapture
internal import XCTest

#if canImport(ObjectiveC)
internal import Foundation
internal import ObjectiveC
#endif

#if canImport(ObjectiveC)
/// Passes on to the session what XCTest tells its observers.
final class TestObservation: NSObject {
    /// That of the last test, which is mostly that of the next one.
    private var suite: SuiteName?
}
#else
/// Passes on to the session what XCTest tells its observers.
final class TestObservation {
    /// That of the last test, which is mostly that of the next one.
    private var suite: SuiteName?
}
#endif

extension TestObservation {
    /// On the main thread only, as XCTest asks for.
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
        // The first block that is added is the last that runs, just before `tearDown`.
        testCase.addTeardownBlock { [weak testCase] in
            // A test that was skipped has not passed.
            if testCase?.testRun?.hasBeenSkipped != false { return }
            CaptureSession.shared.testDidReachEnd(test)
        }
    }

    #if canImport(ObjectiveC)
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue) {
        guard Self.isFailure(issue) else { return }
        let location = issue.sourceCodeContext.location
        didFail(
            testCase,
            FailureEvent(
                message: issue.compactDescription, file: location?.fileURL.path(percentEncoded: false),
                line: location?.lineNumber, kind: issue.type == .thrownError ? .error : .assertion))
        attachCopies(to: testCase)
    }

    // Failures that were expected (`XCTExpectFailure`) are told by another method, which is not implemented here.

    /// Whether an issue lets the test fail: since Xcode 26 it may be a warning.
    ///
    /// Asked in this way because earlier versions have no such property.
    private static func isFailure(_ issue: XCTIssue) -> Bool {
        // The structure stands for an object.
        guard let reference = issue as Any as? NSObject,
            reference.responds(to: NSSelectorFromString("isFailure"))
        else { return true }
        return reference.value(forKey: "isFailure") as? Bool ?? true
    }

    /// Shows the copies of the stores in Xcode's report too.
    ///
    /// The bundle itself is not there before the test has ended, when it takes no attachments any more.
    private func attachCopies(to testCase: XCTestCase) {
        // Attachments are for the main thread; an asynchronous test may fail on another one.
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
        // This is how an error that was thrown out of a test arrives: from `<EXPR>`, line 0.
        let isError = filePath == "<EXPR>" || lineNumber == 0
        didFail(
            testCase,
            FailureEvent(
                message: description, file: isError ? nil : filePath, line: isError ? nil : lineNumber,
                kind: isError ? .error : .assertion),
            // Where this reads false, XCTest ends the process as soon as its observers have been told.
            testGoesOn: testCase.continueAfterFailure)
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

    /// The test that was running when the observer was installed; nil if that isn't so.
    ///
    /// The suite's name isn't kept: an asynchronous test may fail on another thread.
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

/// The name of a class of tests, which in a debug build takes longer to be made than it should for each test.
private struct SuiteName {
    let type: XCTestCase.Type
    let name: String
    /// What the names of the class's tests begin with, but for those on Apple's systems.
    private let prefix: String

    init(of type: XCTestCase.Type) {
        self.type = type
        name = String(describing: type)
        prefix = name + "."
    }

    /// The method's name out of `Class.method`, or `-[Module.Class method]` on Apple's systems.
    func methodName(of test: String) -> String {
        if test.hasPrefix(prefix) {
            // Bytes are counted, since a debug build takes long to count characters.
            let start = test.utf8.index(test.startIndex, offsetBy: prefix.utf8.count)
            return String(test[start..<test.endIndex])
        }
        guard test.hasPrefix("-["), test.hasSuffix("]") else { return test }
        return test.dropLast().split(separator: " ", maxSplits: 1).last.map(String.init) ?? test
    }
}
