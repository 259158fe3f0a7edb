import CCulpritsSQLite

/// A connection whose statements are texts with literals.
final class Handle {
    struct Failure: Error { let message: String }

    private var pointer: OpaquePointer?

    init(_ path: String) throws {
        guard sqlite3_open(path, &pointer) == SQLITE_OK else { throw Failure(message: path) }
    }

    deinit { sqlite3_close(pointer) }

    /// Runs statements and returns the values of their rows.
    @discardableResult
    func run(_ sql: String) throws -> [[String?]] {
        final class Rows { var rows: [[String?]] = [] }
        let rows = Rows()
        let status = sqlite3_exec(
            pointer, sql,
            { context, count, values, _ in
                guard let context, let values else { return 1 }
                let row = (0..<Int(count)).map { index in values[index].map { String(cString: $0) } }
                Unmanaged<Rows>.fromOpaque(context).takeUnretainedValue().rows.append(row)
                return 0
            }, Unmanaged.passUnretained(rows).toOpaque(), nil)
        guard status == SQLITE_OK else {
            throw Failure(message: String(cString: sqlite3_errmsg(pointer)))
        }
        return rows.rows
    }
}

extension String {
    /// The text as a literal of SQL.
    var quoted: String { "'" + replacing("'", with: "''") + "'" }
}
