internal import FailureArtifactsSQLite

/// The `INSERT`, `UPDATE` and `DELETE` statements for the rows of one table.
struct RowStatements: ~Copyable {
    /// The table's name in SQL.
    let table: String
    /// True if changed rows are deleted and inserted again.
    ///
    /// This is necessary with further unique columns, because two rows may swap values that no two rows may
    /// share.
    let isRewritten: Bool

    private let literals: SQLLiterals
    /// The start of an `INSERT`, up to its values.
    private let insertion: String
    /// The positions of the written values among the columns of ``RowQueries/allRows(of:)``.
    private let writtenPlaces: [Int]
    /// The folded names of generated columns.
    private let generated: Set<String>
    /// The key's columns in SQL, and the collation to append to a text value in a comparison.
    private let keyColumns: [(name: String, collation: String)]

    init(_ table: ComparedTable, _ comparison: borrowing StoreComparison) throws(SQLiteError) {
        let shape = table.b ?? table.a
        self.table = quotedIdentifier(table.name)
        literals = try SQLLiterals(comparison.connection, encoding: comparison.b.encoding)
        generated = Set((shape?.columns ?? []).filter(\.isGenerated).map { folded($0.name) })

        let hasRowid = table.key == .rowid
        let rowidName = shape?.rowidName
        var names: [String] = []
        var places: [Int] = []
        if hasRowid, let rowidName {
            names.append(rowidName)
            places.append(0)
        }
        for (index, column) in table.columnsOfB.enumerated() where !generated.contains(folded(column)) {
            names.append(quotedIdentifier(column))
            places.append(index + (hasRowid ? 1 : 0))
        }
        writtenPlaces = places
        insertion = "INSERT INTO \(self.table)(\(names.joined(separator: ", "))) VALUES("

        switch table.match {
        case .key(let columns):
            keyColumns = columns.map {
                (quotedIdentifier($0.name), " COLLATE \(quotedIdentifier($0.collation))")
            }
            isRewritten = Self.hasFurtherUniqueness(table)
        case .rowid(_, let name):
            keyColumns = [(quotedIdentifier(name ?? "rowid"), "")]
            isRewritten =
                Self.hasFurtherUniqueness(table) || table.a?.primaryKeyIndex != nil
                || table.b?.primaryKeyIndex != nil
        case .none:
            keyColumns = []
            isRewritten = false
        }
    }

    private static func hasFurtherUniqueness(_ table: ComparedTable) -> Bool {
        (table.a?.hasFurtherUniqueness ?? false) || (table.b?.hasFurtherUniqueness ?? false)
    }

    /// Returns the statement that inserts the current row of a query with the columns of B.
    borrowing func insert(_ row: borrowing Statement) throws(SQLiteError) -> String {
        var values: [String] = []
        for place in writtenPlaces {
            values.append(try literals.literal(row.storedValue(at: place, limit: .max)))
        }
        return insertion + values.joined(separator: ", ") + ");\n"
    }

    borrowing func delete(_ row: RowChange) throws(SQLiteError) -> String {
        "DELETE FROM \(table) WHERE \(try condition(row.key));\n"
    }

    /// Returns the statement that updates a row; nil if only generated columns differ.
    borrowing func update(_ row: RowChange) throws(SQLiteError) -> String? {
        var assignments: [String] = []
        for cell in row.cells where !generated.contains(folded(cell.column)) {
            guard let new = cell.new else { continue }
            assignments.append("\(quotedIdentifier(cell.column)) = \(try literals.literal(new))")
        }
        guard !assignments.isEmpty else { return nil }
        return
            "UPDATE \(table) SET \(assignments.joined(separator: ", ")) WHERE \(try condition(row.key));\n"
    }

    private borrowing func condition(_ key: [StoredValue]) throws(SQLiteError) -> String {
        var parts: [String] = []
        for (column, value) in zip(keyColumns, key) {
            var collation = ""
            if case .text = value.content { collation = column.collation }
            parts.append("\(column.name) = \(try literals.literal(value))\(collation)")
        }
        return parts.joined(separator: " AND ")
    }
}
