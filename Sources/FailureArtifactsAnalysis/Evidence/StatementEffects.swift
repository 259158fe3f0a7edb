internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The triggers and foreign keys of a store, which can extend the effects of statements to other rows.
struct StatementEffects {
    /// A foreign key, with names in lower case.
    private struct ForeignKey {
        let table: String
        let column: String
        let parent: String
        /// The column that it refers to; nil for the primary key.
        let parentColumn: String?
        let hasAction: Bool
    }

    /// The tables with triggers, in lower case.
    private let triggered: Set<String>
    private let foreignKeys: [ForeignKey]

    /// Reads the triggers and foreign keys.
    ///
    /// If a table's definition can't be read, no foreign key is known.
    init(_ store: StoreEvidence) {
        let triggers = store.schema.objects.filter { $0.type == "trigger" }
        triggered = Set(triggers.map { folded($0.table) })
        let passive: Set = ["NO ACTION", "RESTRICT"]
        let rows = try? store.rows(
            "SELECT m.name, k.\"from\", k.\"table\", k.\"to\", k.on_update, k.on_delete FROM sqlite_master m, "
                + "pragma_foreign_key_list(m.name) k WHERE m.type = 'table'", limit: 10_000)
        foreignKeys = (rows ?? []).map { row in
            ForeignKey(
                table: folded(row[0].string ?? ""), column: folded(row[1].string ?? ""),
                parent: folded(row[2].string ?? ""), parentColumn: row[3].string.map(folded),
                hasAction: !passive.isSuperset(of: row[4...].compactMap(\.string)))
        }
    }

    func hasTrigger(_ table: String) -> Bool { triggered.contains(folded(table)) }

    /// True if a statement on a table can change other rows, which SQLite's count includes.
    func spread(from table: String) -> Bool {
        hasTrigger(table) || foreignKeys.contains { $0.parent == folded(table) && $0.hasAction }
    }

    /// True if a column is part of a foreign key.
    func refers(_ column: String, of table: String) -> Bool {
        foreignKeys.contains { $0.table == folded(table) && $0.column == folded(column) }
    }

    /// True if a foreign key can make a statement fail, which SQLite doesn't log.
    func mayReject(_ statement: StoreEvidence.Statement) -> Bool {
        guard let table = statement.outline.table else { return false }
        let assigned = statement.parts.assigned
        return foreignKeys.contains { key in
            switch statement.outline.kind {
            case .delete: key.parent == table
            case .update:
                key.table == table && assigned.contains(key.column)
                    || key.parent == table && (key.parentColumn.map(assigned.contains) ?? true)
            default: key.table == table
            }
        }
    }
}

extension StoreEvidence {
    /// Returns the number of rows of its own table that an `UPDATE` or `DELETE` changed; nil if unknown.
    ///
    /// A bundle of an earlier version has only the count that includes the rows of triggers and foreign keys.
    func ownChanges(of statement: Statement) -> Int64? {
        if let own = statement.record.ownChanges { return Int64(own) }
        guard let changes = statement.record.changes.map(Int64.init),
            let table = statement.outline.table
        else { return nil }
        guard effects.spread(from: table) else { return changes }
        guard let step = step(of: statement) else { return nil }
        let writers = steps[step].statements.filter { $0.hasChangedRows && $0.outline.table == table }
        guard writers.count == 1 else { return nil }
        let counts = steps[step].counts(of: table)
        let known = statement.outline.kind == .update ? counts?.updated : counts?.deleted
        return min(changes, known ?? 0)
    }
}
