internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows that a reduction can remove from a store, with the references between them.
///
/// Rows are numbered from 0. A set of rows is an array with one Boolean value for each row.
struct ReducibleRows {
    /// A table whose rows can be removed.
    struct Table {
        let shape: TableShape
        /// The columns that identify a row: the rowid, or the primary key of a table without rowids.
        let key: [String]
        /// The numbers of its rows.
        fileprivate(set) var rows: Range<Int>

        var name: String { quotedIdentifier(shape.name) }
        /// The condition that selects a row by the values of its key.
        var condition: String { key.map { "\(quotedIdentifier($0)) = ?" }.joined(separator: " AND ") }
    }

    private(set) var tables: [Table] = []
    /// The columns that declared or suggested references lead to, by folded table name.
    private(set) var referenced: [String: Set<String>] = [:]
    /// The values of the rows' keys.
    private(set) var keys: [[Value]] = []
    /// The rows that each row refers to.
    private var parents: [[Int]] = []

    var count: Int { keys.count }
    /// The set of all rows.
    var all: [Bool] { Array(repeating: true, count: count) }

    /// Reads the rows of a store.
    ///
    /// - Parameters:
    ///   - schema: The store's schema.
    ///   - connection: A connection to the store.
    /// - Throws: An error if the store can't be read or the time is up.
    init(_ schema: DatabaseSchema, of connection: borrowing Connection) throws(SQLiteError) {
        for shape in schema.applicationTables where !Self.isBookkeeping(shape.name) {
            let key =
                shape.kind == .withoutRowid
                ? shape.primaryKey.map(\.name)
                : [shape.rowidName ?? shape.integerKey].compactMap { $0 }
            guard !key.isEmpty else { continue }
            try read(Table(shape: shape, key: key, rows: count..<count), of: connection)
        }
        let texts = try FullTextTable.withOwnTexts(in: connection).filter {
            !Self.isBookkeeping($0.name)
        }
        for table in texts {
            guard let shape = schema.tables[folded(table.name)] else { continue }
            try read(Table(shape: shape, key: ["rowid"], rows: count..<count), of: connection)
        }
        parents = Array(repeating: [], count: count)
        for table in tables {
            let declared = try Reference.declared(by: table.shape, in: schema, of: connection)
            for reference in declared { try add(reference, isDeclared: true, of: connection) }
            for column in table.shape.columns
            where !declared.contains(where: { $0.columns.contains(column.name) }) {
                let suggested = Reference.suggested(by: column, of: table.shape, in: schema)
                if let suggested { try add(suggested, isDeclared: false, of: connection) }
            }
        }
        for table in texts { addTexts(table.name) }
    }

    /// True for a table in which a library or framework keeps its own state.
    ///
    /// Without its rows, the library would create the application's tables again.
    static func isBookkeeping(_ table: String) -> Bool {
        let name = folded(table)
        return name.hasSuffix("migrations")
            || [
                "z_metadata", "z_primarykey", "z_modelcache", "room_master_table", "android_metadata",
                "schema_version",
            ].contains(name)
    }

    private mutating func read(
        _ table: Table, of connection: borrowing Connection
    ) throws(SQLiteError) {
        let columns = table.key.map(quotedIdentifier).joined(separator: ", ")
        let statement = try connection.prepare(
            "SELECT \(columns) FROM \(table.name) ORDER BY \(columns)")
        var keys: [[Value]] = []
        while try statement.step() {
            let key = table.key.indices.map { statement.value(at: $0) }
            // The bytes of a text that isn't UTF-8 are unknown, so its row can't be selected.
            for case .text(let text) in key where text.contains("\u{FFFD}") { return }
            keys.append(key)
        }
        var table = table
        table.rows = count..<count + keys.count
        tables.append(table)
        self.keys += keys
    }

