internal import FailureArtifactsSQLite

// Relationships that aren't columns of their own entity's table.
extension CoreDataStore {
    /// Reads a table such as `Z_26ASSETS(Z_26ALBUMS, Z_34ASSETS)`: the assets of entity 26 belong to entity 34.
    mutating func readLink(
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
    mutating func addInverses(_ model: CoreDataModel?) {
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
}
