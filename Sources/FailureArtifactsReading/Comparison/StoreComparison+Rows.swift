package import FailureArtifactsSQLite

extension StoreComparison {
    /// Visits the rows of a table that differ between the stores, and counts them.
    ///
    /// Changed and deleted rows come first, in A's storage order. Inserted rows follow in B's order.
    ///
    /// - `table`: one of ``tables()``. A table with a problem has no changes.
    /// - `limit`: the maximum number of rows to visit; nil for all. The other rows are only counted.
    /// - `valueLimit`: the maximum number of bytes to copy of a text or a blob.
    @discardableResult
    package borrowing func forEachRowChange(
        in table: ComparedTable, limit: Int64? = nil, valueLimit: Int = .max,
        _ body: (RowChange) throws -> Void
    ) throws -> RowCounts {
        guard table.problem == nil else { return RowCounts() }
        let reader = RowReader(table, valueLimit: valueLimit)
        let queries = RowQueries(table, pairsPerCall: pairsPerCall)
        var counts = RowCounts()
        var left = limit ?? .max
        func visit(_ change: () -> RowChange) throws {
            guard left > 0 else { return }
            left -= 1
            try body(change())
        }
        guard table.presence == .both else {
            if table.a != nil {
                counts.deleted = try forEachRow(of: .a, queries, upTo: left) { statement in
                    try visit { reader.wholeRow(.deleted, statement) }
                }
            }
            if table.b != nil {
                counts.inserted = try forEachRow(of: .b, queries, upTo: left) { statement in
                    try visit { reader.wholeRow(.inserted, statement) }
                }
            }
            return counts
        }
        let changed = try connection.prepare(queries.changedRows)
        while try changed.step() {
            if changed.integer(at: 0) != 0 {
                counts.deleted += 1
                try visit { reader.wholeRow(.deleted, changed, skipping: 1) }
            } else {
                counts.updated += 1
                try visit { reader.updatedRow(changed) }
            }
        }
        counts.inserted = try insertedCount(table, queries, deleted: counts.deleted)
        try forEachInsertedRow(queries, count: min(counts.inserted, left), of: counts.inserted) { row in
            try visit { reader.wholeRow(.inserted, row) }
        }
        return counts
    }

    /// Visits rows that only B has.
    borrowing func forEachInsertedRow(
        _ queries: RowQueries, count: Int64, of total: Int64,
        _ body: (borrowing Statement) throws -> Void
    ) throws {
        guard count > 0 else { return }
        // New rows usually follow the old ones. Then the old ones need not be read.
        var sql = queries.insertedRows
        if let appended = queries.appendedRows, try connection.integer(of: appended.count) == total {
            sql = appended.rows
        }
        let inserted = try connection.prepare(sql)
        // Stop after the last one, because all further rows of B are in A.
        var left = count
        while left > 0, try inserted.step() {
            left -= 1
            try body(inserted)
        }
    }

    /// Counts the rows of a table that differ between the stores, within SQLite.
    package borrowing func countRowChanges(in table: ComparedTable) throws(SQLiteError) -> RowCounts {
        guard table.problem == nil else { return RowCounts() }
        let queries = RowQueries(table, pairsPerCall: pairsPerCall)
        var counts = RowCounts()
        guard table.presence == .both else {
            if table.a != nil { counts.deleted = try connection.integer(of: queries.count(of: .a)) }
            if table.b != nil { counts.inserted = try connection.integer(of: queries.count(of: .b)) }
            return counts
        }
        let changed = try connection.prepare(queries.changedCounts)
        guard try changed.step() else { return counts }
        counts.deleted = changed.integer(at: 1)
        counts.updated = changed.integer(at: 0) - counts.deleted
        counts.inserted = try insertedCount(table, queries, deleted: counts.deleted)
        return counts
    }

    /// Returns the number of rows that only B has.
    ///
    /// Among all rows it needs no search, because keys are unique in a table.
    borrowing func insertedCount(
        _ table: ComparedTable, _ queries: RowQueries, deleted: Int64
    ) throws(SQLiteError) -> Int64 {
        if table.rowids != nil { return try connection.integer(of: queries.insertedCount) }
        let kept = try connection.integer(of: queries.count(of: .a)) - deleted
        return max(0, try connection.integer(of: queries.count(of: .b)) - kept)
    }

    /// Visits the first rows of one side, and returns the number of all its rows.
    private borrowing func forEachRow(
        of side: RowQueries.Side, _ queries: RowQueries, upTo limit: Int64,
        _ body: (borrowing Statement) throws -> Void
    ) throws -> Int64 {
        let count = try connection.integer(of: queries.count(of: side))
        let statement = try connection.prepare(queries.allRows(of: side))
        var left = limit
        while left > 0, try statement.step() {
            left -= 1
            try body(statement)
        }
        return count
    }
}
