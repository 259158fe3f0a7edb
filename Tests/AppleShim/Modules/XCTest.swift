// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// The declarations of Apple's XCTest that the sources use.
//
// The comment before each declaration names its source: a page of Apple's documentation that the declaration follows,
// or, after `not read`, the address that the page has by the pattern of the others. `check` refuses a declaration
// without one. A comment with a selector is compared with the attribute `@objc` in the sources, which the compiler
// refuses outside Apple platforms.
//
// The observer's methods are required here, unlike in Apple's protocol, so that the compiler reports a misspelt one.

@_exported public import Foundation
@_exported public import ObjectiveC

// not read: https://developer.apple.com/documentation/xctest/xctest
open class XCTest: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctest/name
    open var name: String { "" }
    // not read: https://developer.apple.com/documentation/xctest/xctest/testrun
    open var testRun: XCTestRun? { nil }
    // not read: https://developer.apple.com/documentation/xctest/xctest/setup()
    open func setUp() {}
    // not read: https://developer.apple.com/documentation/xctest/xctest/teardown()
    open func tearDown() {}
    // https://developer.apple.com/documentation/xctest/xctest/setupwitherror()
    open func setUpWithError() throws {}
    // https://developer.apple.com/documentation/xctest/xctest/teardownwitherror()
    open func tearDownWithError() throws {}
}

// not read: https://developer.apple.com/documentation/xctest/xctestrun
open class XCTestRun: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctestrun/totalfailurecount
    open var totalFailureCount: Int { 0 }
    // not read: https://developer.apple.com/documentation/xctest/xctestrun/hasbeenskipped
    open var hasBeenSkipped: Bool { false }
}

// not read: https://developer.apple.com/documentation/xctest/xctestcase
open class XCTestCase: XCTest {
    // not read: https://developer.apple.com/documentation/xctest/xctestcase/invoketest()
    open func invokeTest() {}
    // not read: https://developer.apple.com/documentation/xctest/xctestcase/continueafterfailure
    open var continueAfterFailure: Bool {
        get { true }
        set {}
    }
    // not read: https://developer.apple.com/documentation/xctest/xctestcase/addteardownblock(_:)
    open func addTeardownBlock(_ block: @escaping () -> Void) {}
    // https://developer.apple.com/documentation/xctest/xctactivity/add(_:)
    open func add(_ attachment: XCTAttachment) {}
}

// not read: https://developer.apple.com/documentation/xctest/xctestsuite
open class XCTestSuite: XCTest {}

// https://developer.apple.com/documentation/xctest/xctattachment
open class XCTAttachment: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctattachment/lifetime-swift.enum
    public enum Lifetime: Int, Sendable {
        case keepAlways = 0
        case deleteOnSuccess = 1
    }

    // https://developer.apple.com/documentation/xctest/xctattachment/init(data:uniformtypeidentifier:)
    public convenience init(data payload: Data, uniformTypeIdentifier identifier: String) { self.init() }
    // not read: https://developer.apple.com/documentation/xctest/xctattachment/name
    open var name: String?
    // not read: https://developer.apple.com/documentation/xctest/xctattachment/lifetime-swift.property
    open var lifetime: XCTAttachment.Lifetime = .deleteOnSuccess
}

// not read: https://developer.apple.com/documentation/xctest/xctsourcecodelocation
public class XCTSourceCodeLocation: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctsourcecodelocation/fileurl
    public var fileURL: URL { URL(fileURLWithPath: "") }
    // not read: https://developer.apple.com/documentation/xctest/xctsourcecodelocation/linenumber
    public var lineNumber: Int { 0 }
}

// not read: https://developer.apple.com/documentation/xctest/xctsourcecodecontext
public class XCTSourceCodeContext: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctsourcecodecontext/location
    public var location: XCTSourceCodeLocation? { nil }
}

// not read: https://developer.apple.com/documentation/xctest/xctissuereference
open class XCTIssueReference: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctissuereference/issuetype
    public enum IssueType: Int, Sendable {
        case assertionFailure = 0
        case thrownError = 1
        case uncaughtException = 2
        case performanceRegression = 3
        case system = 4
        case unmatchedExpectedFailure = 5
    }
}

// not read: https://developer.apple.com/documentation/xctest/xctissue-swift.struct
public struct XCTIssue {
    // not read: https://developer.apple.com/documentation/xctest/xctissue-swift.struct/issuetype
    public typealias IssueType = XCTIssueReference.IssueType
    // not read: https://developer.apple.com/documentation/xctest/xctissue-swift.struct/type
    public var type: XCTIssue.IssueType { .system }
    // not read: https://developer.apple.com/documentation/xctest/xctissue-swift.struct/compactdescription
    public var compactDescription: String { "" }
    // not read: https://developer.apple.com/documentation/xctest/xctissue-swift.struct/sourcecodecontext
    public var sourceCodeContext: XCTSourceCodeContext { XCTSourceCodeContext() }
}

// https://developer.apple.com/documentation/xctest/xctestobservation
public protocol XCTestObservation: NSObjectProtocol {
    // https://developer.apple.com/documentation/xctest/xctestobservation/testbundlewillstart(_:)
    func testBundleWillStart(_ testBundle: Bundle)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testbundledidfinish(_:)
    func testBundleDidFinish(_ testBundle: Bundle)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testsuite(_:didrecord:)-3rk9k
    // @objc(testSuite:didRecordIssue:)
    func testSuite(_ testSuite: XCTestSuite, didRecord issue: XCTIssue)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testsuitedidfinish(_:)
    func testSuiteDidFinish(_ testSuite: XCTestSuite)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testcasewillstart(_:)
    func testCaseWillStart(_ testCase: XCTestCase)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testcase(_:didrecord:)-4cou6
    // @objc(testCase:didRecordIssue:)
    func testCase(_ testCase: XCTestCase, didRecord issue: XCTIssue)
    // https://developer.apple.com/documentation/xctest/xctestobservation/testcasedidfinish(_:)
    func testCaseDidFinish(_ testCase: XCTestCase)
}

// not read: https://developer.apple.com/documentation/xctest/xctestobservationcenter
open class XCTestObservationCenter: NSObject {
    // not read: https://developer.apple.com/documentation/xctest/xctestobservationcenter/shared
    open class var shared: XCTestObservationCenter { XCTestObservationCenter() }
    // not read: https://developer.apple.com/documentation/xctest/xctestobservationcenter/addtestobserver(_:)
    open func addTestObserver(_ testObserver: any XCTestObservation) {}
}

// not read: https://developer.apple.com/documentation/xctest/xctfail(_:file:line:)
public func XCTFail(
    _ message: String = "", file: StaticString = #filePath, line: UInt = #line
) {}
