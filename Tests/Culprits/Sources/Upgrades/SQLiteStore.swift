import CCulpritsSQLite
import Foundation

/// A connection of the C interface.
final class SQLiteStore {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    enum Value {
        case integer(Int)
        case text(String)
        case null
    }

    private var handle: OpaquePointer?

    init(path: String, journalMode: String = "wal") throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else { throw failure("open") }
        try execute("PRAGMA journal_mode = \(journalMode)")
        try execute("PRAGMA foreign_keys = ON")
    }

    deinit { sqlite3_close_v2(handle) }

    /// Runs statements that have no parameters.
    func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    /// Runs one statement and returns its rows as strings.
    @discardableResult
    func run(_ sql: String, _ values: Value...) throws -> [[String?]] {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw failure(sql)
        }
        for (index, value) in values.enumerated() {
            let position = Int32(index + 1)
            switch value {
            case .integer(let number): sqlite3_bind_int64(statement, position, Int64(number))
            case .text(let text):
                sqlite3_bind_text(
                    statement, position, text, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            case .null: sqlite3_bind_null(statement, position)
            }
        }
        var rows: [[String?]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append(
                    (0..<sqlite3_column_count(statement)).map { column in
                        sqlite3_column_text(statement, column).map { String(cString: $0) }
                    })
            case SQLITE_DONE: return rows
            default: throw failure(sql)
            }
        }
    }

    /// Returns the first column of the first row.
    func integer(_ sql: String, _ value: Value = .null) throws -> Int {
        Int(try run(sql, value).first?.first.flatMap { $0 } ?? "") ?? 0
    }

    /// Runs `body` in a transaction.
    func transaction(_ body: () throws -> Void) throws {
        try execute("BEGIN IMMEDIATE")
        do {
            try body()
            try execute("COMMIT")
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }

    private func failure(_ sql: String) -> Failure {
        Failure(description: "\(String(cString: sqlite3_errmsg(handle))): \(sql)")
    }
}
