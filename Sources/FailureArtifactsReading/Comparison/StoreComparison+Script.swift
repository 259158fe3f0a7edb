internal import FailureArtifactsSQLite

/// The result of writing a script that turns A into B.
package struct ScriptSummary: Equatable, Sendable {
    /// True if the script changes nothing.
    package let isEmpty: Bool
    /// Descriptions of the omitted parts, as clauses.
    package let omissions: [String]
}

extension StoreComparison {
    /// Writes SQL for the `sqlite3` shell that turns A into B.
    ///
    /// The script is one transaction. A table with a different definition is created anew, with all rows of
    /// B. Other tables change only in the rows that differ, with their triggers dropped in the meantime.
    ///
    /// The definitions come from B. The script omits what is unsafe to run unseen: text that is not exactly
    /// one statement, and virtual tables of modules that are not part of SQLite. It also omits everything
    /// that can't be compared.
    ///
    /// - `defersForeignKeys`: true if foreign keys are checked at the script's end, if the connection that runs
    ///   it enforces them; false if the script switches them off.
    package borrowing func writeScript(
        defersForeignKeys: Bool = false, _ write: (String) throws -> Void
    ) throws -> ScriptSummary {
        var isEmpty = true
        let omissions = try writeStatements(
            start: defersForeignKeys ? Self.deferringStart : Self.start, frame: write,
            change: { text in
                isEmpty = false
                try write(text)
            })
        return ScriptSummary(isEmpty: isEmpty, omissions: omissions)
    }

    private static let start = """
        -- Foreign keys are not enforced, because rows may be missing for a while.
        PRAGMA foreign_keys = OFF;
        BEGIN;

        """
    private static let deferringStart = """
        BEGIN;
        -- Rows may be missing for a while.
        PRAGMA defer_foreign_keys = ON;

        """

    private borrowing func writeStatements(
        start: String, frame: (String) throws -> Void, change write: (String) throws -> Void
    ) throws -> [String] {
        let plan = ScriptPlan(a, b)
        var omissions = plan.omissions
        try frame(start)
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
        for object in rows.suspendedTriggers { try Self.writeDefinition(object, write) }
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
