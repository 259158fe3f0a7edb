internal import FailureArtifactsSQLite

/// Writes the statements for rows, one table after the other.
struct ScriptRows {
    private let plan: ScriptPlan
    /// The unchanged triggers that were dropped because their tables are written to.
    private(set) var suspendedTriggers: [DatabaseSchema.Object] = []
    private var hasInserted = false

    init(plan: ScriptPlan) {
        self.plan = plan
    }

    /// Writes the statements that turn the rows of A into those of B.
    mutating func write(
        _ table: ComparedTable, _ comparison: borrowing StoreComparison,
        _ write: (String) throws -> Void
    ) throws {
        let name = folded(table.name)
        let form = try RowStatements(table, comparison)
        let queries = RowQueries(table, pairsPerCall: comparison.pairsPerCall)
        if plan.newTables.contains(name) || table.presence == .onlyInB {
            if plan.filledTables.contains(name) { try write("DELETE FROM \(form.table);\n") }
            let statement = try comparison.connection.prepare(queries.allRows(of: .b))
            while try statement.step() {
                hasInserted = true
                try write(form.insert(statement))
            }
            return
        }
        // Both tables have the same definition here, so columns and keys match.
        guard table.presence == .both else { return }
        var isFirst = true
        func begin() throws {
            if isFirst { try suspendTriggers(of: name, write) }
            isFirst = false
        }
        var deleted: Int64 = 0
        let reader = RowReader(table, valueLimit: .max)
        let changed = try comparison.connection.prepare(queries.changedRows)
        while try changed.step() {
            try begin()
            let isDeleted = changed.integer(at: 0) != 0
            if isDeleted { deleted += 1 }
            if isDeleted || form.isRewritten {
                try write(form.delete(reader.wholeRow(.deleted, changed, skipping: 1)))
            } else if let update = try form.update(reader.updatedRow(changed)) {
                try write(update)
            }
        }
        if form.isRewritten {
            let rewritten = try comparison.connection.prepare(queries.changedRowsOfB)
            while try rewritten.step() {
                try begin()
                hasInserted = true
                try write(form.insert(rewritten))
            }
        } else {
            let count = try comparison.insertedCount(table, queries, deleted: deleted)
            try comparison.forEachInsertedRow(queries, count: count, of: count) { row in
                try begin()
                hasInserted = true
                try write(form.insert(row))
            }
        }
    }

    /// Restores the counters of `AUTOINCREMENT`, which the preceding statements have changed.
    func writeSequence(
        _ comparison: borrowing StoreComparison, _ write: (String) throws -> Void
    ) throws {
        let name = "sqlite_sequence"
        let isInB = plan.b.tables[name] != nil
        guard isInB || plan.a.tables[name] != nil else { return }
        if !hasInserted, plan.dropped.isEmpty, isInB, plan.a.tables[name] != nil {
            let table = try comparison.tables().first { folded($0.name) == name }
            guard let table, try comparison.countRowChanges(in: table).total > 0 else { return }
        }
        // Creating a table with AUTOINCREMENT creates the counters' table.
        let exists =
            plan.a.tables[name] != nil
            || plan.createdTables.contains { folded($0.sql).contains("autoincrement") }
        guard exists else { return }
        try write("DELETE FROM sqlite_sequence;\n")
        guard isInB else { return }
        let literals = try SQLLiterals(comparison.connection, encoding: plan.b.encoding)
        let rows = try comparison.connection.prepare(
            "SELECT rowid, name, seq FROM other.sqlite_sequence")
        while try rows.step() {
            let values = try (0...2).map { (index) throws(SQLiteError) in
                try literals.literal(rows.storedValue(at: index, limit: .max))
            }
            try write(
                "INSERT INTO sqlite_sequence(rowid, name, seq) "
                    + "VALUES(\(values.joined(separator: ", ")));\n")
        }
    }

    /// Drops a table's triggers, which would run for every row.
    private mutating func suspendTriggers(of table: String, _ write: (String) throws -> Void) throws {
        for trigger in plan.a.objects
        where trigger.type == "trigger" && folded(trigger.table) == table {
            // Skip triggers that are changed or missing in B, because they are already dropped.
            guard plan.b.object("trigger", named: trigger.name)?.sql == trigger.sql,
                DefinitionText.statement(trigger.sql) != nil
            else { continue }
            try write("DROP TRIGGER \(quotedIdentifier(trigger.name));\n")
            suspendedTriggers.append(trigger)
        }
    }
}
