internal import FailureArtifactsReading
package import FailureArtifactsSQLite

/// The description of a Core Data store, derived from its tables.
///
/// Columns have capital names, so the names of attributes and relationships are in lower case here.
package struct CoreDataStore: Encodable, Equatable {
    package struct Attribute: Encodable, Equatable {
        package var name: String
        package var column: String
        /// The declared type, such as `VARCHAR`, `INTEGER` or `TIMESTAMP`.
        package var type: String

        package var isDate: Bool { type.uppercased() == "TIMESTAMP" }
    }

    package struct ToOne: Encodable, Equatable {
        package var name: String
        package var column: String
        /// The target's entity; nil if it can't be determined from the store.
        package var entity: String?
    }

    package struct Entity: Encodable, Equatable {
        package var name: String
        /// The entity's number in the store, which is the value of `Z_ENT`.
        package var number: Int64
        package var superentity: String?
        package var table: String?
        /// The number of objects, without those of subentities; nil if they weren't counted.
        package var rows: Int64?
        /// The attributes of the table, only for the root of the entities that share it.
        package var attributes: [Attribute] = []
        package var toOne: [ToOne] = []
    }

    package struct Link: Encodable, Equatable {
        package var name: String
        package var table: String
        package var source: End
        package var target: End
        package var orderColumn: String?

        package struct End: Encodable, Equatable {
            package var entity: String
            package var name: String
            package var column: String
        }
    }

    package var uuid: String?
    package var entities: [Entity] = []
    package var links: [Link] = []
    /// The folded names of all tables and views.
    var objectNames: Set<String> = []

    private enum CodingKeys: String, CodingKey {
        case uuid, entities, links
    }

    package func root(ofTable table: String) -> Entity? {
        entities.first { $0.table == table && $0.superentity == nil }
    }

    package func entity(_ number: Int64) -> Entity? {
        entities.first { $0.number == number }
    }

    /// Returns the displayed name of a table: the name of its entity or relationship.
    package func title(ofTable table: String) -> String {
        root(ofTable: table)?.name ?? links.first { $0.table == table }?.name ?? table
    }

    /// A column of a table as it is shown.
    struct Column {
        let column: String
        let name: String
        var content = Content.plain

        enum Content {
            case plain, date, entity
            case reference(to: String?)
        }
    }

    /// Returns the shown columns of a table of objects, or of a many-to-many relationship; empty for other tables.
    func columns(ofTable table: String) -> [Column] {
        if let root = root(ofTable: table) {
            let isShared = entities.count { $0.table == table } > 1
            return [Column(column: "Z_PK", name: "_id")]
                + (isShared ? [Column(column: "Z_ENT", name: "_entity", content: .entity)] : [])
                + root.attributes.map {
                    Column(column: $0.column, name: $0.name, content: $0.isDate ? .date : .plain)
                }
                + root.toOne.map {
                    Column(column: $0.column, name: $0.name, content: .reference(to: $0.entity))
                }
        }
        guard let link = links.first(where: { $0.table == table }) else { return [] }
        return [link.source, link.target].map {
            Column(column: $0.column, name: $0.name, content: .reference(to: $0.entity))
        } + (link.orderColumn.map { [Column(column: $0, name: "_order")] } ?? [])
    }
}

extension CoreDataStore {
    private static let maximumEntities = 500

    /// Reads the description of a Core Data store, and counts the objects on request, which takes as long as reading
    /// the entities' tables; nil if Core Data didn't create the store.
    package static func read(
        _ connection: borrowing Connection, counts: Bool = false
    ) throws(SQLiteError) -> CoreDataStore? {
        let schema = try DatabaseSchema("main", of: connection)
        let required = [
            "z_metadata": ["Z_UUID", "Z_PLIST"], "z_primarykey": ["Z_ENT", "Z_NAME", "Z_SUPER"],
        ]
        for (table, columns) in required {
            let names = Set(schema.tables[table]?.columns.map(\.name) ?? [])
            guard names.isSuperset(of: columns) else { return nil }
        }
        var store = CoreDataStore()
        store.objectNames = Set(
            schema.objects.filter { $0.type == "table" || $0.type == "view" }.map { folded($0.name) })
        let uuid = try connection.text(of: "SELECT substr(max(Z_UUID), 1, 200) FROM main.Z_METADATA")
        store.uuid = uuid.isEmpty ? nil : uuid
        try store.readEntities(connection, schema)
        for index in store.entities.indices where store.entities[index].superentity == nil {
            store.readColumns(ofEntityAt: index, schema)
        }
        for table in schema.tables.values.sorted(by: { $0.name < $1.name }) { store.readLink(table) }
        if counts { try store.countObjects(connection) }
        return store
    }

