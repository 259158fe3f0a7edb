internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension CoreDataStore {
    /// The limits on content that is read.
    private enum Limit {
        static let entities = 500
        static let tables = 5000
        /// The characters of a trigger's name.
        static let triggerName = 1000
        /// The underscores in a trigger's name.
        static let underscores = 24
        /// The largest number of an entity of the application's model.
        ///
        /// Core Data's own entities have larger numbers, and their tables start with another letter. For example, 16001
        /// is `CHANGE` of the persistent history, in the table `ACHANGE`.
        static let modelEntity: Int64 = 16000
    }

    /// Reads the description of a Core Data store.
    ///
    /// - Parameters:
    ///   - connection: A connection that has the store as `main` and doesn't trust its schema.
    ///   - counts: True to count objects, which takes as long as reading the entities' tables.
    /// - Returns: The description; nil if Core Data didn't create the store.
    /// - Throws: An error if the store can't be read.
    package static func read(
        _ connection: borrowing Connection, counts: Bool = false
    ) throws(SQLiteError) -> CoreDataStore? {
        let tables = Set(
            try rows(
                "SELECT name FROM main.sqlite_master WHERE type = 'table' LIMIT \(Limit.tables)",
                connection
            ).compactMap { $0[0].text })
        guard tables.isSuperset(of: ["Z_METADATA", "Z_PRIMARYKEY"]),
            Set(try columns(of: "Z_METADATA", connection).map(\.name))
                .isSuperset(of: ["Z_UUID", "Z_PLIST"]),
            Set(try columns(of: "Z_PRIMARYKEY", connection).map(\.name))
                .isSuperset(of: ["Z_ENT", "Z_NAME", "Z_SUPER"])
        else { return nil }
        var store = CoreDataStore()
        store.objectNames = try rows(
            "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') LIMIT \(2 * Limit.tables)",
            connection
        ).compactMap { $0[0].text }
        try store.readMetadata(connection)
        try store.readEntities(connection, tables)
        let indices = Set(
            try rows(
                "SELECT name FROM main.sqlite_master WHERE type = 'index' LIMIT \(4 * Limit.tables)",
                connection
            ).compactMap { $0[0].text })
        let model = tables.contains("Z_MODELCACHE") ? try store.readModel(connection) : nil
        for index in store.entities.indices where store.entities[index].superentity == nil {
            try store.readColumns(ofEntityAt: index, connection, indices, model)
        }
        try store.readDerivation(connection)
        for table in tables.sorted() { try store.readLink(table, connection, model) }
        store.addInverses(model)
        if counts { try store.countObjects(connection) }
        return store
    }

    /// Reads the description of the Core Data store in a file.
    static func read(
        _ side: StoreComparison.Side, limits: UntrustedLimits = .standard
    ) throws(SQLiteError) -> CoreDataStore? {
        let connection = try Connection.untrusted(
            side.path, isPrivate: side.isPrivate, limits: limits)
        connection.setDeadline(Instant.now.advanced(bySeconds: 2))
        return try read(connection)
    }

    private mutating func readMetadata(_ connection: borrowing Connection) throws(SQLiteError) {
        let rows = try Self.rows(
            """
            SELECT substr(Z_UUID, 1, 200),
            CASE WHEN length(Z_PLIST) <= \(PropertyList.maximumBytes) THEN Z_PLIST END
            FROM main.Z_METADATA LIMIT 1
            """, connection)
        guard let row = rows.first else { return }
        uuid = row[0].text
        guard case .blob(let bytes) = row[1], let list = PropertyList(bytes) else { return }
        if case .dictionary(let hashes)? = list["NSStoreModelVersionHashes"] {
            modelHashes = hashes.compactMapValues { hash in
                if case .data(let bytes) = hash { return hexadecimalText(bytes) }
                return nil
            }
        }
        if case .array(let names)? = list["NSStoreModelVersionIdentifiers"] {
            modelIdentifiers = names.compactMap { name in
                if case .string(let text) = name, !text.isEmpty { return text }
                return nil
            }
        }
    }

    private func readModel(
        _ connection: borrowing Connection
    ) throws(SQLiteError) -> CoreDataModel? {
        guard
            try Self.columns(of: "Z_MODELCACHE", connection).contains(where: { $0.name == "Z_CONTENT" })
        else { return nil }
        let rows = try Self.rows(
            "SELECT Z_CONTENT FROM main.Z_MODELCACHE WHERE length(Z_CONTENT) <= \(CoreDataModel.maximumBytes) "
                + "AND typeof(Z_CONTENT) = 'blob' LIMIT 1", connection)
        guard case .blob(let bytes)? = rows.first?.first else { return nil }
        return CoreDataModel(bytes, entities: Set(entities.map(\.name)))
    }

    private mutating func readEntities(
        _ connection: borrowing Connection, _ tables: Set<String>
    ) throws(SQLiteError) {
        let rows = try Self.rows(
            """
            SELECT Z_ENT, Z_NAME, Z_SUPER FROM main.Z_PRIMARYKEY
            WHERE typeof(Z_ENT) = 'integer' AND length(Z_NAME) BETWEEN 1 AND 500 ORDER BY Z_ENT
            LIMIT \(Limit.entities)
            """, connection)
        var supers: [Int64: Int64] = [:]
        var names: [Int64: String] = [:]
        var seen: Set<String> = []
        for row in rows {
            guard case .integer(let number) = row[0], let name = row[1].text, names[number] == nil,
                seen.insert(name).inserted
            else { continue }
            names[number] = name
            if case .integer(let other) = row[2], other != 0 { supers[number] = other }
        }
        let capitals = Dictionary(
            tables.map { ($0.uppercased(), $0) }, uniquingKeysWith: { min($0, $1) })
        for (number, name) in names.sorted(by: { $0.key < $1.key }) {
            var (root, steps) = (number, 0)
            while let next = supers[root], names[next] != nil, steps < names.count {
                (root, steps) = (next, steps + 1)
            }
            // Entities that inherit from each other in a circle have no table.
            let isRooted = steps < names.count
            let prefix = root > Limit.modelEntity ? "A" : "Z"
            let table = isRooted ? names[root].flatMap { capitals[prefix + $0.uppercased()] } : nil
            entities.append(
                Entity(
                    name: name, number: number, superentity: supers[number].flatMap { names[$0] },
                    table: table))
        }
    }

    /// Distinguishes attributes from relationships by the model, or else by the names of columns and indices.
    private mutating func readColumns(
        ofEntityAt index: Int, _ connection: borrowing Connection, _ indices: Set<String>,
        _ model: CoreDataModel?
    ) throws(SQLiteError) {
        guard let table = entities[index].table else { return }
        let isHistory = entities[index].number > Limit.modelEntity
        let root = entities[index].name
        let known =
            isHistory
            ? [:] : model?.columns(of: entities.filter { $0.table == table }.map(\.name)) ?? [:]
        if !isHistory, let model {
            for entity in entities where entity.table == table {
                notes += model.namesakes(in: entity.name).map { names in
                    "The properties \(names.map { "'\($0)'" }.joined(separator: " and ")) of the entity "
                        + "'\(entity.name)' differ only in case, so their columns can't be told apart. "
                        + "They have the names of the columns here, in lower case."
                }
            }
        }
        let columns = try Self.columns(of: table, connection)
        let names = Set(columns.map(\.name))
        // If a relationship's target entity has subentities, a second column contains the target's entity.
        var companions: [String: Int64] = [:]
        for name in names {
            if let (number, rest) = Self.numbered(name, prefix: "Z"), names.contains("Z" + rest) {
                companions[rest] = number
            }
        }
        let namesakes = Dictionary(
            entities.map { ($0.name.uppercased(), $0.name) }, uniquingKeysWith: { first, _ in first })
        for column in columns
        where column.name.hasPrefix("Z") && !column.name.hasPrefix("Z_FOK_")
            && !["Z_PK", "Z_ENT", "Z_OPT"].contains(column.name)
        {
            let capitals = String(column.name.dropFirst())
            if let (property, owner) = known[column.name] {
                add(
                    property, of: owner == root ? nil : owner, in: column, toEntityAt: index,
                    order: names.contains("Z_FOK_" + capitals) ? "Z_FOK_" + capitals : nil)
                continue
            }
            if isHistory, addHistory(column, toEntityAt: index) { continue }
            if let (_, rest) = Self.numbered(column.name, prefix: "Z"), companions[rest] != nil {
                continue
            }
            guard !capitals.isEmpty else { continue }
            let name = capitals.lowercased()
            let isIndexed = indices.contains("\(table)_\(column.name)_INDEX")
            let target =
                companions[capitals].flatMap { entity($0)?.name } ?? namesakes[capitals.uppercased()]
            // Core Data creates an index for each relationship. Earlier versions could also create one for an
            // attribute.
            let isReference =
                isIndexed || companions[capitals] != nil || names.contains("Z_FOK_" + capitals)
            if column.type.uppercased() == "INTEGER", isReference {
                let order = "Z_FOK_" + capitals
                entities[index].toOne.append(
                    ToOne(
                        name: name, column: column.name, entity: target,
                        orderColumn: names.contains(order) ? order : nil))
            } else {
                entities[index].attributes.append(
                    Attribute(name: name, column: column.name, type: column.type))
            }
        }
    }

    /// Adds a column that the model describes.
    private mutating func add(
        _ property: CoreDataModel.Property, of owner: String?, in column: (name: String, type: String),
        toEntityAt index: Int, order: String?
    ) {
        switch property.content {
        case .attribute(let kind, let isDerived):
            entities[index].attributes.append(
                Attribute(
                    name: property.name, column: column.name, type: column.type, kind: kind,
                    derived: isDerived ? true : nil, entity: owner))
        case .relationship(let target, let inverse, _):
            entities[index].toOne.append(
                ToOne(
                    name: property.name, column: column.name, entity: target, orderColumn: order,
                    owner: owner, inverse: inverse))
        }
    }

    /// Adds a column of persistent history, which no model describes.
    ///
    /// - Returns: False if nothing more is known of the column than its name and its type.
    private mutating func addHistory(
        _ column: (name: String, type: String), toEntityAt index: Int
    ) -> Bool {
        let name = column.name.dropFirst().lowercased()
        let kind: Attribute.Kind
        switch (entities[index].name, column.name) {
        case ("CHANGE", "ZCHANGETYPE"): kind = .historyChange
        case ("CHANGE", "ZENTITY"): kind = .historyEntity
        case ("TRANSACTION", "ZTIMESTAMP"): kind = .date
        case ("CHANGE", "ZTRANSACTIONID"), ("TRANSACTION", "ZAUTHORTS"), ("TRANSACTION", "ZBUNDLEIDTS"),
            ("TRANSACTION", "ZCONTEXTNAMETS"), ("TRANSACTION", "ZPROCESSIDTS"):
            let target = entities[index].name == "CHANGE" ? "TRANSACTION" : "TRANSACTIONSTRING"
            entities[index].toOne.append(ToOne(name: name, column: column.name, entity: target))
            return true
        default: return false
        }
        entities[index].attributes.append(
            Attribute(name: name, column: column.name, type: column.type, kind: kind))
        return true
    }

    /// Marks the attributes that triggers compute, such as `Z_DA_ZALBUM_Album_photoCount_INSERT`.
    private mutating func readDerivation(_ connection: borrowing Connection) throws(SQLiteError) {
        let triggers = try Self.rows(
            "SELECT name FROM main.sqlite_master WHERE type = 'trigger' AND name GLOB 'Z_DA_*' "
                + "AND length(name) <= \(Limit.triggerName) LIMIT \(Limit.tables)",
            connection
        ).compactMap { $0[0].text?.uppercased() }
        if triggers.isEmpty { return }
        let tables = Dictionary(grouping: entities) { $0.name.uppercased() }
            .mapValues { Set($0.compactMap(\.table)) }
        let known = Set(entities.flatMap { $0.attributes.map { $0.name.uppercased() } })
        // The names of derived attributes by their entities, all in capitals.
        var derived: [String: Set<String>] = [:]
        for trigger in triggers {
            for (entity, names) in Self.parts(of: trigger, isEntity: { tables[$0] != nil }) {
                derived[entity, default: []].formUnion(names.filter(known.contains))
            }
        }
        var inTables: [String: Set<String>] = [:]
        for (entity, names) in derived {
            for table in tables[entity] ?? [] { inTables[table, default: []].formUnion(names) }
        }
        for index in entities.indices {
            guard let table = entities[index].table else { continue }
            for position in entities[index].attributes.indices {
                let attribute = entities[index].attributes[position]
                let names = attribute.entity.map { derived[$0.uppercased()] } ?? inTables[table]
                if names?.contains(attribute.name.uppercased()) == true {
                    entities[index].attributes[position].derived = true
                }
            }
        }
    }

    /// Returns the entities that a trigger's name may contain, each with the texts that may be its attribute.
    ///
    /// Names of entities and attributes may contain underscores. A name with too many of them has no parts.
    private static func parts(
        of trigger: String, isEntity: (String) -> Bool
    ) -> [(entity: String, attributes: [String])] {
        let marks = trigger.indices.filter { trigger[$0] == "_" }
        guard marks.count <= Limit.underscores else { return [] }
        func text(_ start: Int, _ end: Int) -> String {
            String(trigger[trigger.index(after: marks[start])..<marks[end]])
        }
        var result: [(entity: String, attributes: [String])] = []
        for start in marks.indices {
            for middle in marks.indices.dropFirst(start + 1) {
                let entity = text(start, middle)
                guard isEntity(entity) else { continue }
                result.append((entity, marks.indices.dropFirst(middle + 1).map { text(middle, $0) }))
            }
        }
        return result
    }

    /// Reads a table such as `Z_26ASSETS(Z_26ALBUMS, Z_34ASSETS)`: the assets of entity 26 belong to entity 34.
    private mutating func readLink(
        _ table: String, _ connection: borrowing Connection, _ model: CoreDataModel?
    ) throws(SQLiteError) {
        guard let (number, relationship) = Self.numbered(table, prefix: "Z_"),
            let owner = entity(number)
        else { return }
        var ends: [(column: String, number: Int64, name: String)] = []
        var orders: [String] = []
        for column in try Self.columns(of: table, connection).map(\.name) {
            if column.hasPrefix("Z_FOK_") {
                orders.append(column)
            } else if let (number, name) = Self.numbered(column, prefix: "Z_") {
                ends.append((column, number, name))
            } else if column == "REFLEXIVE" {
                ends.append((column, number, relationship))
            }
        }
        guard ends.count == 2 else { return }
        // A relationship that is its own inverse has the same name in both directions.
        let targetIndex =
            ends.firstIndex { $0.name == relationship && $0.column != "REFLEXIVE" }
            ?? 1
        let (source, target) = (ends[1 - targetIndex], ends[targetIndex])
        guard source.number == number, let other = entity(target.number) else { return }
        // The relationship that leads to an end is one of the entity at the other end.
        func end(
            _ end: (column: String, number: Int64, name: String), _ entity: Entity, from start: Entity
        ) -> Link.End {
            let name = model?.property(end.name, of: start.name)?.name ?? end.name.lowercased()
            return Link.End(entity: entity.name, name: name, column: end.column)
        }
        let order = orders.first { $0 == "Z_FOK_" + target.column.dropFirst(2) }
        let targetEnd = end(target, other, from: owner)
        let link = Link(
            name: "\(owner.name).\(targetEnd.name)", table: table,
            source: end(source, owner, from: other),
            target: targetEnd, orderColumn: order)
        links.append(link)
        add(
            ToMany(
                name: link.target.name, entity: other.name, table: table, sourceColumn: source.column,
                targetColumn: target.column, orderColumn: order), toEntity: number)
        guard source.column != "REFLEXIVE" else { return }
        add(
            ToMany(
                name: link.source.name, entity: owner.name, table: table, sourceColumn: target.column,
                targetColumn: source.column,
                orderColumn: orders.first { $0 == "Z_FOK_" + source.column.dropFirst(2) }),
            toEntity: target.number)
    }

    private mutating func add(_ relationship: ToMany, toEntity number: Int64) {
        guard let index = entities.firstIndex(where: { $0.number == number }) else { return }
        entities[index].toMany.append(relationship)
    }

    /// Adds the inverse of each to-one relationship as a to-many relationship.
    ///
    /// An inverse that leads to one object has a column of its own.
    private mutating func addInverses(_ model: CoreDataModel?) {
        for entity in entities {
            guard let table = entity.table else { continue }
            for relationship in entity.toOne {
                guard let name = relationship.entity,
                    let index = entities.firstIndex(where: { $0.name == name })
                else { continue }
                let inverse = relationship.inverse.flatMap { model?.property(named: $0, of: name) }
                if inverse?.hasColumn == true { continue }
                let owner = relationship.owner ?? entity.name
                entities[index].toMany.append(
                    ToMany(
                        name: inverse?.name ?? "\(owner).\(relationship.name)", entity: owner,
                        table: table,
                        sourceColumn: relationship.column, targetColumn: "Z_PK",
                        orderColumn: relationship.orderColumn))
            }
        }
    }

    private mutating func countObjects(_ connection: borrowing Connection) throws(SQLiteError) {
        for table in Set(entities.compactMap(\.table)) {
            var counts: [Int64: Int64] = [:]
            let sql =
                "SELECT Z_ENT, count(*) FROM main.\(quotedIdentifier(table)) GROUP BY 1 LIMIT \(Limit.entities)"
            guard let rows = try? Self.rows(sql, connection) else { continue }
            for row in rows {
                if case .integer(let number) = row[0], case .integer(let count) = row[1] {
                    counts[number] = count
                }
            }
            for index in entities.indices where entities[index].table == table {
                entities[index].rows = counts[entities[index].number] ?? 0
            }
        }
    }

    // MARK: - Names

    /// Returns the number and the rest of a name such as `Z_26ASSETS`.
    private static func numbered(_ name: String, prefix: String) -> (number: Int64, rest: String)? {
        guard name.hasPrefix(prefix) else { return nil }
        let rest = name.dropFirst(prefix.count)
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        // Names that Core Data generates have an underscore after the number: `Z26_OWNER`, but `Z_26ASSETS`.
        var name = rest.dropFirst(digits.count)
        if prefix == "Z" {
            guard name.hasPrefix("_") else { return nil }
            name = name.dropFirst()
        }
        guard let number = Int64(digits), !name.isEmpty else { return nil }
        return (number, String(name))
    }

    // MARK: - Rows

    private static func columns(
        of table: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [(name: String, type: String)] {
        let statement = try connection.prepare(
            "SELECT name, type FROM pragma_table_info(?, 'main')")
        try statement.bind([.text(table)])
        var result: [(name: String, type: String)] = []
        while try statement.step() {
            if let name = statement.value(at: 0).text {
                result.append((name, statement.value(at: 1).text ?? ""))
            }
        }
        return result
    }

    private static func rows(
        _ sql: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [[Value]] {
        let statement = try connection.prepare(sql)
        let count = statement.columnNames.count
        var result: [[Value]] = []
        while try statement.step() { result.append((0..<count).map { statement.value(at: $0) }) }
        return result
    }
}

extension Value {
    fileprivate var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }
}
