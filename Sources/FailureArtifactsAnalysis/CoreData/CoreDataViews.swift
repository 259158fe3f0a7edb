internal import FailureArtifactsReading
package import FailureArtifactsSQLite

/// Views that show a Core Data store's entities as the application sees them.
///
/// `Fruit` has one row for each object. Its columns are `_id`, `_entity` in a hierarchy, the attributes, and the `_id`
/// of each to-one relationship's object. `Album.assets` has the pairs of a many-to-many relationship.
package struct CoreDataViews {
    /// The names of the views, by the names of the tables that they show in full.
    package private(set) var names: [String: String] = [:]
    private var statements: [(name: String, sql: String)] = []

    /// Creates the statements for the views; an entity with the name of an existing table or view has no view.
    package init(_ store: CoreDataStore) {
        var taken = store.objectNames
        let entities = Dictionary(
            store.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        // The numbers of each entity and its heirs.
        var families: [String: [Int64]] = [:]
        for entity in store.entities where entity.table != nil {
            for ancestor in sequence(first: entity, next: { $0.superentity.flatMap { entities[$0] } }) {
                families[ancestor.name, default: []].append(entity.number)
            }
        }

        func add(_ name: String, of table: String, where sql: String = "") {
            guard !folded(name).hasPrefix("sqlite_"), !name.unicodeScalars.contains("\0"),
                taken.insert(folded(name)).inserted
            else { return }
            let list = store.columns(ofTable: table).map { column in
                "\(Self.value(of: column)) AS \(quotedIdentifier(column.name))"
            }.joined(separator: ", ")
            statements.append(
                (
                    name,
                    "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(list) "
                        + "FROM main.\(quotedIdentifier(table)) AS e\(sql)"
                ))
            if sql.isEmpty, names[table] == nil { names[table] = name }
        }

        for entity in store.entities {
            guard let table = entity.table, store.root(ofTable: table) != nil else { continue }
            let numbers = (families[entity.name] ?? []).map(String.init).joined(separator: ", ")
            add(
                entity.name, of: table,
                where: entity.superentity == nil ? "" : " WHERE e.Z_ENT IN (\(numbers))")
        }
        for link in store.links { add(link.name, of: link.table) }
    }

    /// Creates the views, visible only to this connection; a view that SQLite refuses is left out, also from ``names``.
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

    /// Returns an expression for a column's value; dates are in ISO 8601, and values that aren't dates stay unchanged.
    private static func value(of column: CoreDataStore.Column) -> String {
        let value = "e." + quotedIdentifier(column.column)
        return switch column.content {
        case .plain, .reference: value
        case .entity: "(SELECT k.Z_NAME FROM main.Z_PRIMARYKEY AS k WHERE k.Z_ENT = \(value))"
        case .date:
            "CASE WHEN typeof(\(value)) IN ('integer', 'real') THEN coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', "
                + "\(value) + \(MetadataTime.referenceDate), 'unixepoch'), \(value)) ELSE \(value) END"
        }
    }
}
