internal import FailureArtifactsSystem

/// What a script that turns A into B is like.
package struct ScriptSummary: Equatable, Sendable {
    /// Whether it changes nothing.
    package let isEmpty: Bool
    /// What is left out, as clauses.
    package let omissions: [String]
}

extension StoreComparison {
    /// Writes SQL that turns A into B, for SQLite's own shell.
    ///
    /// The script is one transaction. A table whose definition differs is created anew with all rows of B;
    /// of others only the rows that differ are touched, with no trigger of the table in place.
    ///
    /// The definitions come from B. What a script should not run unseen is left out: text that is not exactly
    /// one statement, and virtual tables of modules that are not SQLite's own. So is what cannot be compared.
    ///
    /// - Parameter write: Takes a piece of the script, at most a few rows long.
    /// - Throws: Why the rows cannot be read, or what `write` throws.
    package borrowing func writeScript(_ write: (String) throws -> Void) throws -> ScriptSummary {
        var isEmpty = true
        let omissions = try writeStatements(
            frame: write,
            change: { text in
                isEmpty = false
                try write(text)
            })
        return ScriptSummary(isEmpty: isEmpty, omissions: omissions)
    }

    private borrowing func writeStatements(
        frame: (String) throws -> Void, change write: (String) throws -> Void
    ) throws -> [String] {
        let plan = ScriptPlan(a, b)
        var omissions = plan.omissions
        try frame(
            """
            -- Foreign keys are not looked after: no row may go because another one goes for a while.
            PRAGMA foreign_keys = OFF;
            BEGIN;

            """)
        for object in plan.dropped {
            if plan.omittedTables.contains(folded(object.name)), object.type == "table" { continue }
            guard !DefinitionText.hasControlCharacters(object.name) else {
                omissions.append("a \(object.type) is not dropped: its name holds control characters")
                continue
            }
            try write("DROP \(object.type.uppercased()) \(quotedIdentifier(object.name));\n")
        }
        for object in plan.createdTables { try Self.writeDefinition(object, write) }

        var rows = ScriptRows(plan: plan)
        for table in try tables() where folded(table.name) != "sqlite_sequence" {
            if let problem = table.problem, table.b != nil || table.a == nil {
                omissions.append("the rows of \(table.name) are left out: \(problem)")
            } else if table.problem == nil, table.b != nil,
                !plan.omittedTables.contains(folded(table.name))
            {
                guard !DefinitionText.hasControlCharacters(table.name) else {
                    omissions.append(
                        "the rows of a table are left out: its name holds control characters")
                    continue
                }
                try rows.write(table, self, write)
            }
        }
        try rows.writeSequence(self, write)
        for object in plan.createdLater { try Self.writeDefinition(object, write) }
        for object in rows.restingTriggers { try Self.writeDefinition(object, write) }
        if a.userVersion != b.userVersion { try write("PRAGMA user_version = \(b.userVersion);\n") }
        if a.applicationID != b.applicationID {
            try write("PRAGMA application_id = \(b.applicationID);\n")
        }
        try frame("COMMIT;\n")
        return omissions
    }

    private static func writeDefinition(
        _ object: SchemaSide.Object, _ write: (String) throws -> Void
    ) throws {
        guard let statement = DefinitionText.statement(object.sql) else { return }
        try write(statement + "\n")
    }
}

/// Writes the statements for the rows of one table after the other.
struct ScriptRows {
    private let plan: ScriptPlan
    /// The triggers that were dropped because a table of theirs is written to, and are in B as they were.
    private(set) var restingTriggers: [SchemaSide.Object] = []
    private var hasInserted = false

    init(plan: ScriptPlan) {
        self.plan = plan
    }

    /// Writes what turns the rows of A into those of B.
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
        // A table of the same definition: it has the same columns and the same key.
        guard table.presence == .both else { return }
        var isFirst = true
        func begin() throws {
            if isFirst { try restTriggers(of: name, write) }
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
            let count = try comparison.insertedCount(queries, deleted: deleted)
            try comparison.forEachInsertedRow(queries, count: count, of: count) { row in
                try begin()
                hasInserted = true
                try write(form.insert(row))
            }
        }
    }

    /// Writes what `AUTOINCREMENT` has handed out, which the rows before have changed.
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
        // A table that has AUTOINCREMENT brings it along.
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

    /// Drops the triggers of a table that would run with every row.
    private mutating func restTriggers(of table: String, _ write: (String) throws -> Void) throws {
        for trigger in plan.a.objects
        where trigger.type == "trigger" && folded(trigger.table) == table {
            // What B has otherwise or not at all has been dropped already.
            guard plan.b.object("trigger", named: trigger.name)?.sql == trigger.sql,
                DefinitionText.statement(trigger.sql) != nil
            else { continue }
            try write("DROP TRIGGER \(quotedIdentifier(trigger.name));\n")
            restingTriggers.append(trigger)
        }
    }
}
