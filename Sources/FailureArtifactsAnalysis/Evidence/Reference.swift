internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A reference of one table's rows to another's, declared as a foreign key or suggested by its name.
struct Reference: Hashable {
    let table: String
    let columns: [String]
    let parent: String
    let parentColumns: [String]
    let isDeclared: Bool

    /// The condition under which the row `p` of the parent is the one that the row `c` refers to.
    var match: String {
        zip(parentColumns, columns)
            .map { "p.\(quotedIdentifier($0)) = c.\(quotedIdentifier($1))" }.joined(separator: " AND ")
    }

    /// The condition under which the row `c` refers to a row; without a declaration, 0, -1 and an empty text may stand
    /// for none.
    var presence: String {
        columns.map {
            let column = "c." + quotedIdentifier($0)
            return isDeclared ? "\(column) IS NOT NULL" : "\(column) NOT IN (0, -1, '')"
        }.joined(separator: " AND ")
    }

    /// The condition under which the reference of the row `c` leads nowhere.
    var danglingCondition: String {
        "\(presence)\n  AND NOT EXISTS (SELECT 1 FROM \(quotedIdentifier(parent)) p WHERE \(match))"
    }

    var danglingRows: String {
        "SELECT c.* FROM \(quotedIdentifier(table)) c\nWHERE \(danglingCondition)"
    }

    /// Returns the references between the application's tables: the declared ones, and those that the names of other
    /// columns suggest.
    static func all(
        in schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) -> [Reference] {
        var references: [Reference] = []
        for table in schema.applicationTables {
            let declared = try declared(by: table, in: schema, of: connection)
            references += declared
            let names = Set(declared.flatMap(\.columns).map(folded))
            references += table.columns.filter { !names.contains(folded($0.name)) }
                .compactMap { suggested(by: $0, of: table, in: schema) }
        }
        return references
    }

    /// Returns the declared foreign keys of a table whose parents exist.
    private static func declared(
        by table: TableShape, in schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) -> [Reference] {
        let statement = try connection.prepare(
            "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY id, seq")
        try statement.bind([.text(table.name)])
        var parts: [Int64: (parent: String, columns: [String], targets: [String])] = [:]
        while try statement.step() {
            let (id, parent) = (statement.integer(at: 0), statement.text(at: 1))
            parts[id, default: (parent, [], [])].columns.append(statement.text(at: 2))
            if statement.value(at: 3) != .null { parts[id]?.targets.append(statement.text(at: 3)) }
        }
        return parts.sorted { $0.key < $1.key }.compactMap { _, key in
            guard let parent = schema.tables[folded(key.parent)] else { return nil }
            // Without columns, a foreign key refers to the primary key.
            let targets = key.targets.isEmpty ? schema.keyColumns(of: parent.name) : key.targets
            guard targets.count == key.columns.count else { return nil }
            return Reference(
                table: table.name, columns: key.columns, parent: parent.name, parentColumns: targets,
                isDeclared: true)
        }
    }

    /// Returns the reference that a column's name suggests, such as `transferID` → `transfer.id`; if several tables'
    /// names fit, it leads to the longest one.
    private static func suggested(
        by column: TableShape.Column, of table: TableShape, in schema: DatabaseSchema
    ) -> Reference? {
        let name = folded(column.name)
        guard isName(column.name), name != "id", name != "uuid",
            column.keyPosition != 1 || table.primaryKey.count > 1
        else { return nil }
        var stem = String(name.dropLast(name.hasSuffix("uuid") ? 4 : 2))
        while stem.hasSuffix("_") { stem.removeLast() }
        guard !stem.isEmpty else { return nil }
        let candidates = schema.applicationTables.filter { parent in
            // `sourceAccountID` and `source_account_id` refer to `account`, too.
            forms(of: folded(parent.name)).contains {
                stem == $0 || stem.hasSuffix("_" + $0) || (stem.hasSuffix($0) && $0.count > 3)
            }
        }
        let best = candidates.max { first, second in first.name.count < second.name.count }
        guard let parent = best else { return nil }
        let key = schema.keyColumns(of: parent.name)
        guard key.count == 1,
            let target = parent.columns.first(where: { folded($0.name) == folded(key[0]) }),
            Affinity(declaredType: target.type) == Affinity(declaredType: column.type)
        else { return nil }
        return Reference(
            table: table.name, columns: [column.name], parent: parent.name, parentColumns: key,
            isDeclared: false)
    }

    /// True if a column's name looks like a reference to another row.
    static func isName(_ column: String) -> Bool {
        let name = folded(column)
        return name == "id" || name == "uuid" || column.hasSuffix("ID") || column.hasSuffix("Id")
            || name.hasSuffix("_id") || name.hasSuffix("_uuid") || column.hasSuffix("UUID")
            || column.hasSuffix("Uuid")
    }

    /// Returns a table's name in singular and plural.
    private static func forms(of table: String) -> [String] {
        var forms = [table]
        if table.hasSuffix("ies") { forms.append(table.dropLast(3) + "y") }
        if table.hasSuffix("es") { forms.append(String(table.dropLast(2))) }
        if table.hasSuffix("s") { forms.append(String(table.dropLast())) }
        return forms
    }
}

extension DatabaseSchema {
    /// The application's tables that have rows of their own.
    var applicationTables: [TableShape] {
        objects.filter { $0.type == "table" }.compactMap { tables[folded($0.name)] }.filter { table in
            table.kind != .virtual && !table.isShadow && !folded(table.name).hasPrefix("sqlite_")
                && !LibraryTables.contains(table.name)
        }
    }

    /// Returns the columns that identify a row of a table: its primary key, or the rowid.
    func keyColumns(of table: String) -> [String] {
        guard let shape = tables[folded(table)] else { return ["rowid"] }
        if let key = shape.integerKey { return [key] }
        if !shape.primaryKey.isEmpty { return shape.primaryKey.map(\.name) }
        return [shape.rowidName ?? "rowid"]
    }
}
