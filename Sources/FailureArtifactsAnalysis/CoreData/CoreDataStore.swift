internal import FailureArtifactsSQLite

/// What a store of Core Data tells of its model.
///
/// The names of entities are exact. Those of attributes and relationships are not known by more than their
/// columns, where they are in capitals: here they are in small letters.
package struct CoreDataStore: Encodable, Equatable {
    /// A value that is kept in a column.
    package struct Attribute: Encodable, Equatable {
        package var name: String
        package var column: String
        /// As declared, such as `VARCHAR`, `INTEGER` or `TIMESTAMP`.
        package var type: String

        package var isDate: Bool { type.uppercased() == "TIMESTAMP" }
    }

    /// A relationship to one object.
    package struct ToOne: Encodable, Equatable {
        package var name: String
        package var column: String
        /// The other object's entity; nil where the store does not tell.
        package var entity: String?
        /// What the relationship back is sorted by, if it is an ordered one.
        package var orderColumn: String?
    }

    /// A relationship to several objects.
    package struct ToMany: Encodable, Equatable {
        /// Where only the relationship back has a column, the name of that one: `Fruit.basket`.
        package var name: String
        package var entity: String
        package var table: String
        /// Whose relationship it is.
        package var sourceColumn: String
        package var targetColumn: String
        /// What an ordered relationship is sorted by.
        package var orderColumn: String?
    }

    package struct Entity: Encodable, Equatable {
        package var name: String
        /// Its number in the store, which `Z_ENT` has.
        package var number: Int64
        /// The entity that it inherits from.
        package var superentity: String?
        /// Where its objects are; nil where there is no such table.
        package var table: String?
        /// Its objects, those of entities that inherit from it not counted; nil where it was not counted.
        package var rows: Int64?
        /// Those of the table, which entities that inherit from one another share: they are told of the one that
        /// inherits from none.
        package var attributes: [Attribute] = []
        package var toOne: [ToOne] = []
        package var toMany: [ToMany] = []
    }

    /// A table for a relationship of many objects to many.
    package struct Link: Encodable, Equatable {
        /// Such as `Album.assets`.
        package var name: String
        package var table: String
        package var source: End
        package var target: End
        package var orderColumn: String?

        package struct End: Encodable, Equatable {
            package var entity: String
            /// The relationship that leads here.
            package var name: String
            package var column: String
        }
    }

    package var uuid: String?
    /// The hash of each entity's version, in hexadecimal; empty where they cannot be read.
    package var modelHashes: [String: String] = [:]
    /// What the model's versions are called, if they have names.
    package var modelIdentifiers: [String] = []
    /// By their numbers.
    package var entities: [Entity] = []
    package var links: [Link] = []
    /// The names of all tables and views.
    package var objectNames: [String] = []

    private enum CodingKeys: String, CodingKey {
        case uuid, modelHashes, modelIdentifiers, entities, links
    }

    /// The entity of a table that inherits from no other.
    package func root(ofTable table: String) -> Entity? {
        entities.first { $0.table == table && $0.superentity == nil }
    }

    package func entity(_ number: Int64) -> Entity? {
        entities.first { $0.number == number }
    }

    /// What people call a table: the entity or the relationship that is in it.
    package func title(ofTable table: String) -> String {
        root(ofTable: table)?.name ?? links.first { $0.table == table }?.name ?? table
    }

    /// Core Data's own tables.
    package static func isBookkeeping(_ table: String) -> Bool {
        ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"].contains(table)
    }

    /// How many seconds after 1970 the time of Core Data begins: 2001-01-01T00:00:00Z.
    package static let referenceDate = 978_307_200
}

/// Which entities inherit from which.
package struct EntityHierarchy {
    private let entities: [String: CoreDataStore.Entity]
    private let heirs: [String: [CoreDataStore.Entity]]

    package init(_ store: CoreDataStore) {
        entities = Dictionary(
            store.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        heirs = Dictionary(grouping: store.entities) { $0.superentity ?? "" }
    }

    /// An entity and all that inherit from it.
    package func family(of entity: CoreDataStore.Entity) -> [CoreDataStore.Entity] {
        var result = [entity]
        var next = 0
        // In a circle this would not come to an end.
        while next < result.count, result.count <= entities.count {
            result += heirs[result[next].name] ?? []
            next += 1
        }
        return result
    }

    /// The entities that an entity inherits from, the nearest first.
    package func ancestors(of entity: CoreDataStore.Entity) -> [CoreDataStore.Entity] {
        var result: [CoreDataStore.Entity] = []
        var current = entity
        while let next = current.superentity.flatMap({ entities[$0] }), result.count < entities.count {
            result.append(next)
            current = next
        }
        return result
    }
}
