package import FailureArtifactsSQLite

/// Views that show a Core Data store's entities as the application sees them. `Fruit` has one row for each object.
/// Its columns are `_id`, `_entity` in a hierarchy, the attributes, and the `_id` of each to-one relationship's
/// object. `Album.assets` has the pairs of a many-to-many relationship.
package struct CoreDataViews {
    /// The names of the views, by the names of the tables that they show in full.
    package private(set) var names: [String: String] = [:]
    private var statements: [(name: String, sql: String)] = []

    /// Creates the statements for the views.
    ///
    /// - `store`: the store's description. An entity with the name of an existing table or view has no view.
    package init(_ store: CoreDataStore) {
        var taken = store.objectNames
        let shared = store.sharedTables
        let entities = Dictionary(
            store.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // The numbers of each entity and its heirs.
        var families: [String: [Int64]] = [:]
        for entity in store.entities where entity.table != nil {
            for ancestor in sequence(first: entity, next: { $0.superentity.flatMap { entities[$0] } }) {
                families[ancestor.name, default: []].append(entity.number)
            }
        }

        func add(
            _ name: String, of table: String, _ columns: [(String, String)], where sql: String = ""
        ) {
            guard !folded(name).hasPrefix("sqlite_"), !name.unicodeScalars.contains("\0"),
                taken.insert(folded(name)).inserted
            else { return }
            let list = columns.map { "\($0) AS \(quotedIdentifier($1))" }.joined(separator: ", ")
            statements.append(
                (
                    name,
                    "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(list) "
                        + "FROM main.\(quotedIdentifier(table)) AS e\(sql)"
                ))
            if sql.isEmpty, names[table] == nil { names[table] = name }
        }
        func value(_ column: String) -> String { "e." + quotedIdentifier(column) }

        for entity in store.entities {
            guard let table = entity.table, let root = store.root(ofTable: table) else { continue }
            var columns = [("e.Z_PK", "_id")]
            if shared.contains(table) {
                columns.append(
                    ("(SELECT k.Z_NAME FROM main.Z_PRIMARYKEY AS k WHERE k.Z_ENT = e.Z_ENT)", "_entity"))
            }
            columns += root.attributes.map {
                ($0.isDate ? Self.date(value($0.column)) : value($0.column), $0.name)
            }
            columns += root.toOne.map { (value($0.column), $0.name) }
            let numbers = (families[entity.name] ?? []).map(String.init).joined(separator: ", ")
            add(
                entity.name, of: table, columns,
                where: entity.superentity == nil ? "" : " WHERE e.Z_ENT IN (\(numbers))")
        }
        for link in store.links {
            var columns = [link.source, link.target].map { (value($0.column), $0.name) }
            if let order = link.orderColumn { columns.append((value(order), "_order")) }
            add(link.name, of: link.table, columns)
        }
    }

    /// Creates the views, visible only to this connection. A view that SQLite refuses is left out, also from
    /// ``names``.
    ///
    /// - `connection`: a reading connection. The file isn't changed.
    package mutating func create(
        on connection: borrowing Connection
    ) throws(SQLiteError) -> [String] {
        try connection.execute("PRAGMA query_only = 0; PRAGMA temp_store = 2")
        defer { try? connection.execute("PRAGMA query_only = 1") }
        var refused: [String] = []
        for (name, sql) in statements {
            do throws(SQLiteError) {
                try connection.execute(sql)
            } catch {
                if error.isInterrupted || error.isDatabaseDamaged { throw error }
                names = names.filter { $0.value != name }
                refused.append("The entity or relationship '\(name)' can't be shown: \(error.message).")
            }
        }
        return refused
    }

    /// Returns an expression for a date in ISO 8601. Values that aren't dates stay unchanged.
    private static func date(_ column: String) -> String {
        "CASE WHEN typeof(\(column)) IN ('integer', 'real') THEN coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', "
            + "\(column) + \(MetadataTime.referenceDate), 'unixepoch'), \(column)) ELSE \(column) END"
    }
}
