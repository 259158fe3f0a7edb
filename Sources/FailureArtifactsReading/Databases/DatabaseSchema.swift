package import FailureArtifactsSQLite

package struct DatabaseSchema: Sendable {
    package typealias Object = SchemaObject

    /// The name of the database in the connection: `main`, or the name of an attached database.
    package let database: String
    package let encoding: String
    /// The schema cookie, which SQLite increases with each change of the schema.
    package let version: Int64
    package let userVersion: Int64
    package let applicationID: Int64
    /// The objects that have SQL text, in the order of creation.
    package let objects: [Object]
    package let tables: [String: TableShape]
    /// The reasons why structures of tables cannot be read, by folded name.
    package let problems: [String: String]
    /// The root pages of the tables and indexes, by name.
    package let roots: [String: UInt32]

    package init(
        _ database: String, of connection: borrowing Connection, reusing known: DatabaseSchema? = nil
    ) throws(SQLiteError) {
        self.database = database
        encoding = try connection.text(of: "PRAGMA encoding")
        userVersion = try connection.integer(of: "PRAGMA \(database).user_version")
        applicationID = try connection.integer(of: "PRAGMA \(database).application_id")
        version = try connection.integer(of: "PRAGMA \(database).schema_version")
        if let known, known.version == version {
            objects = known.objects
            tables = known.tables
            problems = known.problems
            roots = known.roots
            return
        }

        (objects, roots) = try Self.objects(of: database, in: connection)
        let reader = TableShapeReader(database: database, objects: objects)
        var tables: [String: TableShape] = [:]
        var problems: [String: String] = [:]
        for object in objects where object.type == "table" {
            do throws(SQLiteError) {
                tables[folded(object.name)] = try reader.shape(of: object.name, in: connection)
            } catch {
                if error.isInterrupted { throw error }
                problems[folded(object.name)] = error.message
            }
        }
        self.tables = tables
        self.problems = problems
    }

    /// Reads the objects that have SQL text, in the order of creation, and the root pages of tables and indexes.
    static func objects(
        of database: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> (objects: [Object], roots: [String: UInt32]) {
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql, rootpage FROM \(database).sqlite_master "
                + "WHERE name IS NOT NULL ORDER BY rowid")
        var objects: [Object] = []
        var roots: [String: UInt32] = [:]
        while try statement.step() {
            let name = statement.text(at: 1)
            if case .integer(let root) = statement.value(at: 4), root > 0 {
                roots[name] = UInt32(clamping: root)
            }
            // Objects without SQL are SQLite's own: the indexes behind PRIMARY KEY and UNIQUE.
            guard statement.value(at: 3) != .null else { continue }
            objects.append(
                Object(
                    type: statement.text(at: 0), name: name, table: statement.text(at: 2),
                    sql: statement.text(at: 3)))
        }
        return (objects, roots)
    }
}

/// Reads the structures of tables from the schema of one database.
///
/// `PRAGMA table_list` would report more, but it also compiles every view, and a forged view can take hours.
struct TableShapeReader {
    private let database: String
    private let virtualTables: Set<String>
    private let shadowTables: Set<String>

    init(database: String, objects: [DatabaseSchema.Object]) {
        self.database = database
        var virtualTables: Set<String> = []
        var shadowTables: Set<String> = []
        for object in objects where object.type == "table" {
            guard let table = VirtualTable(object.name, definition: object.sql) else { continue }
            virtualTables.insert(folded(object.name))
            shadowTables.formUnion(table.shadowTables ?? [])
        }
        self.virtualTables = virtualTables
        self.shadowTables = shadowTables
    }

    func shape(
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
