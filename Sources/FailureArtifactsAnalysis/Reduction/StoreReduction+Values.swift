internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreReduction {
    /// A value that could be simpler.
    private struct Cell {
        let table: ReducibleRows.Table
        let key: [Value]
        let column: String
        let value: Value
        /// The simplest value that the column takes: NULL, or an empty text or BLOB.
        let simplest: Value
    }

    /// The maximum number of values to look at.
    private static let cellLimit = 2000

    /// Replaces values by NULL, or else by shorter ones.
    func reduceValues() throws {
        let cells = try replaceableCells()
        let needed = try leaveOutParts(of: cells.count) { connection, changed throws(SQLiteError) in
            for index in changed {
                try Self.set(cells[index], to: cells[index].simplest, in: connection)
            }
        }
        for index in needed.sorted() { try shorten(cells[index]) }
    }

    /// Halves a text or a BLOB as often as the check holds.
    private func shorten(_ cell: Cell) throws {
        // Each run of a command takes long, and short texts are readable.
        let minimum = options.maximumRuns == nil ? 8 : 64
        var value = cell.value
        while let half = value.half(atLeast: minimum) {
            let isAccepted = try accept { connection throws(SQLiteError) in
                try Self.set(cell, to: half, in: connection)
            }
            guard isAccepted else { return }
            value = half
        }
    }

    private static func set(
        _ cell: Cell, to value: Value, in connection: borrowing Connection
    ) throws(SQLiteError) {
        let statement = try connection.prepare(
            "UPDATE \(cell.table.name) SET \(quotedIdentifier(cell.column)) = ? WHERE \(cell.table.condition)"
        )
        try statement.bind([value] + cell.key)
        _ = try statement.step()
    }

    /// Returns the values that can be replaced on their own without violating a constraint.
    private func replaceableCells() throws -> [Cell] {
        let connection = try Connection.untrusted(best, limits: limits)
        let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
        guard rows.tables.reduce(0, { $0 + $1.rows.count * $1.shape.columns.count }) <= Self.cellLimit
        else { return [] }
        var cells: [Cell] = []
        for table in rows.tables {
            let fixed = rows.referenced[folded(table.shape.name)] ?? []
            let columns = table.shape.columns.filter { column in
                column.keyPosition == 0 && !column.isGenerated && !fixed.contains(folded(column.name))
            }
            guard !columns.isEmpty else { continue }
            let names = columns.map { quotedIdentifier($0.name) }.joined(separator: ", ")
            let statement = try connection.prepare(
                "SELECT \(names) FROM \(table.name) WHERE \(table.condition)")
            for row in table.rows {
                statement.reset()
                try statement.bind(rows.keys[row])
                guard try statement.step() else { continue }
                for (index, column) in columns.enumerated() {
                    let value = statement.value(at: index)
                    guard let simplest = value.simplest(isNullable: !column.isNotNull) else { continue }
                    cells.append(
                        Cell(
                            table: table, key: rows.keys[row], column: column.name, value: value,
                            simplest: simplest))
                }
            }
        }
        return try obeyingConstraints(cells)
    }

    private func obeyingConstraints(_ cells: [Cell]) throws -> [Cell] {
        var replaceable: [Cell] = []
        let isTried = try withCopy { connection throws(SQLiteError) in
            for cell in cells {
                try connection.execute("SAVEPOINT value")
                do throws(SQLiteError) {
                    try Self.set(cell, to: cell.simplest, in: connection)
                    replaceable.append(cell)
                } catch {
                    if error.isInterrupted { throw error }
                }
                try connection.execute("ROLLBACK TO value; RELEASE value")
            }
        }
        return isTried ? replaceable : []
    }
}

extension Value {
    /// Returns the simplest value that a column takes; nil if no value is simpler.
    fileprivate func simplest(isNullable: Bool) -> Value? {
        switch self {
        case .null: nil
        case _ where isNullable: .null
        case .text(let text): text.isEmpty ? nil : .text("")
        case .blob(let bytes): bytes.isEmpty ? nil : .blob([])
        case .integer, .real: nil
        }
    }

    /// Returns the first half of a text or BLOB; nil for other values and short ones.
    fileprivate func half(atLeast minimum: Int) -> Value? {
        switch self {
        case .text(let text) where text.count > minimum: .text(String(text.prefix(text.count / 2)))
        case .blob(let bytes) where bytes.count > minimum: .blob(Array(bytes.prefix(bytes.count / 2)))
        default: nil
        }
    }
}
