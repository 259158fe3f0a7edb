internal import FailureArtifactsSQLite

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
    /// - Returns: Whether there was anything to write, and what is left out.
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
        _ object: DatabaseSchema.Object, _ write: (String) throws -> Void
    ) throws {
        guard let statement = DefinitionText.statement(object.sql) else { return }
        try write(statement + "\n")
    }
}
