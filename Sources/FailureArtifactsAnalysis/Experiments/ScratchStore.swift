internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A private copy of a store's last state, in which transactions are undone to see what depends on them.
final class ScratchStore {
    /// A changed row, or some of its columns.
    struct Change {
        let table: ChangedTable
        let row: RowChange
        /// The columns to restore; nil for all.
        var columns: Set<String>?
    }

    let connection: Connection
    private let schema: DatabaseSchema
    /// The connection refers to it.
    private var budget: StepBudget?

    /// Copies a store.
    ///
    /// - `copy`: the path of the copy, which must not exist.
    init(copyOf path: String, at copy: String, limits: UntrustedLimits) throws {
        try FileSystem.copy(path, toNewFile: copy)
        connection = try Connection.untrustedForWriting(copy, limits: limits)
        schema = try DatabaseSchema("main", of: connection)
        try connection.execute("PRAGMA ignore_check_constraints = ON")
    }

    /// Sets the steps that the following statements may use.
    func limit(_ budget: StepBudget) {
        budget.limit(connection)
        self.budget = budget
    }

    /// Runs `body` while changes are undone. A column is restored only if it still has the value that the change gave
    /// it. Otherwise, a later write would be undone as well. Triggers and foreign keys have no effect.
    func undoing<Result>(
        _ changes: [Change], _ body: () throws -> Result
    ) throws -> Result {
        try connection.execute("SAVEPOINT undoing")
        defer { try? connection.execute("ROLLBACK TO undoing; RELEASE undoing") }
        // Rows that a transaction inserted make room for those that it deleted.
        for change in changes where change.row.kind == .inserted { try undo(change) }
        for change in changes where change.row.kind != .inserted { try undo(change) }
        return try body()
    }

    private func undo(_ change: Change) throws {
        guard let shape = schema.tables[folded(change.table.table.name)], shape.kind != .virtual else {
            return
        }
        let key =
            change.table.table.keyColumns.isEmpty
            ? [shape.integerKey ?? shape.rowidName].compactMap(\.self) : change.table.table.keyColumns
        let keyValues = change.row.key.compactMap(\.bindable)
        guard !key.isEmpty, keyValues.count == key.count else { return }
        let table = quotedIdentifier(shape.name)
        let condition = key.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND ")
        let writable = Set(shape.writableColumns.map { folded($0.name) })
        let cells = change.row.cells.filter {
            writable.contains(folded($0.column)) && change.columns?.contains(folded($0.column)) ?? true
        }
        switch change.row.kind {
        case .inserted:
            // Of an inserted row, single columns can't be undone.
            guard change.columns == nil else { return }
            try run("DELETE FROM \(table) WHERE \(condition)", keyValues)
        case .updated:
            for cell in cells {
                guard let old = cell.old?.bindable, let new = cell.new?.bindable else { continue }
                let name = quotedIdentifier(cell.column)
                try run(
                    "UPDATE OR IGNORE \(table) SET \(name) = ? WHERE \(condition) AND \(name) IS ?",
                    [old] + keyValues + [new])
            }
        case .deleted:
            guard change.columns == nil else { return }
            var names = cells.map(\.column)
            var values = cells.compactMap { $0.old?.bindable }
            guard values.count == names.count else { return }
            if change.table.table.keyColumns.isEmpty, let rowid = shape.integerKey ?? shape.rowidName,
                !names.contains(where: { folded($0) == folded(rowid) })
            {
                names.append(rowid)
                values += keyValues
            }
            try run(
                "INSERT OR IGNORE INTO \(table) (\(names.map(quotedIdentifier).joined(separator: ", "))) VALUES "
                    + "(\(names.map { _ in "?" }.joined(separator: ", ")))", values)
        }
    }

    private func run(_ sql: String, _ values: [Value]) throws(SQLiteError) {
        let statement = try connection.prepare(sql)
        try statement.bind(values)
        while try statement.step() {}
    }
}
