internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows that a reduction can remove from a store, numbered from 0, with the references between them.
///
/// A set of rows is an array with one Boolean value for each row.
struct ReducibleRows {
    struct Table {
        let shape: TableShape
        /// The columns that identify a row: the rowid, or the primary key of a table without rowids.
        let key: [String]
        /// The numbers of its rows, by their keys.
        fileprivate(set) var rows: [[Value]: Int] = [:]

        var name: String { quotedIdentifier(shape.name) }
        var keyList: String { key.map(quotedIdentifier).joined(separator: ", ") }
        /// The condition that selects a row by the values of its key.
        var condition: String { key.map { "\(quotedIdentifier($0)) = ?" }.joined(separator: " AND ") }
    }

    private(set) var tables: [String: Table] = [:]
    /// The columns that references lead to, by folded table name.
    private(set) var referenced: [String: Set<String>] = [:]
    private(set) var keys: [[Value]] = []
    private var parents: [[Int]] = []

    var count: Int { keys.count }
    var all: [Bool] { Array(repeating: true, count: count) }

    init(_ schema: DatabaseSchema, of connection: borrowing Connection) throws(SQLiteError) {
        for shape in Self.shapes(in: schema, of: connection) {
            let key =
                shape.kind == .withoutRowid
                ? shape.primaryKey.map(\.name)
                : [shape.kind == .virtual ? "rowid" : shape.rowidName ?? shape.integerKey].compactMap(
                    \.self)
            if !key.isEmpty { try read(Table(shape: shape, key: key), of: connection) }
        }
        parents = Array(repeating: [], count: count)
        for reference in try Reference.all(in: schema, of: connection) {
            try add(reference, of: connection)
        }
        for texts in tables.values where texts.shape.kind == .virtual { addTexts(texts) }
    }

    /// Returns the tables whose rows can be removed: the application's, and full-text tables with texts of their own.
    static func shapes(
        in schema: DatabaseSchema, of connection: borrowing Connection
    ) -> [TableShape] {
        schema.applicationTables + FullTextTables.withTexts(in: schema, of: connection)
    }

    private mutating func read(
        _ table: Table, of connection: borrowing Connection
    ) throws(SQLiteError) {
        var table = table
        var keys: [[Value]] = []
        let statement = try connection.prepare(
            "SELECT \(table.keyList) FROM \(table.name) ORDER BY \(table.keyList)")
        while try statement.step() {
            let key = table.key.indices.map { statement.value(at: $0) }
            // The bytes of a text that isn't UTF-8 are unknown, so its row can't be selected.
            for case .text(let text) in key where text.contains("\u{FFFD}") { return }
            table.rows[key] = count + keys.count
            keys.append(key)
        }
        tables[folded(table.shape.name)] = table
        self.keys += keys
    }

    private mutating func add(
        _ reference: Reference, of connection: borrowing Connection
    ) throws(SQLiteError) {
        guard let child = tables[folded(reference.table)],
            let parent = tables[folded(reference.parent)]
        else { return }
        func columns(_ alias: String, _ table: Table) -> [String] {
            table.key.map { "\(alias).\(quotedIdentifier($0))" }
        }
        let selected = (columns("c", child) + columns("p", parent)).joined(separator: ", ")
        var edges: [(child: Int, parent: Int)] = []
        do throws(SQLiteError) {
            let statement = try connection.prepare(
                "SELECT \(selected) FROM \(child.name) c JOIN \(parent.name) p ON \(reference.match)")
            while try statement.step() {
                let values = (0..<statement.columnCount).map { statement.value(at: $0) }
                guard let row = child.rows[Array(values.prefix(child.key.count))],
                    let other = parent.rows[Array(values.dropFirst(child.key.count))]
                else { continue }
                edges.append((row, other))
            }
            let total = try connection.integer(
                of: "SELECT count(*) FROM \(child.name) c WHERE \(reference.presence)")
            // A reference that most rows obey is one.
            guard reference.isDeclared || Int64(edges.count) * 2 >= total else { return }
        } catch {
            // A foreign key that names a missing column is an error only when SQLite enforces it.
            guard error.isMissingName else { throw error }
            return
        }
        referenced[folded(reference.parent), default: []].formUnion(reference.parentColumns.map(folded))
        for edge in edges { parents[edge.child].append(edge.parent) }
    }

    /// Lets the rows of a table refer to their texts in a full-text table, which has its name and the same rowids.
    private mutating func addTexts(_ texts: Table) {
        let name = folded(texts.shape.name)
        let owners = tables.filter { $0.value.shape.kind == .rowid && name.contains($0.key) }
        guard let owner = owners.max(by: { $0.key.count < $1.key.count })?.value else { return }
        for (key, row) in owner.rows {
            if let text = texts.rows[key] { parents[row].append(text) }
        }
    }

    /// Returns the numbers of the rows with certain values; empty if there are none.
    func numbers(
        of table: String, where columns: [String], _ values: [StoredValue],
        _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Int] {
        let bound = values.compactMap(\.bindable)
        guard let table = tables[folded(table)], !columns.isEmpty, bound.count == columns.count else {
            return []
        }
        let statement = try connection.prepare(
            "SELECT \(table.keyList) FROM \(table.name) WHERE \(rowCondition(columns))")
        try statement.bind(bound)
        var found: [Int] = []
        while try statement.step() {
            let key = table.key.indices.map { statement.value(at: $0) }
            if let number = table.rows[key] { found.append(number) }
        }
        return found
    }

    /// Returns the rows with the keys of another state's rows.
    func numbers(of kept: [Bool], in other: ReducibleRows) -> [Int] {
        tables.flatMap { name, table in
            (other.tables[name]?.rows ?? [:]).filter { kept[$0.value] }.compactMap { table.rows[$0.key] }
        }
    }

    /// Returns the given rows and all rows that they refer to, directly or not.
    func closure(of rows: some Sequence<Int>) -> [Bool] {
        var kept = Array(repeating: false, count: count)
        var open = Array(rows)
        while let row = open.popLast() {
            if kept[row] { continue }
            kept[row] = true
            open += parents[row]
        }
        return kept
    }

    /// Deletes rows from a store with the rows `current`, except those that are kept.
    func delete(
        from connection: borrowing Connection, keeping kept: [Bool], of current: [Bool]
    ) throws(SQLiteError) {
        try connection.execute("BEGIN")
        for table in tables.values {
            guard table.rows.values.contains(where: { kept[$0] }) else {
                try connection.execute("DELETE FROM \(table.name)")
                continue
            }
            let statement = try connection.prepare(
                "DELETE FROM \(table.name) WHERE \(table.condition)")
            for (key, row) in table.rows where current[row] && !kept[row] {
                try statement.bind(key)
                _ = try statement.step()
                statement.reset()
            }
        }
        try connection.execute("COMMIT")
    }
}
