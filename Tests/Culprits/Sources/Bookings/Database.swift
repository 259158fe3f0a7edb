import CCulpritsSQLite
import Foundation

struct DatabaseError: Error, CustomStringConvertible {
    let description: String
}

/// A connection that prepares each statement once.
///
/// Closures bind its parameters and read its rows.
final class Database {
    private var handle: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    init(path: String) throws {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK else { throw lastError() }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    func script(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw lastError() }
    }

    func change(_ sql: String, bind: (Binder) -> Void = { _ in }) throws {
        _ = try rows(sql, bind: bind) { _ in }
    }

    func rows<Result>(
        _ sql: String, bind: (Binder) -> Void = { _ in }, read: (Row) -> Result
    ) throws -> [Result] {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        bind(Binder(statement: statement))
        var results: [Result] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: results.append(read(Row(statement: statement)))
            case SQLITE_DONE: return results
            default: throw lastError()
            }
        }
    }

    private func prepared(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw lastError()
        }
        statements[sql] = statement
        return statement
    }

    private func lastError() -> DatabaseError {
        DatabaseError(description: String(cString: sqlite3_errmsg(handle)))
    }
}

struct Binder {
    let statement: OpaquePointer

    func text(_ index: Int32, _ value: String?) {
        guard let value else { return }
        sqlite3_bind_text(
            statement, index, value, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
    }

    func integer(_ index: Int32, _ value: Int) {
        sqlite3_bind_int64(statement, index, Int64(value))
    }
}

struct Row {
    let statement: OpaquePointer

    func text(_ column: Int32) -> String? {
        sqlite3_column_text(statement, column).map { String(cString: $0) }
    }

    func integer(_ column: Int32) -> Int {
        Int(sqlite3_column_int64(statement, column))
    }
}
