// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Apple's XCTest that the sources use, as in
// https://developer.apple.com/documentation/xctest.
//
// The observer's methods are required here, unlike in Apple's protocol, so that the compiler reports a
// misspelt one.

@_exported public import Foundation
@_exported public import ObjectiveC

open class XCTest: NSObject {
    open var name: String { "" }
    open var testRun: XCTestRun? { nil }
    open func setUp() {}
    open func tearDown() {}
    // https://developer.apple.com/documentation/xctest/xctest/setupwitherror()
    open func setUpWithError() throws {}
    // https://developer.apple.com/documentation/xctest/xctest/teardownwitherror()
    open func tearDownWithError() throws {}
}

open class XCTestRun: NSObject {
    open var totalFailureCount: Int { 0 }
    open var hasBeenSkipped: Bool { false }
}

public protocol XCTActivity: NSObjectProtocol {
    var name: String { get }
    @MainActor func add(_ attachment: XCTAttachment)
}

open class XCTestCase: XCTest {
    open func invokeTest() {}
    open var continueAfterFailure: Bool {
        get { true }
        set {}
    }
    open func addTeardownBlock(_ block: @escaping () -> Void) {}
    @MainActor open func add(_ attachment: XCTAttachment) {}
}

open class XCTAttachment: NSObject {
    public enum Lifetime: Int, Sendable {
        case keepAlways = 0
        case deleteOnSuccess = 1
    }

    public convenience init(contentsOfFile url: URL) { self.init() }
    open var name: String?
    open var lifetime: XCTAttachment.Lifetime = .deleteOnSuccess
}

public class XCTSourceCodeLocation: NSObject {
    public var fileURL: URL { URL(fileURLWithPath: "") }
    public var lineNumber: Int { 0 }
}

public class XCTSourceCodeContext: NSObject {
    public var location: XCTSourceCodeLocation? { nil }
}

open class XCTIssueReference: NSObject {
    public enum IssueType: Int, Sendable {
        case assertionFailure = 0
        case thrownError = 1
        case uncaughtException = 2
        case performanceRegression = 3
        case system = 4
        case unmatchedExpectedFailure = 5
    }
}

public struct XCTIssue {
    public typealias IssueType = XCTIssueReference.IssueType
    public var type: XCTIssue.IssueType { .system }
    public var compactDescription: String { "" }
    public var sourceCodeContext: XCTSourceCodeContext { XCTSourceCodeContext() }
}

public protocol XCTestObservation: NSObjectProtocol {
    func testBundleWillStart(_ testBundle: Bundle)
    func testBundleDidFinish(_ testBundle: Bundle)
    func testCaseWillStart(_ testCase: XCTestCase)
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue)
    func testCaseDidFinish(_ testCase: XCTestCase)
}

open class XCTestObservationCenter: NSObject {
    open class var shared: XCTestObservationCenter { XCTestObservationCenter() }
    open func addTestObserver(_ testObserver: any XCTestObservation) {}
}

public func XCTFail(
    _ message: String = "", file: StaticString = #filePath, line: UInt = #line
) {}

// https://developer.apple.com/documentation/xctest/boolean-assertions
public func XCTAssertTrue(
    _ expression: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line
) {}

public func XCTAssertFalse(
    _ expression: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line
) {}

// https://developer.apple.com/documentation/xctest/nil-and-non-nil-assertions
public func XCTAssertNil(
    _ expression: @autoclosure () throws -> Any?, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line
) {}

// https://developer.apple.com/documentation/xctest/equality-and-inequality-assertions
public func XCTAssertEqual<T>(
    _ expression1: @autoclosure () throws -> T, _ expression2: @autoclosure () throws -> T,
    _ message: @autoclosure () -> String = "", file: StaticString = #filePath, line: UInt = #line
) where T: Equatable {}

// https://developer.apple.com/documentation/xctest/error-assertions
public func XCTAssertNoThrow<T>(
    _ expression: @autoclosure () throws -> T, _ message: @autoclosure () -> String = "",
    file: StaticString = #filePath, line: UInt = #line
) {}
