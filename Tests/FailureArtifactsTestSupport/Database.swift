import CFailureArtifactsSQLite

/// A connection as an application opens it, with SQLite's C API.
///
/// SQLite's own mutex guards the handle; `close()` is called when no other thread uses it.
package final class Database: @unchecked Sendable {
    /// An error of SQLite.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    package private(set) var handle: OpaquePointer?

    /// Opens a database, and creates it if it doesn't exist.
    package init(_ path: String) throws {
        guard sqlite3_open(path, &handle) == SQLITE_OK else {
            throw Failure(description: "'\(path)' cannot be opened: \(message)")
        }
    }

    deinit { close() }

    package func close() {
        sqlite3_close_v2(handle)
        handle = nil
    }

    /// Runs one or more statements and drops their rows.
    package func execute(_ sql: String) throws {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw failure(sql) }
    }

    /// Runs one statement and returns the texts in its first column; a NULL is `NULL`.
    package func texts(_ sql: String) throws -> [String] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else {
            throw failure(sql)
        }
        defer { sqlite3_finalize(statement) }
        var texts: [String] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                texts.append(sqlite3_column_text(statement, 0).map { String(cString: $0) } ?? "NULL")
            case SQLITE_DONE: return texts
            default: throw failure(sql)
            }
        }
    }

    private func failure(_ sql: String) -> Failure { Failure(description: "\(message): \(sql)") }

    private var message: String { String(cString: sqlite3_errmsg(handle)) }
}
