internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
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
            let error = TestStoreError(SQLiteError("open '\(path)'", handle: pointer))
            sqlite3_close_v2(pointer)
            throw error
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

    /// Runs one statement and returns the first value of its first row.
    ///
    /// - Parameters:
    ///   - sql: A single statement.
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

extension TestStore {
    /// Deletes all rows of all tables, and resets the sequences of `AUTOINCREMENT`.
    ///
    /// Foreign keys, those with `RESTRICT` included, are checked after all rows are deleted. The deletion is one
    /// transaction, or a part of the open one: if it fails, no row is deleted.
    ///
    /// - Parameter kept: The names of tables to leave unchanged.
    /// - Throws: A ``TestStoreError`` if SQLite or a trigger refuses the deletion, if triggers fill a table again, or if
    ///   the store has no connection to lend; or the error that ``withConnection(_:)`` throws.
    public func deleteAllRows(keeping kept: Set<String> = []) throws {
        try withConnection { handle in
            try RowRemoval(BorrowedConnection(handle: handle), keeping: kept).run()
        }
    }
}

/// The deletion of all rows of a database's tables.
private struct RowRemoval {
    let connection: BorrowedConnection
    let tables: [String]

    init(_ connection: BorrowedConnection, keeping kept: Set<String>) throws(TestStoreError) {
        self.connection = connection
        let kept = Set(kept.map { $0.lowercased() })
        // A virtual table maintains its shadow tables itself.
        tables = try connection.texts(
            """
            SELECT name FROM pragma_table_list
            WHERE schema = 'main' AND type IN ('table', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
            ORDER BY name
            """
        ).filter { !kept.contains($0.lowercased()) }
    }

    func run() throws(TestStoreError) {
        let name = "failure_artifacts_delete_all_rows"
        try connection.execute("SAVEPOINT \(name)")
        do throws(TestStoreError) {
            // Until the end of the transaction; meanwhile RESTRICT acts as NO ACTION.
            try connection.execute("PRAGMA defer_foreign_keys = ON")
            try deleteRows()
            try connection.execute("RELEASE \(name)")
        } catch {
            try? connection.execute("ROLLBACK TO \(name); RELEASE \(name)")
            throw error
        }
    }

    private func deleteRows() throws(TestStoreError) {
        // Triggers may write to a table that was emptied before.
        for _ in 0...2 {
            for table in tables { try connection.execute("DELETE FROM \(quotedIdentifier(table))") }
            if try filledTable() == nil { return try resetSequences() }
        }
        guard let table = try filledTable() else { return }
        throw TestStoreError(
            .notEmptied,
            "The table '\(table)' cannot be emptied: triggers fill it again whenever rows are deleted.")
    }

    private func filledTable() throws(TestStoreError) -> String? {
        for table in tables {
            if try !connection.rows("SELECT 1 FROM \(quotedIdentifier(table)) LIMIT 1").isEmpty {
                return table
            }
        }
        return nil
    }

    private func resetSequences() throws(TestStoreError) {
        let exists = try connection.integer(
            "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'")
        guard exists > 0 else { return }
        for table in tables {
            _ = try connection.rows("DELETE FROM sqlite_sequence WHERE name = ?", [.text(table)])
        }
    }
}
