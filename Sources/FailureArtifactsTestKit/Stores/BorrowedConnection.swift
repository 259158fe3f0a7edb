internal import CFailureArtifactsSQLite
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import Foundation

/// A connection borrowed from a store, used as any client uses it.
struct BorrowedConnection {
    let handle: OpaquePointer

    /// Runs one or more statements and drops their rows.
    func execute(_ sql: String) throws(TestStoreError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else {
            throw TestStoreError(SQLiteError("run '\(sql)'", handle: handle))
        }
    }

    /// Runs one or more statements in a transaction.
    func transaction(_ sql: String) throws(TestStoreError) {
        try execute("BEGIN")
        do throws(TestStoreError) {
            try execute(sql)
            try execute("COMMIT")
        } catch {
            // An error may have ended the transaction already.
            try? execute("ROLLBACK")
            throw error
        }
    }

    /// Runs one statement.
    func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws(TestStoreError) -> [[SQLiteValue]] {
        do throws(SQLiteError) {
            let statement = try Statement(sql, on: handle)
            guard statement.parameterCount == arguments.count else {
                throw SQLiteError(
                    "run '\(sql)'", code: SQLITE_RANGE,
                    message:
                        "it has \(statement.parameterCount) parameters, and \(arguments.count) values")
            }
            try statement.bind(arguments.map(\.value))
            var rows: [[SQLiteValue]] = []
            while try statement.step() {
                rows.append((0..<statement.columnCount).map { SQLiteValue(statement.value(at: $0)) })
            }
            return rows
        } catch {
            throw TestStoreError(error)
        }
    }

    /// Returns the texts in the first column.
    func texts(_ sql: String, _ arguments: [SQLiteValue] = []) throws(TestStoreError) -> [String] {
        try rows(sql, arguments).compactMap { row in
            if case .text(let text)? = row.first { return text }
            return nil
        }
    }

    /// Returns the integer in the first row and column; 0 without one.
    func integer(_ sql: String) throws(TestStoreError) -> Int64 {
        if case .integer(let number)? = try rows(sql).first?.first { return number }
        return 0
    }
}
