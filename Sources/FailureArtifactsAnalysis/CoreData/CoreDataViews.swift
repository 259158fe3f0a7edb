package import FailureArtifactsSQLite

/// Views that show a Core Data store's entities as the application sees them.
///
/// `Fruit` has one row for each object. Its columns are `_id`, `_entity` in a hierarchy, the attributes, the `_id` of
/// each to-one relationship's object, and a list of `_id`s for each to-many relationship. `Album.assets` has the pairs
/// of a many-to-many relationship.
package struct CoreDataViews {
    /// The names of the views, by the names of the tables that they show in full.
    package private(set) var names: [String: String] = [:]
    private var statements: [String] = []
    private var taken: Set<String>

    /// Creates the statements for the views.
    ///
    /// - Parameter store: The description of the model. An entity with the name of an existing table or view has no
    ///   view.
    package init(_ store: CoreDataStore) {
        taken = Set(store.objectNames.map { $0.lowercased() })
        let hierarchy = EntityHierarchy(store)
        let sizes = Dictionary(store.entities.map { ($0.table ?? "", 1) }, uniquingKeysWith: +)
        let roots = Dictionary(
            store.entities.filter { $0.superentity == nil }.map { ($0.table ?? "", $0) },
            uniquingKeysWith: { first, _ in first })
        for entity in store.entities {
            guard let table = entity.table, let root = roots[table],
                let name = claim(entity.name)
            else { continue }
            let family = hierarchy.family(of: entity)
            var columns = Columns()
            columns.add("Z_PK", "_id")
            if sizes[table, default: 0] > 1 {
                columns.add(
                    "(SELECT k.Z_NAME FROM main.Z_PRIMARYKEY AS k WHERE k.Z_ENT = e.Z_ENT)", "_entity")
            }
            for attribute in root.attributes {
                let column = "e." + quotedIdentifier(attribute.column)
                columns.add(attribute.isDate ? Self.date(column) : column, attribute.name)
            }
            for relationship in root.toOne {
                columns.add("e." + quotedIdentifier(relationship.column), relationship.name)
            }
            for relationship in ([entity] + hierarchy.ancestors(of: entity)).flatMap(\.toMany) {
                columns.add(Self.list(relationship), relationship.name)
            }
            let numbers = family.map { String($0.number) }.joined(separator: ", ")
            statements.append(
                "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(columns.text) FROM main."
                    + quotedIdentifier(table) + " AS e"
                    + (entity.number == root.number ? "" : " WHERE e.Z_ENT IN (\(numbers))"))
            if entity.number == root.number { names[table] = name }
        }
        for link in store.links {
            guard let name = claim(link.name) else { continue }
            var columns = Columns()
            columns.add(quotedIdentifier(link.source.column), link.source.name)
            columns.add(quotedIdentifier(link.target.column), link.target.name)
            if let order = link.orderColumn { columns.add(quotedIdentifier(order), "_order") }
            statements.append(
                "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(columns.text) FROM main."
                    + quotedIdentifier(link.table))
            names[link.table] = name
        }
    }

    /// Creates the views, visible only to this connection.
    ///
    /// - Parameter connection: A reading connection. The file isn't changed.
    /// - Throws: An error if SQLite can't create a view.
    package func create(on connection: borrowing Connection) throws(SQLiteError) {
        try connection.execute("PRAGMA query_only = 0; PRAGMA temp_store = 2")
        defer { try? connection.execute("PRAGMA query_only = 1") }
        for statement in statements { try connection.execute(statement) }
    }

    private mutating func claim(_ name: String) -> String? {
        let key = name.lowercased()
        guard !key.hasPrefix("sqlite_"), !name.unicodeScalars.contains("\0"), taken.insert(key).inserted
        else { return nil }
        return name
    }

    /// Returns an expression for a date in ISO 8601.
    ///
    /// Values that aren't dates stay unchanged.
    private static func date(_ column: String) -> String {
        "CASE WHEN typeof(\(column)) IN ('integer', 'real') THEN coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', "
            + "\(column) + \(CoreDataStore.referenceDate), 'unixepoch'), \(column)) ELSE \(column) END"
    }

    /// Returns an expression for the ordered `_id`s of a relationship's objects.
    private static func list(_ relationship: CoreDataStore.ToMany) -> String {
        let target = "r." + quotedIdentifier(relationship.targetColumn)
        let order = relationship.orderColumn.map { "r.\(quotedIdentifier($0)), " } ?? ""
        return "(SELECT group_concat(id, ' ') FROM (SELECT \(target) AS id FROM main."
            + "\(quotedIdentifier(relationship.table)) AS r WHERE r."
            + "\(quotedIdentifier(relationship.sourceColumn)) = e.Z_PK ORDER BY \(order)\(target)))"
    }

    /// Expressions with unique names.
    private struct Columns {
        private var names: Set<String> = []
        private var items: [String] = []

        var text: String { items.joined(separator: ", ") }

        mutating func add(_ expression: String, _ name: String) {
            var unique = name
            var number = 2
            while !names.insert(unique.lowercased()).inserted {
                unique = "\(name)_\(number)"
                number += 1
            }
            items.append("\(expression) AS \(quotedIdentifier(unique))")
        }
    }
}
