internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A check of whether the statements of a group can have caused the changes between two states.
///
/// Statements are denoted by their indices in the group.
struct ChangeCheck {
    private let group: LoggedTransactions.Group
    private let changes: StateChanges
    /// The statements that change the schema.
    private let definitions: [Int]
    /// The definitions of objects that are created and dropped again, which leave the schema unchanged.
    private let passing: [Int]
    /// The statements that may have changed rows.
    private let writes: [Int]
    /// The changed tables that no change of the schema explains.
    private let tables: [StateChanges.Table]

    private var outlines: [StatementOutline] { group.outlines }
    private var records: [StatementRecord] { group.records }

    init(of changes: StateChanges, by group: LoggedTransactions.Group) {
        self.group = group
        self.changes = changes
        let (outlines, records) = (group.outlines, group.records)
        definitions = outlines.indices.filter { outlines[$0].kind == .definition }
        passing = definitions.filter { index in
            guard let name = outlines[index].table else { return false }
            return outlines.contains { $0.creates && $0.table == name }
                && outlines.contains { $0.drops && $0.table == name }
        }
        writes = outlines.indices.filter { (records[$0].changes ?? 1) > 0 && outlines[$0].mayWrite }
        // A virtual table is created and dropped with its shadow tables.
        tables = changes.tables.filter { table in
            !changes.schema.contains {
                $0.type == "table" && ($0.name == table.name || table.name.hasPrefix($0.name + "_"))
            }
        }
    }

    /// True if the statements can have caused the changes.
    var isPossible: Bool {
        // What a savepoint undid, or an update to the same value in an index, changes pages but no row.
        if group.isMeasured, outlines.allSatisfy(\.mayHaveNoEffect), changes.isEmpty { return true }
        guard explainsSchema, explainsUserVersion else { return false }
        if writes.isEmpty { return explainsChangesWithoutWrites }
        return touchesTables && singleWriteHasEffect && countsEnoughRows
    }

    // MARK: Schema

    /// True if the definitions can have made the changes of the schema, and have made some if they must have.
    private var explainsSchema: Bool {
        guard changes.schema.allSatisfy(isExplained) else { return false }
        let lasting = definitions.filter { !outlines[$0].mayHaveNoEffect && !passing.contains($0) }
        return lasting.isEmpty || !changes.schema.isEmpty
    }

    /// True if one of the definitions can have changed an object of the schema.
    private func isExplained(_ object: StateChanges.Object) -> Bool {
        let name = folded(object.name)
        if name.hasPrefix("sqlite_stat"), outlines.contains(where: { $0.kind == .maintenance }) {
            return true
        }
        return definitions.contains { index in
            let outline = outlines[index]
            let sql = folded(records[index].sql)
            // A virtual table has shadow tables. A new name of a table or a column changes the text of every object
            // that mentions it. With a table, its indexes and triggers are dropped.
            return sql.contains(name) || outline.table.map { name.hasPrefix(folded($0) + "_") } ?? false
                || outline.alters && object.change == .changed
                || outline.drops && object.change == .dropped
                    && ["index", "trigger"].contains(object.type)
        }
    }

    /// True if the user version didn't change, or a statement has set it.
    private var explainsUserVersion: Bool {
        changes.userVersion == nil
            || zip(records, outlines).contains {
                $0.1.kind == .setting && $0.0.sql.lowercased().contains("user_version")
            }
    }

    // MARK: Rows

    /// True if no rows changed, and statements that write no rows can have written the transaction.
    private var explainsChangesWithoutWrites: Bool {
        let isSeen = !changes.schema.isEmpty || changes.userVersion != nil
        let isUnseen = outlines.contains { $0.kind == .maintenance || $0.kind == .setting }
        return tables.isEmpty && (isSeen || !passing.isEmpty || isUnseen)
    }

    /// True if the tables of the statements changed.
    ///
    /// A single statement must have changed its table. Of several statements, one may undo another.
    private var touchesTables: Bool {
        // One of several statements may have had no effect.
        let certain =
            group.isMeasured && outlines.count > 1
            ? writes.filter { !outlines[$0].mayHaveNoEffect } : writes
        // A migration fills a new table and then gives it another's name.
        let created = Set(definitions.filter { outlines[$0].creates }.compactMap { outlines[$0].table })
        let touched = certain.map { index in
            outlines[index].table.map { target in
                created.contains(target) || hasSideEffects(target)
                    || changes.tables.contains { Self.touches(target, $0.name) }
            } ?? true
        }
        let isUndone = group.isMeasured && (certain.isEmpty || tables.isEmpty)
        return touched.count == 1 ? touched[0] : touched.contains(true) || isUndone
    }

    private static func touches(_ target: String, _ table: String) -> Bool {
        // A virtual table has shadow tables, whose names start with its name.
        let table = table.lowercased()
        return table == target || table.hasPrefix(target + "_")
    }

    private func hasSideEffects(_ target: String) -> Bool {
        changes.withSideEffects.contains(folded(target))
    }

    /// True if the only statement that writes has changed its table in the way that its kind requires.
    private var singleWriteHasEffect: Bool {
        guard writes.count == 1, let target = outlines[writes[0]].table, !hasSideEffects(target),
            let table = tables.first(where: { $0.name.lowercased() == target }), table.problem == nil
        else { return true }
        return switch outlines[writes[0]].kind {
        case .insert: outlines[writes[0]].mayHaveNoEffect || table.inserted > 0
        case .update: table.updated > 0 || table.inserted > 0 && table.deleted > 0
        case .delete: table.deleted > 0
        default: true
        }
    }

    /// True if SQLite's change counts cover the changed rows, as far as they are known.
    private var countsEnoughRows: Bool {
        guard !mayReplace, records.allSatisfy({ $0.changes != nil }) else { return true }
        let counted = records.reduce(Int64(group.commitChanges ?? 0)) { $0 + Int64($1.changes ?? 0) }
        // A row that gets another key is a deleted one and an inserted one, which SQLite counts once.
        let mayChangeKeys = outlines.contains { [.update, .other].contains($0.kind) }
        return counted
            >= tables.reduce(0) { total, table in
                total + table.updated
                    + (mayChangeKeys
                        ? max(table.inserted, table.deleted) : table.inserted + table.deleted)
            }
    }

    /// True if a statement may have removed rows that SQLite's change count doesn't include, as `REPLACE` does.
    private var mayReplace: Bool {
        outlines.indices.contains { index in
            if outlines[index].table.map(hasSideEffects) == true { return true }
            return switch outlines[index].kind {
            case .insert: outlines[index].mayHaveNoEffect
            case .update: folded(records[index].sql).contains("replace")
            default: false
            }
        }
    }
}