    private mutating func add(
        _ reference: Reference, isDeclared: Bool, of connection: borrowing Connection
    ) throws(SQLiteError) {
        guard let child = tables.first(where: { $0.shape.name == reference.table }),
            let parent = tables.first(where: { $0.shape.name == reference.parent })
        else { return }
        func columns(_ alias: String, _ table: Table) -> String {
            table.key.map { "\(alias).\(quotedIdentifier($0))" }.joined(separator: ", ")
        }
        var edges: [(child: [Value], parent: [Value])] = []
        do throws(SQLiteError) {
            let statement = try connection.prepare(
                """
                SELECT \(columns("c", child)), \(columns("p", parent)) FROM \(child.name) c \
                JOIN \(parent.name) p ON \(reference.match)
                """)
            while try statement.step() {
                edges.append(
                    (
                        child.key.indices.map { statement.value(at: $0) },
                        parent.key.indices.map { statement.value(at: child.key.count + $0) }
                    ))
            }
            if !isDeclared {
                let column = quotedIdentifier(reference.columns[0])
                let total = try connection.integer(of: "SELECT count(\(column)) FROM \(child.name)")
                // A reference that most rows obey is one.
                guard Int64(edges.count) * 2 >= total else { return }
            }
        } catch {
            // A foreign key that names a missing column is an error only when SQLite enforces it.
            guard error.isMissingName else { throw error }
            return
        }
        referenced[folded(parent.shape.name), default: []].formUnion(reference.parentColumns.map(folded))
        let numbers = (numbers(of: child), numbers(of: parent))
        for edge in edges {
            guard let row = numbers.0[edge.child], let other = numbers.1[edge.parent] else { continue }
            parents[row].append(other)
        }
    }

    /// Lets the rows of a table refer to their texts in a full-text table, which have the same rowids.
    ///
    /// It is the table that has most of the rowids, or else a full-text table refers to nothing.
    private mutating func addTexts(_ name: String) {
        guard let texts = tables.first(where: { $0.shape.name == name }), !texts.rows.isEmpty else {
            return
        }
        let numbers = numbers(of: texts)
        var best: (table: Table, rank: Int)?
        for table in tables where table.shape.kind == .rowid {
            let count = table.rows.count { numbers[keys[$0]] != nil }
            guard count * 2 >= texts.rows.count else { continue }
            // Several tables can have the rowids 1, 2 and so on. Then the names decide.
            let isNamed = folded(name).contains(folded(table.shape.name))
            let rank = count + (isNamed ? self.count : 0)
            if rank > best?.rank ?? 0 { best = (table, rank) }
        }
        for row in best?.table.rows ?? 0..<0 {
            if let text = numbers[keys[row]] { parents[row].append(text) }
        }
    }

    /// Returns the numbers of a table's rows by their keys.
    func numbers(of table: Table) -> [[Value]: Int] {
        Dictionary(uniqueKeysWithValues: table.rows.map { (keys[$0], $0) })
    }

    /// Returns the given rows and all rows that they refer to, directly or not.
    func closure(of rows: some Sequence<Int>) -> [Bool] {
        var kept = Array(repeating: false, count: count)
        var open: [Int] = []
        for row in rows where !kept[row] {
            kept[row] = true
            open.append(row)
        }
        while let row = open.popLast() {
            for parent in parents[row] where !kept[parent] {
                kept[parent] = true
                open.append(parent)
            }
        }
        return kept
    }

    /// Deletes rows.
    ///
    /// - Parameters:
    ///   - connection: A connection to a store with the rows `current`.
    ///   - kept: The rows that stay.
    ///   - current: The rows that the store has.
    /// - Throws: An error if SQLite can't delete a row.
    func delete(
        from connection: borrowing Connection, keeping kept: [Bool], of current: [Bool]
    ) throws(SQLiteError) {
        for table in tables {
            let removed = table.rows.filter { current[$0] && !kept[$0] }
            guard !removed.isEmpty else { continue }
            guard table.rows.contains(where: { kept[$0] }) else {
                try connection.execute("DELETE FROM \(table.name)")
                continue
            }
            let statement = try connection.prepare(
                "DELETE FROM \(table.name) WHERE \(table.condition)")
            for row in removed {
                try statement.bind(keys[row])
                _ = try statement.step()
                statement.reset()
            }
        }
    }
}
