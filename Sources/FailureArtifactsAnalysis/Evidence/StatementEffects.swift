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
        let rows = try? store.rows(
            "SELECT m.name, k.\"from\", k.\"table\", k.\"to\" FROM sqlite_master m, "
                + "pragma_foreign_key_list(m.name) k WHERE m.type = 'table'", limit: 10_000)
        foreignKeys = (rows ?? []).map { row in
            ForeignKey(
                table: folded(row[0].string ?? ""), column: folded(row[1].string ?? ""),
                parent: folded(row[2].string ?? ""), parentColumn: row[3].string.map(folded))
        }
    }

    func hasTrigger(_ table: String) -> Bool { triggered.contains(folded(table)) }

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
