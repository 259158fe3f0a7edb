import CSuiteSQLite

/// A market in a store in memory, as an application without a library has it.
///
/// One of its writes is wrong.
public final class RawMarket {
    private var handle: OpaquePointer?

    /// Creates the table.
    public init() {
        sqlite3_open(":memory:", &handle)
        run("CREATE TABLE fruit (name TEXT PRIMARY KEY, kilos INTEGER, cents INTEGER)")
    }

    deinit {
        sqlite3_close_v2(handle)
    }

    /// Runs a statement, and returns the first value of its last row.
    @discardableResult
    private func run(_ sql: String, _ name: String? = nil, _ values: [Int] = []) -> Int? {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK else { return nil }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() {
            sqlite3_bind_int64(statement, CInt(index + 1), Int64(value))
        }
        if let name {
            let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            sqlite3_bind_text(statement, CInt(values.count + 1), name, -1, copied)
        }
        var result: Int?
        while sqlite3_step(statement) == SQLITE_ROW {
            result = Int(sqlite3_column_int64(statement, 0))
        }
        return result
    }

    /// Adds a fruit.
    public func deliver(_ fruit: String, kilos: Int, cents: Int) {
        run("INSERT INTO fruit (kilos, cents, name) VALUES (?, ?, ?)", fruit, [kilos, cents])
    }

    /// Sells some kilos of a fruit; the update wrongly changes all other fruits.
    public func sell(_ fruit: String, kilos: Int) {
        run("UPDATE fruit SET kilos = kilos - ? WHERE name <> ?", fruit, [kilos])  // line: sold
    }

    /// Returns the amount of a fruit in kilos.
    public func kilos(of fruit: String) -> Int? {
        run("SELECT kilos FROM fruit WHERE name = ?", fruit)
    }
}
