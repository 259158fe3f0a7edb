internal import FailureArtifactsSQLite

/// A reference of one table's rows to another's, declared as a foreign key or suggested by its name.
struct Reference: Hashable {
    let table: String
    let columns: [String]
    let parent: String
    let parentColumns: [String]

    /// The condition under which the row `p` of the parent is the one that the row `c` refers to.
    var match: String {
        zip(parentColumns, columns)
            .map { "p.\(quotedIdentifier($0)) = c.\(quotedIdentifier($1))" }.joined(separator: " AND ")
    }

    /// A query for the rows whose reference leads nowhere.
    var danglingRows: String {
        let present = columns.map { "c.\(quotedIdentifier($0)) IS NOT NULL" }
        return """
            SELECT c.* FROM \(quotedIdentifier(table)) c
            WHERE \(present.joined(separator: " AND "))
              AND NOT EXISTS (SELECT 1 FROM \(quotedIdentifier(parent)) p WHERE \(match))
            """
    }

    /// Returns the declared foreign keys of a table whose parents exist.
    ///
    /// - Parameters:
    ///   - table: A table.
    ///   - schema: The table's schema.
    ///   - connection: A connection to the database.
    /// - Returns: The references, in the order of SQLite's list.
    /// - Throws: An error if SQLite can't read the table's definition.
    static func declared(
        by table: TableShape, in schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) -> [Reference] {
        // The columns of the result: id, seq, table, from, to, on_update, on_delete, match.
        let statement = try connection.prepare(
            "PRAGMA foreign_key_list(\(quotedIdentifier(table.name)))")
        var parts: [Int64: [(position: Int64, parent: String, column: String, target: String?)]] = [:]
        while try statement.step() {
            let target = statement.value(at: 4) == .null ? nil : statement.text(at: 4)
            parts[statement.integer(at: 0), default: []].append(
                (statement.integer(at: 1), statement.text(at: 2), statement.text(at: 3), target))
        }
        return parts.sorted { $0.key < $1.key }.compactMap { _, parts in
            let parts = parts.sorted { $0.position < $1.position }
            guard let parent = schema.tables[folded(parts[0].parent)] else { return nil }
            // Without columns, a foreign key refers to the primary key.
            let named = parts.compactMap(\.target)
            let targets = named.count == parts.count ? named : schema.keyColumns(of: parent.name)
            guard targets.count == parts.count else { return nil }
            return Reference(
                table: table.name, columns: parts.map(\.column), parent: parent.name,
                parentColumns: targets)
        }
    }

    /// Returns the reference that a column's name suggests, such as `transferID` → `transfer.id`.
    ///
    /// - Parameters:
    ///   - column: A column.
    ///   - table: The column's table.
    ///   - schema: The table's schema.
    /// - Returns: The reference to the table with the longest name that fits; nil if none does.
    static func suggested(
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
            table: table.name, columns: [column.name], parent: parent.name, parentColumns: key)
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
        objects.compactMap { object in
            guard object.type == "table", !folded(object.name).hasPrefix("sqlite_"),
                !MigrationTables.contains(object.name),
                let shape = tables[folded(object.name)], shape.kind != .virtual, !shape.isShadow
            else { return nil }
            return shape
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
