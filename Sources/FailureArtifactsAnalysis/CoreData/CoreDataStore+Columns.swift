internal import FailureArtifactsSQLite

// Attributes and relationships, from the columns of the entities' tables.
extension CoreDataStore {
    /// Distinguishes attributes from relationships by the model, or else by the names of columns and indices.
    mutating func readColumns(
        ofEntityAt index: Int, _ connection: borrowing Connection, _ indices: Set<String>,
        _ model: CoreDataModel?
    ) throws(SQLiteError) {
        guard let table = entities[index].table else { return }
        let isHistory = entities[index].number > Limit.modelEntity
        let root = entities[index].name
        var known: [String: (property: CoreDataModel.Property, entity: String)] = [:]
        if !isHistory, let model {
            let all = entities.filter { $0.table == table }.map(\.name)
            known = model.columns(of: all)
            for entity in all { noteNamesakes(in: entity, model) }
        }
        let columns = try Self.columns(of: table, connection)
        let names = Set(columns.map(\.name))
        let companions = Self.companions(in: names)
        for column in columns
        where column.name.hasPrefix("Z") && !column.name.hasPrefix("Z_FOK_")
            && !["Z_PK", "Z_ENT", "Z_OPT"].contains(column.name)
        {
            let capitals = String(column.name.dropFirst())
            let order = names.contains("Z_FOK_" + capitals) ? "Z_FOK_" + capitals : nil
            if let (property, owner) = known[column.name] {
                add(
                    property, of: owner == root ? nil : owner, in: column, toEntityAt: index,
                    order: order)
                continue
            }
            if isHistory, addHistory(column, toEntityAt: index) { continue }
            if let (_, rest) = Self.numbered(column.name, prefix: "Z"), companions[rest] != nil {
                continue
            }
            guard !capitals.isEmpty else { continue }
            // Core Data creates an index for each relationship. Earlier versions could also create one for an
            // attribute.
            let isReference =
                indices.contains("\(table)_\(column.name)_INDEX") || companions[capitals] != nil
                || order != nil
            guard column.type.uppercased() == "INTEGER", isReference else {
                entities[index].attributes.append(
                    Attribute(name: capitals.lowercased(), column: column.name, type: column.type))
                continue
            }
            let target = companions[capitals].flatMap { entity($0)?.name }
            entities[index].toOne.append(
                ToOne(
                    name: capitals.lowercased(), column: column.name,
                    entity: target
                        ?? entities.first { $0.name.uppercased() == capitals.uppercased() }?.name,
                    orderColumn: order))
        }
    }

    /// Notes which properties of an entity the names of its columns don't tell apart.
    private mutating func noteNamesakes(in entity: String, _ model: CoreDataModel) {
        notes += model.namesakes(in: entity).map { names in
            "The properties \(names.map { "'\($0)'" }.joined(separator: " and ")) of the entity "
                + "'\(entity)' differ only in case, so their columns can't be told apart. "
                + "They have the names of the columns here, in lower case."
        }
    }

    /// Returns the numbers in the names of the second columns of relationships, by the names of the relationships.
    ///
    /// If a relationship's target entity has subentities, a second column contains the target's entity.
    private static func companions(in names: Set<String>) -> [String: Int64] {
        var companions: [String: Int64] = [:]
        for name in names {
            if let (number, rest) = numbered(name, prefix: "Z"), names.contains("Z" + rest) {
                companions[rest] = number
            }
        }
        return companions
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
    mutating func readDerivation(_ connection: borrowing Connection) throws(SQLiteError) {
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
}
