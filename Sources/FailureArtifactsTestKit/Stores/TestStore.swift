internal import CFailureArtifactsSQLite

/// A type of store that the test kit can open, fill and close: the adapter to a SQLite library.
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
/// The kit calls a store's methods on the thread of the test that uses the store.
public protocol TestStore: AnyObject, Sendable {
    /// Opens a store, and creates it if it doesn't exist.
    ///
    /// - `location`: the store's location. A connection to ``StoreLocation/devNull`` must run
    ///   ``StoreLocation/setupAtDevNull`` first.
    init(at location: StoreLocation) throws

    /// Closes the store.
    ///
    /// The kit calls this method once, after the test's teardown.
    func close() throws

    /// Lends the connection that writes to a closure.
    ///
    /// SQL scripts, ``deleteAllRows(keeping:)``, and copies of stores that aren't files need it. The default
    /// implementation throws an error, for libraries that cannot lend their connection.
    ///
    /// - `body`: a closure that takes the `sqlite3 *`. Call it outside of a transaction, and let no other code
    ///   use the connection meanwhile.
    func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result
}

extension TestStore {
    /// Throws an error: by default a store cannot lend its connection.
    ///
    /// - Parameter body: A closure that isn't called.
    /// - Returns: Never.
    /// - Throws: An error with the reason ``TestStoreError/Reason/noConnection``.
    public func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        throw TestStoreError(
            .noConnection,
            "\(Self.self) cannot lend its connection, which is needed here. Implement "
                + "'withConnection(_:)' of TestStore.")
    }
}

extension TestStore {
    /// Runs one statement on the connection that writes, and returns its rows.
    ///
    /// - Parameters:
    ///   - sql: A single statement.
    ///   - arguments: The values of the statement's parameters `?`, in order.
    /// - Returns: The rows, each with its values in the order of the columns.
    /// - Throws: An error if SQLite cannot compile or run the statement, if the number of arguments is wrong, or if the
    ///   store cannot lend its connection.
    @discardableResult
    public func rows(_ sql: String, _ arguments: SQLiteValue...) throws -> [[SQLiteValue]] {
        try withConnection { try BorrowedConnection(handle: $0).rows(sql, arguments) }
    }

    /// Runs statements in one transaction on the connection that writes, and drops their rows.
    ///
    /// - Parameter sql: The statements, separated by semicolons, without `BEGIN` and `COMMIT`.
    /// - Throws: An error if SQLite cannot compile or run one of them, or the commit; none of them has run then. Or an
    ///   error if the store cannot lend its connection.
    public func transaction(_ sql: String) throws {
        try withConnection { try BorrowedConnection(handle: $0).transaction(sql) }
    }
}
