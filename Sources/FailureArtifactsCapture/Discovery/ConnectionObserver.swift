internal import CFailureArtifactsCapture

/// A receiver of connection events that also identifies the current test.
protocol ConnectionObserver: AnyObject, Sendable {
    /// The test that this thread uses connections for; nil if no test runs on it.
    var currentTestID: TestID? { get }
    /// The suite of that test; nil if no other test can run at the same time.
    var currentSuite: String? { get }

    /// Handles an opened connection, and must register it exactly once.
    ///
    /// Called on the opening thread, during the open.
    func connectionOpened(_ connection: OpenedConnection)

    /// Handles the use of a connection whose test has ended, or to a store in memory that no test has opened.
    ///
    /// Called at least once for each test that uses the connection. It runs on the thread of a statement, before the
    /// statement starts.
    func leftConnectionUsed(_ connection: LeftConnection)
}

/// A connection whose test has ended, or that no test has opened, during a statement.
struct LeftConnection {
    private let connection: RegisteredConnection

    init(_ connection: RegisteredConnection) { self.connection = connection }

    /// The store's file; nil if it has none.
    var path: UnsafePointer<CChar>? { UnsafePointer(connection.record.pointee.path) }

    /// The test that opened it; 0 if there was none.
    var owner: TestID { connection.owner }
}

/// A connection that is being opened.
struct OpenedConnection {
    private let record: UnsafeMutablePointer<failure_artifacts_connection>
    private let registry: ConnectionRegistry

    init(_ record: UnsafeMutablePointer<failure_artifacts_connection>, _ registry: ConnectionRegistry) {
        self.record = record
        self.registry = registry
    }

    /// The store's file; nil if it has none.
    var path: UnsafePointer<CChar>? { UnsafePointer(record.pointee.path) }

    /// Adds the connection to the open connections.
    ///
    /// Nil if any test may use it or none runs.
    ///
    /// - `test`: the test that opens it; nil if none runs.
    /// - `suite`: the suite of that test; nil if no other test can run at the same time.
    func register(by test: TestID?, in suite: String? = nil) -> TestID? {
        let owner = registry.register(record, by: test, in: suite)
        return owner == 0 ? nil : owner
    }
}
