internal import FailureArtifactsReading

/// The model that Core Data keeps in a store, as far as it explains the store's tables.
///
/// `Z_MODELCACHE` has it as an archive of an `NSManagedObjectModel`, compressed with raw deflate. Apple doesn't document
/// that. The keys were found in stores that Apple's code made; CoreDataStores.md names them.
struct CoreDataModel {
    /// An attribute or a relationship.
    struct Property {
        let name: String
        let content: Content

        enum Content {
            case attribute(CoreDataStore.Attribute.Kind?, isDerived: Bool)
            case relationship(target: String?, inverse: String?, isToMany: Bool)
        }

        /// True if each object has one value for it, in a column.
        var hasColumn: Bool {
            if case .relationship(_, _, isToMany: true) = content { return false }
            return true
        }
    }

    /// The limits on a model, which may be untrusted.
    private enum Limit {
        static let compressedBytes = 1 << 20
        static let bytes = 4 << 20
        static let values = 200_000
        /// The properties of all entities together, with inherited ones.
        static let properties = 20_000
        /// The bytes of a name.
        static let name = 2000
    }

    /// The maximum size of the compressed model, in bytes.
    static let maximumBytes = Limit.compressedBytes

    /// The properties of each entity, with those that it inherits.
    private var properties: [String: [String: Property]] = [:]
    private var superentities: [String: String] = [:]

    /// Reads a model; nil if it is damaged or too large, or in a format that isn't known.
    ///
    /// Entities of an archive may refer to the same properties, so the size of the archive doesn't limit their number.
    ///
    /// - Parameters:
    ///   - content: The content of `Z_MODELCACHE`.
    ///   - entities: The names of the store's entities. Others are ignored.
    init?(_ content: [UInt8], entities: Set<String>) {
        let isPlain = content.starts(with: "bplist".utf8)
        guard content.count <= Limit.compressedBytes,
            let bytes = isPlain
                ? content : RawDeflate.content(of: content, maximumBytes: Limit.bytes),
            let list = PropertyList(
                bytes, maximumBytes: Limit.bytes, maximumObjects: Limit.values,
                maximumContent: 2 * Limit.bytes),
            let archive = KeyedArchive(list)
        else { return nil }
        /// Returns the name of an entity of the store; nil for others.
        func entity(_ object: PropertyList?) -> String? {
            Self.name(object?["NSEntityName"], in: archive).flatMap { entities.contains($0) ? $0 : nil }
        }
        var count = 0
        for object in archive.objects where archive.className(of: object) == "NSEntityDescription" {
            guard let name = entity(object), properties[name] == nil else { continue }
            superentities[name] = entity(archive.object(object["NSSuperentity"]))
            properties[name] = [:]
            let pairs = archive.pairs(object["NSProperties"])
            count += pairs.count
            guard count <= Limit.properties else { return nil }
            for (key, value) in pairs {
                guard let propertyName = Self.name(key, in: archive),
                    let property = Property(propertyName, archive.object(value), in: archive)
                else { continue }
                properties[name]?[propertyName] = property
            }
        }
        if properties.isEmpty { return nil }
    }

    /// Returns a name; nil for other values and for names that are too long.
    ///
    /// One text may be the name of everything in an archive.
    fileprivate static func name(_ value: PropertyList?, in archive: KeyedArchive) -> String? {
        archive.text(value).flatMap { $0.utf8.count <= Limit.name ? $0 : nil }
    }

    /// Returns the properties that an entity declares and does not inherit, in no order.
    func declared(by entity: String) -> [Property] {
        let inherited = superentities[entity].flatMap { properties[$0] } ?? [:]
        return (properties[entity] ?? [:]).filter { inherited[$0.key] == nil }.map(\.value)
    }

    /// Returns the property of an entity with a name in capitals; nil unless it has exactly one.
    func property(_ capitals: String, of entity: String) -> Property? {
        let found = properties[entity]?.values.filter { $0.name.uppercased() == capitals } ?? []
        return found.count == 1 ? found[0] : nil
    }

    /// Returns the properties that an entity declares and whose names differ only in case, in alphabetical order.
    func namesakes(in entity: String) -> [[String]] {
        let names = declared(by: entity).filter(\.hasColumn).map(\.name)
        return Dictionary(grouping: names) { $0.uppercased() }.filter { $0.value.count > 1 }
            .sorted { $0.key < $1.key }.map { $0.value.sorted() }
    }

    /// Returns the property of an entity; nil if it has none with that name.
    func property(named name: String, of entity: String) -> Property? { properties[entity]?[name] }

    /// Returns the properties of the columns of a table.
    ///
    /// A column has the name of its property in capitals. If several entities of a table have properties of the same
    /// name, those after the first are numbered, in the order of the entities' numbers: `ZSIZE`, `ZSIZE1`. The order of
    /// properties of one entity whose names differ only in case is unknown, so they are left out.
    ///
    /// - Parameter entities: The names of the table's entities, in the order of their numbers.
    /// - Returns: The properties with the entities that declare them, by columns.
    func columns(of entities: [String]) -> [String: (property: Property, entity: String)] {
        var counts: [String: Int] = [:]
        var result: [String: (property: Property, entity: String)] = [:]
        for entity in entities {
            let own = Dictionary(grouping: declared(by: entity).filter(\.hasColumn)) {
                $0.name.uppercased()
            }
            for (capitals, namesakes) in own {
                let count = counts[capitals, default: 0]
                counts[capitals] = count + namesakes.count
                guard namesakes.count == 1 else { continue }
                result["Z" + capitals + (count > 0 ? String(count) : "")] = (namesakes[0], entity)
            }
        }
        return result
    }
}

extension CoreDataModel.Property {
    /// Reads a property; nil for a transient or a fetched one, which no table has.
    fileprivate init?(_ name: String, _ object: PropertyList?, in archive: KeyedArchive) {
        guard let object, archive.object(object["NSIsTransient"]) != .boolean(true) else { return nil }
        self.name = name
        switch archive.className(of: object) {
        case "NSAttributeDescription", "NSDerivedAttributeDescription":
            let isDerived = archive.className(of: object) == "NSDerivedAttributeDescription"
            let type = archive.integer(object["NSAttributeType"])
            content = .attribute(
                type.flatMap { CoreDataStore.Attribute.Kind(attributeType: $0) }, isDerived: isDerived)
        case "NSRelationshipDescription":
            content = .relationship(
                target: CoreDataModel.name(object["_NSDestinationEntityName"], in: archive),
                inverse: CoreDataModel.name(object["_NSInverseRelationshipName"], in: archive),
                isToMany: archive.integer(object["NSMaxCount"]) != 1)
        default: return nil
        }
    }
}