    private mutating func readEntities(
        _ connection: borrowing Connection, _ schema: DatabaseSchema
    ) throws(SQLiteError) {
        let statement = try connection.prepare(
            """
            SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY
            WHERE typeof(Z_ENT) = 'integer' AND length(Z_NAME) BETWEEN 1 AND 500 ORDER BY Z_ENT
            LIMIT \(Self.maximumEntities)
            """)
        var supers: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        var seen: Set<String> = []
        while try statement.step() {
            guard case .integer(let number) = statement.value(at: 0),
                case .text(let name) = statement.value(at: 1), names[number] == nil,
                seen.insert(name).inserted
            else { continue }
            names[number] = name
            if case .integer(let other) = statement.value(at: 2), other != 0 { supers[number] = other }
        }
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var (root, steps) = (number, 0)
            while let next = supers[root], names[next] != nil, steps < names.count {
                (root, steps) = (next, steps + 1)
            }
            // Entities that inherit from each other in a circle have no table.
            let rootName = steps < names.count ? names[root]?.uppercased() : nil
            // Persistent history's entities have larger numbers than the model's, and tables such as `ACHANGE`.
            let prefix = root > 16000 ? "A" : "Z"
            entities.append(
                Entity(
                    name: name, number: number, superentity: supers[number].flatMap { names[$0] },
                    table: rootName.flatMap { schema.tables[folded(prefix + $0)]?.name }))
        }
    }

    /// Distinguishes attributes from relationships by the names of columns and indices.
    private mutating func readColumns(ofEntityAt index: Int, _ schema: DatabaseSchema) {
        guard let table = entities[index].table, let shape = schema.tables[folded(table)] else { return }
        let names = Set(shape.columns.map(\.name))
        let indexes = Set(schema.objects.filter { $0.type == "index" }.map { folded($0.name) })
        // If a relationship's target entity has subentities, a second column such as `Z4_GROWER` contains the target's
        // entity.
        var companions: [String: Int64] = [:]
        for name in names {
            if let (number, rest) = Self.numbered(name, prefix: "Z"), names.contains("Z" + rest) {
                companions[rest] = number
            }
        }
        for column in shape.columns
        where column.name.hasPrefix("Z") && !column.name.hasPrefix("Z_FOK_")
            && !["Z", "Z_PK", "Z_ENT", "Z_OPT"].contains(column.name)
        {
            if let (_, rest) = Self.numbered(column.name, prefix: "Z"), companions[rest] != nil {
                continue
            }
            let capitals = String(column.name.dropFirst())
            // Core Data creates an index for each relationship. Earlier versions could also create one for an attribute.
            let isReference =
                indexes.contains(folded("\(table)_\(column.name)_INDEX"))
                || companions[capitals] != nil || names.contains("Z_FOK_" + capitals)
            if column.type.uppercased() == "INTEGER", isReference {
                let target =
                    companions[capitals].flatMap { entity($0) }
                    ?? entities.first { $0.name.uppercased() == capitals.uppercased() }
                entities[index].toOne.append(
                    ToOne(name: capitals.lowercased(), column: column.name, entity: target?.name))
            } else {
                // Persistent history declares its times as `FLOAT`.
                let isTime = table == "ATRANSACTION" && column.name == "ZTIMESTAMP"
                entities[index].attributes.append(
                    Attribute(
                        name: capitals.lowercased(), column: column.name,
                        type: isTime ? "TIMESTAMP" : column.type))
            }
        }
    }

    /// Reads a table such as `Z_26ASSETS(Z_26ALBUMS, Z_34ASSETS)`: the assets of entity 26 belong to entity 34.
    private mutating func readLink(_ table: TableShape) {
        guard let (number, relationship) = Self.numbered(table.name, prefix: "Z_"),
            let owner = entity(number)
        else { return }
        let names = table.columns.map(\.name)
        // A relationship that is its own inverse has the same name in both directions.
        var ends = names.compactMap { column -> (column: String, number: Int64, name: String)? in
            if column == "REFLEXIVE" { return (column, number, relationship) }
            return Self.numbered(column, prefix: "Z_").map { (column, $0.number, $0.rest) }
        }
        guard ends.count == 2 else { return }
        if ends[0].name == relationship, ends[0].column != "REFLEXIVE" { ends.reverse() }
        guard ends[0].number == number, let other = entity(ends[1].number) else { return }
        let source = Link.End(
            entity: owner.name, name: ends[0].name.lowercased(), column: ends[0].column)
        let target = Link.End(
            entity: other.name, name: ends[1].name.lowercased(), column: ends[1].column)
        let order = "Z_FOK_" + target.column.dropFirst(2)
        links.append(
            Link(
                name: "\(owner.name).\(target.name)", table: table.name, source: source, target: target,
                orderColumn: names.contains(order) ? order : nil))
    }

    private mutating func countObjects(_ connection: borrowing Connection) throws(SQLiteError) {
        for table in Set(entities.compactMap(\.table)) {
            let sql =
                "SELECT Z_ENT, count(*) FROM main.\(quotedIdentifier(table)) GROUP BY 1 "
                + "LIMIT \(Self.maximumEntities)"
            // A table of an untrusted store may lack the column.
            guard let statement = try? connection.prepare(sql) else { continue }
            var counts: [Int64: Int64] = [:]
            while try statement.step() {
                if case .integer(let number) = statement.value(at: 0),
                    case .integer(let count) = statement.value(at: 1)
                {
                    counts[number] = count
                }
            }
            for index in entities.indices where entities[index].table == table {
                entities[index].rows = counts[entities[index].number] ?? 0
            }
        }
    }

    /// Returns the number and the rest of a name such as `Z_26ASSETS`.
    private static func numbered(_ name: String, prefix: String) -> (number: Int64, rest: String)? {
        guard name.hasPrefix(prefix) else { return nil }
        let digits = name.dropFirst(prefix.count).prefix { $0.isASCII && $0.isNumber }
        var rest = name.dropFirst(prefix.count + digits.count)
        // Names that Core Data generates have an underscore after the number: `Z26_OWNER`, but `Z_26ASSETS`.
        if prefix == "Z" {
            guard rest.hasPrefix("_") else { return nil }
            rest = rest.dropFirst()
        }
        guard let number = Int64(digits), !rest.isEmpty else { return nil }
        return (number, String(rest))
    }
}
