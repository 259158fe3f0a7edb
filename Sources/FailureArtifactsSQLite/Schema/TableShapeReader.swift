/// Reads the structures of tables from the schema of one database.
///
/// `PRAGMA table_list` would report more, but it also compiles every view, and a forged view can take hours.
package struct TableShapeReader: Sendable {
    private let database: String
    /// The folded names of the virtual tables.
    private let virtualTables: Set<String>
    private let shadowTables: Set<String>

    /// The suffixes that SQLite's modules append to a virtual table's name, for the tables that keep its content.
    package static let shadowSuffixes: [String: [String]] = [
        "fts3": ["content", "segments", "segdir"],
        "fts4": ["content", "segments", "segdir", "docsize", "stat"],
        "fts5": ["data", "idx", "content", "docsize", "config"],
        "rtree": ["node", "parent", "rowid"],
        "rtree_i32": ["node", "parent", "rowid"],
        "geopoly": ["node", "parent", "rowid"],
    ]

    package init(database: String, objects: [DatabaseSchema.Object]) {
        self.database = database
        var virtualTables: Set<String> = []
        var shadowTables: Set<String> = []
        for object in objects where object.type == "table" && DefinitionText.isVirtual(object.sql) {
            let name = folded(object.name)
            virtualTables.insert(name)
            let suffixes = DefinitionText.module(object.sql).flatMap { Self.shadowSuffixes[$0] }
            for suffix in suffixes ?? [] { shadowTables.insert(name + "_" + suffix) }
        }
        self.virtualTables = virtualTables
        self.shadowTables = shadowTables
    }

    /// Returns the structure of a table.
    package func shape(
        of table: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> TableShape {
        if virtualTables.contains(folded(table)) {
            // A query about the table would start its module.
            return TableShape(
                name: table, kind: .virtual, isShadow: false, columns: [], integerKey: nil,
                primaryKey: [], primaryKeyIndex: nil, hasFurtherUniqueness: false)
        }
        let columns = try columns(of: table, in: connection)
        // "If there is no index named X, but there is a WITHOUT ROWID table with that name, then …"
        let ownIndex = try connection.prepare(
            "PRAGMA \(database).index_info(\(quotedIdentifier(table)))")
        let isWithoutRowid = try ownIndex.step()
        var keyIndex: String?
        var uniqueIndexes = 0
        let indexes = try connection.prepare("PRAGMA \(database).index_list(\(quotedIdentifier(table)))")
        while try indexes.step() {
            if indexes.text(at: 3) == "pk" {
                keyIndex = indexes.text(at: 1)
            } else if indexes.integer(at: 2) != 0 {
                uniqueIndexes += 1
            }
        }
        let declared = columns.filter { $0.keyPosition > 0 }.sorted { $0.keyPosition < $1.keyPosition }
        // INTEGER PRIMARY KEY needs no index. INTEGER PRIMARY KEY DESC has one, and is not an alias of the rowid.
        let isInteger =
            !isWithoutRowid && declared.count == 1 && keyIndex == nil
            && folded(declared[0].type) == "integer"
        return TableShape(
            name: table, kind: isWithoutRowid ? .withoutRowid : .rowid,
            isShadow: shadowTables.contains(folded(table)), columns: columns,
            integerKey: isInteger ? declared[0].name : nil,
            primaryKey: isInteger
                ? [] : try keyColumns(declared, index: keyIndex, isWithoutRowid, in: connection),
            primaryKeyIndex: isWithoutRowid ? nil : keyIndex,
            hasFurtherUniqueness: uniqueIndexes > 0)
    }

    private func columns(
        of table: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> [TableShape.Column] {
        let statement = try connection.prepare(
            "PRAGMA \(database).table_xinfo(\(quotedIdentifier(table)))")
        var columns: [TableShape.Column] = []
        while try statement.step() {
            let hidden = statement.integer(at: 6)
            guard hidden != 1 else { continue }
            var defaultValue: String?
            if case .text(let text) = statement.value(at: 4) { defaultValue = text }
            columns.append(
                TableShape.Column(
                    name: statement.text(at: 1), type: statement.text(at: 2),
                    isNotNull: statement.integer(at: 3) != 0, defaultValue: defaultValue,
                    keyPosition: statement.integer(at: 5), isGenerated: hidden != 0,
                    isVirtual: hidden == 2))
        }
        return columns
    }

    /// Returns the key's columns with the collations of the key's index.
    private func keyColumns(
        _ declared: [TableShape.Column], index: String?, _ isWithoutRowid: Bool,
        in connection: borrowing Connection
    ) throws(SQLiteError) -> [TableShape.KeyColumn] {
        guard let index else { return [] }
        var collations: [String: String] = [:]
        let statement = try connection.prepare(
            "PRAGMA \(database).index_xinfo(\(quotedIdentifier(index)))")
        while try statement.step() {
            guard statement.integer(at: 5) != 0 else { continue }
            collations[folded(statement.text(at: 2))] = statement.text(at: 4)
        }
        return declared.map { column in
            TableShape.KeyColumn(
                name: column.name, collation: collations[folded(column.name)] ?? "BINARY",
                affinity: Affinity(declaredType: column.type),
                isNotNull: column.isNotNull || isWithoutRowid)
        }
    }
}
