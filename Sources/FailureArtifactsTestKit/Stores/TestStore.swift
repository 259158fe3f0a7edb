internal import CFailureArtifactsSQLite

/// A store that a test can have for itself: what the kit needs to know of a SQLite library.
///
/// ```swift
/// final class Fruits: TestStore {
///     let queue: DatabaseQueue
///     init(at location: StoreLocation) throws { queue = try DatabaseQueue(path: location.path) }
///     func close() throws { try queue.close() }
///     func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
///         try queue.inDatabase { try body($0.sqliteConnection!) }
///     }
/// }
/// ```
///
/// The kit calls a store on the thread of the test that uses it.
public protocol TestStore: AnyObject, Sendable {
    /// Opens the store, which is created where there is none.
    ///
    /// - Parameter location: Where it is. A store at ``StoreLocation/devNull`` is to run
    ///   ``StoreLocation/setupAtDevNull`` first.
    /// - Throws: Why it cannot be opened. The test fails with this reason.
    init(at location: StoreLocation) throws

    /// Closes the store; called once by the kit, after the test's teardown.
    ///
    /// - Throws: Why that is impossible, such as a statement that still runs. The test fails with this
    ///   reason.
    func close() throws

    /// Lends the connection that writes.
    ///
    /// SQL scripts, ``deleteAllRows(keeping:)`` and copies of stores that are not in a file need it; a library
    /// that has no such thing leaves the default, which throws.
    ///
    /// - Parameter body: Gets the `sqlite3 *`, which nobody else uses meanwhile and which is in no
    ///   transaction.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or that there is no connection to lend.
    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result
}

extension TestStore {
    /// Throws: the store lends no connection.
    public func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        throw TestStoreError(
            .noConnection,
            "\(Self.self) does not lend its connection, which is needed here: implement "
                + "'withConnection(_:)' of TestStore.")
    }
}
