import CCulpritsSQLite

/// A value of a column or a parameter.
package enum Value: Equatable, Sendable {
    case null
    case integer(Int)
    case real(Double)
    case text(String)

    /// The integer; nil for other types.
    package var int: Int? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// The text; nil for other types.
    package var string: String? {
        if case .text(let value) = self { value } else { nil }
    }
}

extension Value: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .text(value) }
    package init(nilLiteral: ()) { self = .null }

    init(_ value: Int) { self = .integer(value) }
    init(_ value: Int?) { self = value.map(Value.integer) ?? .null }
    init(_ value: String?) { self = value.map(Value.text) ?? .null }
}

/// An error of SQLite.
package struct SQLError: Error, CustomStringConvertible {
    package let code: Int32
    package let message: String
    package let sql: String

    package var description: String { "SQLite error \(code): \(message) - while executing '\(sql)'" }
}

/// A connection to a database.
package final class Connection {
    private let handle: OpaquePointer

    package enum JournalMode: String {
        case wal
        case delete
    }

    package init(path: String, journalMode: JournalMode = .wal, busyTimeout: Int32 = 0) throws {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            sqlite3_close(handle)
            throw SQLError(code: code, message: "can't open the database", sql: path)
        }
        self.handle = handle
        sqlite3_busy_timeout(handle, busyTimeout)
        try run("PRAGMA journal_mode = \(journalMode.rawValue)")
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// The key of the last inserted row.
    package var lastInsertID: Int { Int(sqlite3_last_insert_rowid(handle)) }

    /// Runs statements without parameters.
    package func run(_ script: String) throws {
        guard sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK else { throw error(script) }
    }

    /// Runs one statement, and returns the number of changed rows.
    @discardableResult
    package func execute(_ sql: String, _ values: Value...) throws -> Int {
        _ = try rows(of: sql, values)
        return Int(sqlite3_changes(handle))
    }

    /// Returns the rows of a query.
    package func query(_ sql: String, _ values: Value...) throws -> [[Value]] {
        try rows(of: sql, values)
    }

    /// Returns the first column of a query's first row.
    package func scalar(_ sql: String, _ values: Value...) throws -> Value {
        try rows(of: sql, values).first?.first ?? .null
    }

    /// Runs the body in a transaction, which an error rolls back.
    package func transaction<T>(_ body: () throws -> T) throws -> T {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            try? run("ROLLBACK")
            throw error
        }
    }

    /// Returns a cursor, which reads the rows of a query one by one.
    package func cursor(_ sql: String) throws -> Cursor {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw error(sql)
        }
        return Cursor(statement, of: self)
    }

    private func rows(of sql: String, _ values: [Value]) throws -> [[Value]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw error(sql) }
        defer { sqlite3_finalize(statement) }
        for (index, value) in zip(Int32(1)..., values) { bind(value, to: statement, at: index) }
        var rows: [[Value]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append((0..<sqlite3_column_count(statement)).map { column($0, of: statement) })
            case SQLITE_DONE: return rows
            default: throw error(sql)
            }
        }
    }

    private func bind(_ value: Value, to statement: OpaquePointer?, at index: Int32) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let value): sqlite3_bind_int64(statement, index, Int64(value))
        case .real(let value): sqlite3_bind_double(statement, index, value)
        case .text(let value): sqlite3_bind_text(statement, index, value, -1, transient)
        }
    }

    fileprivate func column(_ index: Int32, of statement: OpaquePointer?) -> Value {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: .integer(Int(sqlite3_column_int64(statement, index)))
        case SQLITE_FLOAT: .real(sqlite3_column_double(statement, index))
        case SQLITE_TEXT: .text(String(cString: sqlite3_column_text(statement, index)))
        default: .null
        }
    }

    private func error(_ sql: String) -> SQLError {
        SQLError(
            code: sqlite3_extended_errcode(handle), message: String(cString: sqlite3_errmsg(handle)),
            sql: sql)
    }
}

/// The rows of a query that is still running.
package final class Cursor {
    private let statement: OpaquePointer
    private let connection: Connection

    fileprivate init(_ statement: OpaquePointer, of connection: Connection) {
        self.statement = statement
        self.connection = connection
    }

    deinit {
        sqlite3_finalize(statement)
    }

    /// Returns the next row; nil at the end.
    package func next() -> [Value]? {
        guard sqlite3_step(statement) == SQLITE_ROW else { return nil }
        return (0..<sqlite3_column_count(statement)).map { connection.column($0, of: statement) }
    }
}
