internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import Foundation

/// A plain SQLite store, for tests that need no library: SQL in, rows out.
///
/// Foreign keys are enforced. It may be used from any thread; calls wait for one another.
public final class SQLiteTestStore: TestStore {
    private struct Handle: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    /// Nil when it is closed.
    private let handle: Lock<Handle?>
    private let name: String

    /// Opens the store.
    ///
    /// - Parameter location: Where it is.
    /// - Throws: Why SQLite does not open it.
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
            // Several stores at once would lock each other out.
            flags |= SQLITE_OPEN_URI
            path = "file:/dev/null?nolock=1"
        case .file: break
        }
        name = location.path
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
    /// What is asked of it later fails; closing it again does nothing.
    public func close() {
        handle.withLock { handle in
            sqlite3_close_v2(handle?.pointer)
            handle = nil
        }
    }

    /// Runs one or more statements and drops their rows.
    ///
    /// - Parameter sql: The statements.
    /// - Throws: Why SQLite does not compile or run one of them.
    public func execute(_ sql: String) throws(TestStoreError) {
        try lend { (connection) throws(TestStoreError) in try connection.execute(sql) }
    }

    /// Runs one statement.
    ///
    /// - Parameters:
    ///   - sql: A single statement; what follows it is ignored.
    ///   - arguments: The values of its parameters `?`, in order.
    /// - Returns: Its rows, none for a statement that gives none.
    /// - Throws: Why SQLite does not compile or run it.
    @discardableResult
    public func rows(
        _ sql: String, _ arguments: SQLiteValue...
    ) throws(TestStoreError) -> [[SQLiteValue]] {
        try lend { (connection) throws(TestStoreError) in try connection.rows(sql, arguments) }
    }

    /// Runs one statement, for the first value of its first row.
    ///
    /// - Parameters:
    ///   - sql: A single statement; what follows it is ignored.
    ///   - arguments: The values of its parameters `?`, in order.
    /// - Returns: The value; NULL where there is no row.
    /// - Throws: Why SQLite does not compile or run it.
    public func value(_ sql: String, _ arguments: SQLiteValue...) throws(TestStoreError) -> SQLiteValue {
        try lend { (connection) throws(TestStoreError) in
            try connection.rows(sql, arguments).first?.first ?? .null
        }
    }

    /// Lends the connection.
    ///
    /// - Parameter body: Gets the `sqlite3 *`. It must not use this store itself.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, or that the store is closed.
    public func withConnection<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        try handle.withLock { handle in
            guard let handle else { throw closed }
            return try body(handle.pointer)
        }
    }

    private func lend<Result>(
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

    /// A database of its own in memory whose name can be seen, for what it is called in a bundle.
    ///
    /// The memory VFS shares databases by their whole name, of which the last part is the one that counts.
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
