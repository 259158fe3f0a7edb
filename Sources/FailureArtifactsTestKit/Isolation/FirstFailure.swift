package import XCTest

extension XCTestCase {
    /// Runs a test with its setup and teardown, and stops it at its first failure if that is wanted and possible.
    ///
    /// - `stops`: true to set `continueAfterFailure` to false first.
    package func invoke(stoppingAtFirstFailure stops: Bool, _ body: () -> Void) {
        if stops { continueAfterFailure = false }
        body()
        // On Apple platforms, recording a failure leaves the caller by an exception while this property is false. The
        // caller has yet to close stores, and may record failures meanwhile.
        continueAfterFailure = true
    }
}
