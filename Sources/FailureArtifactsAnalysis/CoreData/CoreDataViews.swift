package import FailureArtifactsSQLite

/// Views that show a Core Data store's entities as the application sees them.
///
/// `Fruit` has one row for each object. Its columns are `_id`, `_entity` in a hierarchy, the attributes, the `_id` of
/// each to-one relationship's object, and a list of `_id`s for each to-many relationship. `Album.assets` has the pairs
/// of a many-to-many relationship.
package struct CoreDataViews {
    /// The names of the views, by the names of the tables that they show in full.
    package private(set) var names: [String: String] = [:]
    /// The statements, with the names of the views.
    private var statements: [(name: String, sql: String)] = []
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
            let ancestors = hierarchy.ancestors(of: entity)
            let relatives = Set((family + ancestors).map(\.name))
            func isShown(_ owner: String?) -> Bool { owner.map(relatives.contains) ?? true }
            let attributes = root.attributes.filter { isShown($0.entity) }
            columns.add(attributes.map { (Self.value(of: $0, store), $0.name, $0.entity) })
            let references = root.toOne.filter { isShown($0.owner) }
            columns.add(references.map { ("e." + quotedIdentifier($0.column), $0.name, $0.owner) })
            for relationship in ([entity] + ancestors).flatMap(\.toMany) {
                columns.add(Self.list(relationship), relationship.name)
            }
            let numbers = family.map { String($0.number) }.joined(separator: ", ")
            statements.append(
                (
                    name,
                    "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(columns.text) FROM main."
                        + quotedIdentifier(table) + " AS e"
                        + (entity.number == root.number ? "" : " WHERE e.Z_ENT IN (\(numbers))")
                ))
            if entity.number == root.number { names[table] = name }
        }
        for link in store.links {
            guard let name = claim(link.name) else { continue }
            var columns = Columns()
            columns.add(quotedIdentifier(link.source.column), link.source.name)
            columns.add(quotedIdentifier(link.target.column), link.target.name)
            if let order = link.orderColumn { columns.add(quotedIdentifier(order), "_order") }
            statements.append(
                (
                    name,
                    "CREATE TEMP VIEW \(quotedIdentifier(name)) AS SELECT \(columns.text) FROM main."
                        + quotedIdentifier(link.table)
                ))
            names[link.table] = name
        }
    }

    /// Creates the views, visible only to this connection.
    ///
    /// A view that SQLite refuses is left out, also from ``names``.
    ///
    /// - Parameter connection: A reading connection. The file isn't changed.
    /// - Returns: The views that are left out, as full sentences with the reasons.
    /// - Throws: An error if the store is damaged or the time is up.
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

    private mutating func claim(_ name: String) -> String? {
        let key = name.lowercased()
        guard !key.hasPrefix("sqlite_"), !name.unicodeScalars.contains("\0"), taken.insert(key).inserted
        else { return nil }
        return name
    }

    /// Returns an expression for an attribute's value.
    private static func value(
        of attribute: CoreDataStore.Attribute, _ store: CoreDataStore
    ) -> String {
        let column = "e." + quotedIdentifier(attribute.column)
        if attribute.isDate { return date(column) }
        return switch attribute.kind {
        case .uuid: uuid(column)
        case .historyChange:
            choice(column, CoreDataStore.historyChanges.enumerated().map { (Int64($0), $1) })
        case .historyEntity: choice(column, store.entities.map { ($0.number, $0.name) })
        case .binary, .transformable: externalFile(column)
        case nil where attribute.type.uppercased() == "BLOB": externalFile(column)
        default: column
        }
    }

    /// Returns an expression for the text that stands for a number; other values stay unchanged.
    private static func choice(_ column: String, _ texts: [(Int64, String)]) -> String {
        let cases = texts.map { number, text in
            "WHEN \(number) THEN '\(text.replacing("'", with: "''"))'"
        }
        if cases.isEmpty { return column }
        return "CASE \(column) \(cases.joined(separator: " ")) ELSE \(column) END"
    }

    /// Returns an expression for a UUID as text; values other than 16 bytes stay unchanged.
    private static func uuid(_ column: String) -> String {
        let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)].map { start, count in
            "substr(hex(\(column)), \(start), \(count))"
        }
        return "CASE WHEN typeof(\(column)) = 'blob' AND length(\(column)) = 16 THEN "
            + parts.joined(separator: " || '-' || ") + " ELSE \(column) END"
    }

    /// Returns an expression for the name of an external file; other values stay unchanged.
    private static func externalFile(_ column: String) -> String {
        let digit = "[0-9A-Fa-f]"
        let name = [8, 4, 4, 4, 12].map { String(repeating: digit, count: $0) }.joined(separator: "-")
        let text = "CAST(substr(\(column), 2, 36) AS TEXT)"
        return "CASE WHEN typeof(\(column)) = 'blob' AND length(\(column)) = 38 "
            + "AND substr(\(column), 1, 1) = x'02' AND substr(\(column), 38) = x'00' "
            + "AND \(text) GLOB '\(name)' THEN 'external file ' || \(text) ELSE \(column) END"
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

        /// Adds expressions.
        ///
        /// If several subentities have properties of the same name, each object has only one of them. So they are one
        /// column.
        mutating func add(_ all: [(expression: String, name: String, owner: String?)]) {
            let owned = Dictionary(grouping: all.indices.filter { all[$0].owner != nil }) {
                all[$0].name
            }
            for (index, item) in all.enumerated() {
                let namesakes = item.owner == nil ? [index] : owned[item.name] ?? []
                if namesakes.first == index {
                    add(Self.coalesced(namesakes.map { all[$0].expression }), item.name)
                }
            }
        }

        /// Returns an expression for the first value that isn't NULL.
        ///
        /// Many versions of SQLite limit a function to 127 arguments.
        private static func coalesced(_ expressions: [String]) -> String {
            if expressions.count == 1 { return expressions[0] }
            if expressions.count <= 100 { return "coalesce(\(expressions.joined(separator: ", ")))" }
            return coalesced(
                stride(from: 0, to: expressions.count, by: 100).map { start in
                    coalesced(Array(expressions[start..<min(start + 100, expressions.count)]))
                })
        }

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
