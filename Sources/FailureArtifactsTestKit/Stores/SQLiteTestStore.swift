internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

/// A plain SQLite store, for tests that need no library.
///
/// Foreign keys are enforced. Any thread may use the store; calls wait for each other.
public final class SQLiteTestStore: TestStore {
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// The connection; nil after the store is closed.
    private let handle: Lock<Handle?>
    private let name: String

    /// The store's location, for opening further connections.
    public let location: StoreLocation

    /// Opens a store, and creates it if it doesn't exist.
    ///
    /// - Parameter location: The store's location.
    /// - Throws: An error with the reason ``TestStoreError/Reason/sqlite(_:)`` if SQLite cannot open the store.
    public init(at location: StoreLocation) throws(TestStoreError) {
        var pointer: OpaquePointer?
        var flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX
        flags |= SQLITE_OPEN_EXRESCODE
        var path = location.path
        switch location {
        case .memory(let name):
            flags |= SQLITE_OPEN_URI
            path = Self.uri(inMemory: name)
        case .devNull:
            // Without `nolock`, several stores at once would lock each other out.
            flags |= SQLITE_OPEN_URI
            path = "file:/dev/null?nolock=1"
        case .file: break
        }
        name = location.path
        self.location = location
        let code = sqlite3_open_v2(path, &pointer, flags, nil)
        guard code == SQLITE_OK, let opened = pointer else {
            let message = pointer.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
            sqlite3_close_v2(pointer)
            throw TestStoreError(
                .sqlite(code), "SQLite cannot open '\(path)': \(message) (SQLite error \(code)).")
        }
        handle = Lock(Handle(pointer: opened))
        if location == .devNull { try execute(StoreLocation.setupAtDevNull) }
        try execute("PRAGMA foreign_keys = ON")
    }

    deinit {
        handle.withLock { handle in _ = sqlite3_close_v2(handle?.pointer) }
    }

    /// Closes the store.
    ///
    /// Later calls of other methods throw an error; closing the store again has no effect.
    public func close() {
        handle.withLock { handle in
            sqlite3_close_v2(handle?.pointer)
            handle = nil
        }
    }

    /// Runs one or more statements and drops their rows.
    ///
    /// - Parameter sql: The statements, separated by semicolons.
    /// - Throws: An error if SQLite cannot compile or run one of them, or if the store is closed. The statements before
    ///   it have run.
    public func execute(_ sql: String) throws(TestStoreError) {
        try borrow { (connection) throws(TestStoreError) in try connection.execute(sql) }
    }

    /// Runs one statement and returns its rows.
    ///
    /// - Parameters:
    ///   - sql: A single statement; text after it is ignored.
    ///   - arguments: The values of the statement's parameters `?`, in order.
    /// - Returns: The rows, each with its values in the order of the columns.
    /// - Throws: An error if SQLite cannot compile or run the statement, if the number of arguments is wrong, or if the
    ///   store is closed.
    @discardableResult
    public func rows(
        _ sql: String, _ arguments: SQLiteValue...
    ) throws(TestStoreError) -> [[SQLiteValue]] {
        try borrow { (connection) throws(TestStoreError) in try connection.rows(sql, arguments) }
    }

    /// Runs one statement and returns the first value of its first row.
    ///
    /// - Parameters:
    ///   - sql: A single statement; text after it is ignored.
    ///   - arguments: The values of the statement's parameters `?`, in order.
    /// - Returns: The value; ``SQLiteValue/null`` without a row.
    /// - Throws: An error if SQLite cannot compile or run the statement, if the number of arguments is wrong, or if the
    ///   store is closed.
    public func value(_ sql: String, _ arguments: SQLiteValue...) throws(TestStoreError) -> SQLiteValue {
        try borrow { (connection) throws(TestStoreError) in
            try connection.rows(sql, arguments).first?.first ?? .null
        }
    }

    /// Lends the connection to a closure; other calls wait for its end.
    ///
    /// - Parameter body: A closure that takes the `sqlite3 *`. It must not call this store's methods, which would wait
    ///   for its own end.
    /// - Returns: The value that `body` returns.
    /// - Throws: The error that `body` throws, or a ``TestStoreError`` if the store is closed.
    public func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try handle.withLock { handle in
            guard let handle else { throw closed }
            return try body(handle.pointer)
        }
    }

    private func borrow<Result>(
        _ body: (BorrowedConnection) throws(TestStoreError) -> Result
    ) throws(TestStoreError) -> Result {
        try handle.withLock { (handle) throws(TestStoreError) in
            guard let handle else { throw closed }
            return try body(BorrowedConnection(handle: handle.pointer))
        }
    }

    private var closed: TestStoreError {
        TestStoreError(.sqlite(SQLITE_MISUSE), "The store at '\(name)' is closed.")
    }

    /// Returns the URI of a separate database in memory that has a name in a bundle.
    ///
    /// The memory VFS shares a database among connections by the whole path; a bundle shows its last component.
    private static func uri(inMemory name: String) -> String {
        var encoded = ""
        for byte in name.utf8 {
            let isLetter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
            let isDigit = UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            if isLetter || isDigit {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                let digits = String(byte, radix: 16)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return "file:/\(UUID().uuidString)/\(encoded)?vfs=memdb"
    }
}
