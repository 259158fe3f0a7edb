internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The transactions after one that is undone, as far as they build upon its changes.
struct LaterChanges {
    private struct Row: Hashable {
        let table: String
        let key: [StoredValue]
    }

    private let store: Timeline
    /// The folded names of the tables whose changes matter.
    private let tables: Set<String>
    /// The tables that triggers read, by the tables whose changes start them.
    private let triggers: [(table: String, reads: [String])]
    /// The later changes of rows, oldest first, with their transactions.
    private var changes: [Row: [(step: String, row: RowChange)]] = [:]
    /// The last transactions that read tables in order to write, by the folded names of the tables.
    private var readers: [String: String] = [:]

    init(of store: Timeline, reading tables: Set<String>) {
        self.store = store
        self.tables = tables
        triggers = store.triggers
            .map { (folded($0.table), SQLText($0.sql).tables) }
    }

    /// Adds a transaction that precedes all those which were added.
    mutating func add(_ step: Timeline.Step) {
        let title = store.subject(of: step)
        for table in step.tables where tables.contains(folded(table.table.name)) {
            for row in table.rows {
                changes[Row(table: folded(table.table.name), key: row.key), default: []]
                    .insert((title, row), at: 0)
            }
        }
        let started = triggers.filter { trigger in step.table(trigger.table) != nil }
        for statement in step.statements
        where statement.writes && statement.outline.words.contains("select") {
            let tables = SQLText(statement.record.sql).tables
            for table in statement.outline.kind == .delete ? tables.dropFirst() : tables[...] {
                readers[table] = title
            }
        }
        for table in tables
        where started.contains(where: { $0.table != table && $0.reads.contains(table) }) {
            readers[table] = title
        }
    }

    /// Returns what is left of a change, nil for nothing, and the reason why undoing that isn't undoing the change, as a
    /// clause; nil without one.
    func rest(of change: ScratchStore.Change) -> (change: ScratchStore.Change?, obstacle: String?) {
        let table = folded(change.table.table.name)
        let later = changes[Row(table: table, key: change.row.key)] ?? []
        let key = Finding.Row.key(change.table.table.keyNames, change.row.key).map(\.text).joined(
            separator: ", ")
        if let reused = later.first(where: { $0.row.kind == .inserted }) {
            return (nil, "\(reused.step) reused \(key)")
        }
        if let deletion = later.first(where: { $0.row.kind == .deleted }) {
            return (nil, change.row.kind == .updated ? "\(deletion.step) deleted \(key)" : nil)
        }
        guard change.row.kind == .updated else { return (change, nil) }
        var rest = change
        var obstacle: String?
        rest.columns = Set(
            change.row.cells.map(\.column).filter { column in
                guard let other = later.first(where: { $0.row.cell(column) != nil }) else { return true }
                let name = change.table.table.name + "." + column
                obstacle = "\(other.step) changed \(SafeText.line(name)) again"
                return false
            }.map(folded))
        return (rest.columns?.isEmpty == true ? nil : obstacle == nil ? change : rest, obstacle)
    }

    /// True if a later transaction changed the row of a change, too.
    func changed(_ change: ScratchStore.Change) -> Bool {
        changes[Row(table: folded(change.table.table.name), key: change.row.key)] != nil
    }

    /// Returns the reason why other changes may be different without those of some tables, as a clause; nil without one.
    func dependents(on tables: Set<String>) -> String? {
        tables.sorted().lazy.compactMap { table in
            readers[table].map { "\($0) read \(store.schema.tables[table]?.name ?? table)" }
        }.first
    }
}
