internal import CFailureArtifactsCapture

/// Who is told of each connection that is opened, and can tell of tests.
protocol ConnectionObserver: AnyObject, Sendable {
    /// The test on whose behalf this very thread uses connections; nil where there is none.
    var currentTestID: TestID? { get }

    /// A connection was opened: has to register it, once.
    ///
    /// Called on the opening thread, inside the open.
    func connectionOpened(_ connection: OpenedConnection)

    /// A connection is used whose test has ended; reported at least once for each test that uses it.
    ///
    /// Called on the thread of a statement, before it starts.
    func leftConnectionUsed(_ connection: LeftConnection)
}

/// A connection whose test has ended, inside of a statement.
struct LeftConnection {
    private let record: UnsafeMutablePointer<failure_artifacts_connection>

    init(_ record: UnsafeMutablePointer<failure_artifacts_connection>) { self.record = record }

    /// The store's file; nil where it has none.
    var path: UnsafePointer<CChar>? { UnsafePointer(record.pointee.path) }

    /// The test that opened it.
    var owner: TestID { record.pointee.registration.owner }
}

/// A connection inside its open.
struct OpenedConnection {
    private let record: UnsafeMutablePointer<failure_artifacts_connection>
    private let registry: ConnectionRegistry

    init(_ record: UnsafeMutablePointer<failure_artifacts_connection>, _ registry: ConnectionRegistry) {
        self.record = record
        self.registry = registry
    }

    /// The store's file; nil where it has none.
    var path: UnsafePointer<CChar>? { UnsafePointer(record.pointee.path) }

    /// Adds it to the connections that are open.
    ///
    /// - Parameter test: The test that opens it; nil where none runs.
    /// - Returns: The test whose connection it is; nil where any test may use it or none runs.
    func register(by test: TestID?) -> TestID? {
        registry.register(record, by: test)
        let owner = record.pointee.registration.owner
        return owner == 0 ? nil : owner
    }
}
