internal import CFailureArtifactsSQLite

/// A connection borrowed from a store, used as any client uses it.
struct BorrowedConnection {
    let handle: OpaquePointer

    /// Runs one or more statements and drops their rows.
    func execute(_ sql: String) throws(TestStoreError) {
        guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw error(sql) }
    }

    /// Runs one statement.
    func rows(_ sql: String, _ arguments: [SQLiteValue] = []) throws(TestStoreError) -> [[SQLiteValue]] {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { throw error(sql) }
        defer { sqlite3_finalize(statement) }
        let expected = Int(sqlite3_bind_parameter_count(statement))
        guard arguments.count == expected else {
            throw TestStoreError(
                .sqlite(SQLITE_RANGE),
                "The number of values for the parameters of '\(sql)' is \(arguments.count) instead of \(expected)."
            )
        }
        for (index, argument) in arguments.enumerated() {
            guard argument.bind(to: statement, Int32(index + 1)) == SQLITE_OK else { throw error(sql) }
        }
        var rows: [[SQLiteValue]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                rows.append((0..<sqlite3_column_count(statement)).map { SQLiteValue(statement, $0) })
            case SQLITE_DONE: return rows
            default: throw error(sql)
            }
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

    private func error(_ sql: String) -> TestStoreError {
        TestStoreError(
            .sqlite(sqlite3_extended_errcode(handle)),
            "SQLite cannot run '\(sql)': \(String(cString: sqlite3_errmsg(handle))) "
                + "(SQLite error \(sqlite3_extended_errcode(handle))).")
    }
}

/// Returns a name as a quoted identifier of SQL.
func quoted(_ name: String) -> String {
    // By scalars: in a String, a quote and a combining mark after it are one character.
    var result = "\""
    for scalar in name.unicodeScalars {
        if scalar == "\"" { result.unicodeScalars.append(scalar) }
        result.unicodeScalars.append(scalar)
    }
    return result + "\""
}
