internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A private copy of a store's last state, in which transactions are undone to see what depends on them.
final class ScratchStore {
    /// A changed row, or some of its columns.
    struct Change {
        let table: ChangedTable
        let row: RowChange
        var columns: Set<String>?
    }

    let connection: Connection
    private let schema: DatabaseSchema
    /// The connection refers to it.
    private var budget: StepBudget?

    /// Copies a store.
    init(copyOf path: String, at copy: String, limits: UntrustedLimits) throws {
        try FileSystem.copy(path, toNewFile: copy)
        connection = try Connection.untrustedForWriting(copy, limits: limits)
        schema = try DatabaseSchema("main", of: connection)
        try connection.execute("PRAGMA ignore_check_constraints = ON")
    }

    func limit(_ budget: StepBudget) {
        budget.limit(connection)
        self.budget = budget
    }

    /// False if a part of the changes couldn't be undone last.
    private(set) var hasUndoneAll = true

    /// Runs `body` while changes are undone, without triggers and foreign keys.
    ///
    /// A column that has got another value since stays, because that write would be undone as well.
    func undoing<Result>(
        _ changes: [Change], _ body: () throws -> Result
    ) throws -> Result {
        try undoing(transactions: [changes], body)
    }

    /// Runs `body` while the changes of transactions are undone, the newest one of which comes first.
    func undoing<Result>(
        transactions: [[Change]], _ body: () throws -> Result
    ) throws -> Result {
        try connection.execute("SAVEPOINT undoing")
        defer { try? connection.execute("ROLLBACK TO undoing; RELEASE undoing") }
        hasUndoneAll = true
        for changes in transactions {
            // Rows that a transaction inserted make room for those that it deleted.
            for kind in [RowChange.Kind.inserted, .updated, .deleted] {
                for change in changes where change.row.kind == kind { try undo(change) }
            }
        }
        return try body()
    }

    private func undo(_ change: Change) throws {
        let isUndone = try undo(change, in: schema.tables[folded(change.table.table.name)])
        if !isUndone { hasUndoneAll = false }
    }

    /// Undoes a change, and returns true if nothing of it is left.
    private func undo(_ change: Change, in shape: TableShape?) throws -> Bool {
        guard let shape, shape.kind != .virtual else { return false }
        let key =
            change.table.table.keyColumns.isEmpty
            ? [shape.integerKey ?? shape.rowidName].compactMap(\.self) : change.table.table.keyColumns
        let keyValues = change.row.key.compactMap(\.bindable)
        guard !key.isEmpty, keyValues.count == key.count else { return false }
        let table = quotedIdentifier(shape.name)
        let condition = rowCondition(key)
        let writable = Set(shape.writableColumns.map { folded($0.name) })
        let cells = change.row.cells.filter {
            writable.contains(folded($0.column)) && change.columns?.contains(folded($0.column)) ?? true
        }
        switch change.row.kind {
        case .inserted:
            // Of an inserted row, single columns can't be undone. A later transaction may have deleted it.
            guard change.columns == nil else { return false }
            _ = try run("DELETE FROM \(table) WHERE \(condition)", keyValues)
            return true
        case .updated:
            return try cells.reduce(true) { isUndone, cell in
                guard let old = cell.old?.bindable, let new = cell.new?.bindable else { return false }
                let name = quotedIdentifier(cell.column)
                return try run(
                    "UPDATE OR IGNORE \(table) SET \(name) = ? WHERE \(condition) AND \(name) IS ?",
                    [old] + keyValues + [new]) && isUndone
            }
        case .deleted:
            guard change.columns == nil else { return false }
            var names = cells.map(\.column)
            var values = cells.compactMap { $0.old?.bindable }
            guard values.count == names.count else { return false }
            if change.table.table.keyColumns.isEmpty, let rowid = shape.integerKey ?? shape.rowidName,
                !names.contains(where: { folded($0) == folded(rowid) })
            {
                names.append(rowid)
                values += keyValues
            }
            return try run(
                "INSERT OR IGNORE INTO \(table) (\(names.map(quotedIdentifier).joined(separator: ", "))) VALUES "
                    + "(\(names.map { _ in "?" }.joined(separator: ", ")))", values)
        }
    }

    /// Runs a statement, and returns true if it changed a row.
    private func run(_ sql: String, _ values: [Value]) throws(SQLiteError) -> Bool {
        let statement = try connection.prepare(sql)
        try statement.bind(values)
        while try statement.step() {}
        return try connection.integer(of: "SELECT changes()") > 0
    }
}
