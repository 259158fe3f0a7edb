internal import XCTest

#if canImport(ObjectiveC)
internal import Foundation
#endif

/// Undocumented behavior of XCTest that the observer relies on.
///
/// Verified with the swift-corelibs-xctest of Swift 6.3.1 on Linux; unverified with Apple's XCTest.
/// `FailureArtifactsTests` has a test for each declaration that Linux uses, so that a toolchain that behaves differently
/// is noticed.
enum Compatibility {
    #if canImport(ObjectiveC)
    /// Returns true if an issue fails the test; since Xcode 26 an issue may be a warning.
    ///
    /// Read by its name, because earlier versions don't have the property. If it gets another name, warnings leave
    /// bundles too.
    static func isFailure(_ issue: XCTIssue) -> Bool {
        // The structure bridges to an object.
        guard let reference = issue as Any as? NSObject,
            reference.responds(to: NSSelectorFromString("isFailure"))
        else { return true }
        return reference.value(forKey: "isFailure") as? Bool ?? true
    }
    #else
    /// Returns true if a reported failure is an error that left the test, rather than a failed assertion.
    ///
    /// XCTest reports such errors at the file `<EXPR>`, line 0. If it reports another location, the bundle calls the
    /// error an assertion at that location.
    static func isThrownError(file: String?, line: Int) -> Bool { file == "<EXPR>" || line == 0 }

    /// Returns true if the process continues after XCTest has reported a failure of a test to its observers.
    ///
    /// If `continueAfterFailure` reads false, XCTest ends the process without another callback. If it no longer does,
    /// the bundle is written before the test ends rather than after it.
    static func processContinues(afterFailureOf testCase: XCTestCase) -> Bool {
        testCase.continueAfterFailure
    }
    #endif

    /// Adds a closure that runs after the test's own teardown blocks and before `tearDown()`.
    ///
    /// XCTest runs teardown blocks in reverse order. If it doesn't, the stores of a passing test are captured before
    /// some of its teardown blocks. Called by the observer when the test starts, before any of its code.
    static func addLastTeardownBlock(to testCase: XCTestCase, _ body: @escaping () -> Void) {
        testCase.addTeardownBlock(body)
    }
}

/// A test class's name, kept because creating it anew for each test is slow in a debug build.
struct SuiteName {
    let type: XCTestCase.Type
    let name: String
    /// The start of the names of the class's tests, except on Apple platforms.
    private let prefix: String

    init(of type: XCTestCase.Type) {
        self.type = type
        name = String(describing: type)
        prefix = name + "."
    }

    /// Returns the method's name in a test's name: `Class.method`, or `-[Module.Class method]` on Apple platforms.
    ///
    /// A name of another form is returned as it is.
    func methodName(of test: String) -> String {
        if test.hasPrefix(prefix) {
            // Counting bytes rather than characters: a debug build counts characters slowly.
            let start = test.utf8.index(test.startIndex, offsetBy: prefix.utf8.count)
            return String(test[start..<test.endIndex])
        }
        guard test.hasPrefix("-["), test.hasSuffix("]") else { return test }
        return test.dropLast().split(separator: " ", maxSplits: 1).last.map(String.init) ?? test
    }
}
