internal import FailureArtifactsSQLite

/// The description of a Core Data model, derived from a store.
///
/// The names of entities are exact. If the store has no model that can be read, the names of attributes and relationships
/// are known only from column names in capitals, so they are in lower case here.
package struct CoreDataStore: Encodable, Equatable {
    /// A value that is stored in a column.
    package struct Attribute: Encodable, Equatable {
        package var name: String
        package var column: String
        /// The declared type, such as `VARCHAR`, `INTEGER` or `TIMESTAMP`.
        package var type: String
        /// The type in the model; nil if unknown.
        package var kind: Kind?
        /// True if a trigger of the store computes the value; nil if not.
        package var derived: Bool?
        /// The entity that has the attribute, if that is a subentity; nil for the root entity and if unknown.
        package var entity: String?

        package var isDate: Bool { kind.map { $0 == .date } ?? (type.uppercased() == "TIMESTAMP") }

        /// The type as text, such as `UUID, derived`.
        package var typeText: String { (kind?.rawValue ?? type) + (derived == true ? ", derived" : "") }

        /// The type of an attribute, with the names that Xcode's model editor shows.
        package enum Kind: String, Encodable, CaseIterable {
            case integer16 = "Integer 16"
            case integer32 = "Integer 32"
            case integer64 = "Integer 64"
            case decimal = "Decimal"
            case double = "Double"
            case float = "Float"
            case string = "String"
            case boolean = "Boolean"
            case date = "Date"
            case binary = "Binary Data"
            case uuid = "UUID"
            case uri = "URI"
            case transformable = "Transformable"
            /// The kind of a change in persistent history.
            case historyChange = "Change Type"
            /// The number of a changed object's entity in persistent history.
            case historyEntity = "Entity"

            /// Creates a kind from a value of `NSAttributeType`; nil for others.
            init?(attributeType: Int64) {
                let types: [Int64: Kind] = [
                    100: .integer16, 200: .integer32, 300: .integer64, 400: .decimal, 500: .double,
                    600: .float, 700: .string, 800: .boolean, 900: .date, 1000: .binary, 1100: .uuid,
                    1200: .uri, 1800: .transformable,
                ]
                guard let kind = types[attributeType] else { return nil }
                self = kind
            }
        }
    }

    /// A relationship to one object.
    package struct ToOne: Encodable, Equatable {
        package var name: String
        package var column: String
        /// The target's entity; nil if it can't be determined from the store.
        package var entity: String?
        /// The column that sorts the inverse relationship; nil if that isn't ordered.
        package var orderColumn: String?
        /// The entity that has the relationship, if that is a subentity; nil for the root entity and if unknown.
        package var owner: String?
        /// The name of the inverse relationship; nil if unknown.
        package var inverse: String?
    }

    /// A relationship to several objects.
    package struct ToMany: Encodable, Equatable {
        /// The name.
        ///
        /// If only the inverse relationship has a column, the name of the inverse, such as `Fruit.basket`.
        package var name: String
        package var entity: String
        package var table: String
        /// The column that contains the key of the relationship's owner.
        package var sourceColumn: String
        package var targetColumn: String
        /// The column that sorts an ordered relationship; nil for an unordered one.
        package var orderColumn: String?
    }

    package struct Entity: Encodable, Equatable {
        package var name: String
        /// The entity's number in the store, which is the value of `Z_ENT`.
        package var number: Int64
        /// The parent entity; nil for a root entity.
        package var superentity: String?
        /// The table of the entity's objects; nil if it doesn't exist.
        package var table: String?
        /// The number of objects, without those of subentities; nil if they weren't counted.
        package var rows: Int64?
        /// The attributes of the table.
        ///
        /// Entities that inherit from one another share a table. The attributes are listed only for the root entity.
        /// ``Attribute/entity`` names the subentity that has one.
        package var attributes: [Attribute] = []
        package var toOne: [ToOne] = []
        package var toMany: [ToMany] = []
    }

    /// The table of a many-to-many relationship.
    package struct Link: Encodable, Equatable {
        /// The name, such as `Album.assets`.
        package var name: String
        package var table: String
        package var source: End
        package var target: End
        package var orderColumn: String?

        package struct End: Encodable, Equatable {
            package var entity: String
            /// The name of the relationship that leads to this end.
            package var name: String
            package var column: String
        }
    }

    package var uuid: String?
    /// The version hash of each entity, in hexadecimal; empty if the hashes can't be read.
    package var modelHashes: [String: String] = [:]
    /// The identifiers of the model's versions, if they have any.
    package var modelIdentifiers: [String] = []
    /// The entities, by number.
    package var entities: [Entity] = []
    package var links: [Link] = []
    /// The names of all tables and views.
    package var objectNames: [String] = []
    /// The parts of the model that can't be told apart, as full sentences.
    package var notes: [String] = []

    private enum CodingKeys: String, CodingKey {
        case uuid, modelHashes, modelIdentifiers, entities, links
    }

    /// Returns the root entity of a table.
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

    /// True if Core Data uses the table for its own purposes.
    package static func isBookkeeping(_ table: String) -> Bool {
        ["Z_METADATA", "Z_PRIMARYKEY", "Z_MODELCACHE"].contains(table)
    }

    /// The names of persistent history's kinds of changes, by their values of `NSPersistentHistoryChangeType`.
    static let historyChanges = ["insert", "update", "delete"]

    /// The reference date of Core Data, 2001-01-01T00:00:00Z, in seconds since 1970.
    package static let referenceDate = 978_307_200
}

/// The inheritance among entities.
package struct EntityHierarchy {
    private let entities: [String: CoreDataStore.Entity]
    private let heirs: [String: [CoreDataStore.Entity]]

    package init(_ store: CoreDataStore) {
        entities = Dictionary(
            store.entities.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        heirs = Dictionary(grouping: store.entities) { $0.superentity ?? "" }
    }

    /// Returns an entity and all entities that inherit from it.
    package func family(of entity: CoreDataStore.Entity) -> [CoreDataStore.Entity] {
        var result = [entity]
        var next = 0
        // The count ends the loop if entities inherit from each other in a circle.
        while next < result.count, result.count <= entities.count {
            result += heirs[result[next].name] ?? []
            next += 1
        }
        return result
    }

    /// Returns the entities that an entity inherits from, nearest first.
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
