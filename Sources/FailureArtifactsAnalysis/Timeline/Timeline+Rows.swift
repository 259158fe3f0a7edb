internal import FailureArtifactsReading
package import FailureArtifactsSQLite

extension Timeline {
    static func row(
        _ change: RowChange, in table: ChangedTable, columns: Set<String>? = nil
    ) -> Finding.Row {
        let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
        let cells = change.cells.filter { columns?.contains(folded($0.column)) ?? true }
        return Finding.Row(
            table: table.table.name,
            key: Finding.Row.key(names, change.key),
            change: .init(change.kind), columns: cells)
    }

    /// Returns the columns that identify a row of a table: its primary key, or the rowid.
    func keyColumns(of table: String) -> [String] { schema.keyColumns(of: table) }

    /// The application's tables that have rows of their own.
    var tables: [TableShape] { schema.applicationTables }

    /// Runs a query and returns its rows.
    func rows(
        _ sql: String, _ values: [Value] = [], limit: Int = 100
    ) throws(SQLiteError) -> [[StoredValue]] {
        let statement = try connection.prepare(sql)
        try statement.bind(values)
        var rows: [[StoredValue]] = []
        while rows.count < limit, try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
        }
        return rows
    }

    /// Returns the number in the only row of a query.
    func count(_ sql: String) throws(SQLiteError) -> Int64 { try connection.integer(of: sql) }
}

extension Finding.Row.Change {
    init(_ kind: RowChange.Kind) {
        self =
            switch kind {
            case .inserted: .inserted
            case .updated: .updated
            case .deleted: .deleted
            }
    }
}

extension RowChange {
    func cell(_ column: String) -> Cell? { cells.first { folded($0.column) == folded(column) } }
}

extension StoredValue {
    /// The value to bind in a query; nil for a value that was cut.
    package var bindable: Value? {
        if isCut { return nil }
        return switch content {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob(bytes)
        }
    }

    var isNull: Bool { content == .null }

    /// The text; nil if the value isn't one.
    var string: String? {
        guard case .text(let bytes) = content else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value as a number; nil if it isn't one.
    var number: Double? {
        switch content {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}
