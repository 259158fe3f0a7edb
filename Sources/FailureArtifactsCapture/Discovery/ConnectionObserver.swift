internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle

/// A receiver of connection events that also identifies the current test.
protocol ConnectionObserver: AnyObject, Sendable {
    /// The test that this thread uses connections for; nil if no test runs on it.
    var currentTestID: TestID? { get }
    /// The suite of that test; nil if no other test can run at the same time.
    var currentSuite: String? { get }

    /// Handles a connection that is being opened, on the opening thread.
    ///
    /// It must call `register` exactly once, with the test that opens the connection, and with that test's suite if
    /// other tests can run at the same time. The result is the connection's owner; 0 if any test may use it or none
    /// runs.
    func connectionOpened(
        _ path: UnsafePointer<CChar>?, register: (_ test: TestID?, _ suite: String?) -> TestID)

    /// Handles the use of a connection whose test has ended, or to a store in memory that no test has opened.
    ///
    /// Called at least once for each test that uses the connection. It runs on the thread of a statement, before the
    /// statement starts.
    func leftConnectionUsed(_ path: UnsafePointer<CChar>?, ownedBy owner: TestID)
}
