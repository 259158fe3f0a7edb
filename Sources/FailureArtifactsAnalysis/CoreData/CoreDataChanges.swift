package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Describes changes in Core Data stores by entities, attributes and relationships.
package struct CoreDataChanges {
    /// The displayed form of a table's columns.
    private struct Table {
        let title: String
        /// The columns that aren't only for Core Data's own use.
        var columns: [String: Column] = [:]
    }

    private struct Column {
        let name: String
        var content = Content.plain

        enum Content {
            case plain, date, entity
            case reference(to: String)
        }
    }

    private var tables: [String: Table] = [:]
    /// The names of the entities, by their numbers.
    private let entities: [Int64: String]

    /// Creates a description from two compared stores. The result is nil if neither store can be read as a Core Data
    /// store. Read failures are reported by the comparison itself.
    package init?(
        from a: StoreComparison.Side, to b: StoreComparison.Side, limits: UntrustedLimits = .standard
    ) {
        func read(_ side: StoreComparison.Side) throws -> CoreDataStore? {
            let connection = try Connection.untrusted(
                side.path, isPrivate: side.isPrivate, limits: limits)
            connection.setDeadline(Instant.now.advanced(bySeconds: 2))
            return try CoreDataStore.read(connection)
        }
        guard let store = (try? read(b)) ?? (try? read(a)) else { return nil }
        self.init(store)
    }

    /// Creates a description from a store's description.
    ///
    /// - `namesReferences`: true to show a reference as `Basket/p3`; false for the number that
    ///   ``CoreDataViews`` have.
    package init(_ store: CoreDataStore, namesReferences: Bool = true) {
        entities = Dictionary(
            store.entities.map { ($0.number, $0.name) }, uniquingKeysWith: { first, _ in first })
        func reference(_ name: String, to entity: String?) -> Column {
            guard namesReferences, let entity else { return Column(name: name) }
            return Column(name: name, content: .reference(to: entity))
        }
        let shared = store.sharedTables
        for entity in store.entities where entity.superentity == nil {
            guard let name = entity.table, tables[name] == nil else { continue }
            var table = Table(title: entity.name)
            table.columns["Z_PK"] = Column(name: "_id")
            if shared.contains(name) {
                table.columns["Z_ENT"] = Column(name: "_entity", content: .entity)
            }
            for attribute in entity.attributes {
                table.columns[attribute.column] = Column(
                    name: attribute.name, content: attribute.isDate ? .date : .plain)
            }
            for relationship in entity.toOne {
                table.columns[relationship.column] = reference(
                    relationship.name, to: relationship.entity)
            }
            tables[name] = table
        }
        for link in store.links {
            var table = Table(title: link.name)
            for end in [link.source, link.target] {
                table.columns[end.column] = reference(end.name, to: end.entity)
            }
            if let order = link.orderColumn { table.columns[order] = Column(name: "_order") }
            tables[link.table] = table
        }
    }

    /// Returns the entity or relationship of a table; nil if the table has neither.
    package func title(of table: ComparedTable) -> String? { tables[table.name]?.title }

    /// Returns a change with readable names and values, without `Z_PK` and columns that only Core Data uses. Such a
    /// column is shown if no other one has changed.
    package func change(_ change: RowChange, in table: ComparedTable) -> RowChange {
        guard let columns = tables[table.name]?.columns else { return change }
        let cells = change.cells.compactMap { cell -> RowChange.Cell? in
            guard cell.column != "Z_PK" else { return nil }
            guard let column = columns[cell.column] else { return change.cells.count == 1 ? cell : nil }
            return RowChange.Cell(
                column: column.name, old: cell.old.map { value($0, column) },
                new: cell.new.map { value($0, column) })
        }
        let key = zip(change.key, table.keyColumns).map { key, name in
            columns[name].map { value(key, $0) } ?? key
        }
        return RowChange(kind: change.kind, key: key, cells: cells)
    }

    /// Returns the displayed names of a row's key columns.
    package func keyColumns(of table: ComparedTable) -> [String] {
        table.keyColumns.map { tables[table.name]?.columns[$0]?.name ?? $0 }
    }

    private func value(_ value: StoredValue, _ column: Column) -> StoredValue {
        let text: String? =
            switch (column.content, value.content) {
            case (.date, .integer(let seconds)): Self.date(Double(seconds))
            case (.date, .real(let seconds)): Self.date(seconds)
            case (.entity, .integer(let number)): entities[number]
            // The end of the object's URI.
            case (.reference(let entity), .integer(let key)): "\(entity)/p\(key)"
            default: nil
            }
        return text.map { StoredValue(.text(Array($0.utf8))) } ?? value
    }

    /// Returns ISO 8601 to the millisecond; nil for dates outside the years 0 to 9999.
    private static func date(_ seconds: Double) -> String? {
        let milliseconds = (seconds * 1000).rounded()
        guard milliseconds.magnitude < 1e15 else { return nil }
        let total = Int64(milliseconds) + Int64(MetadataTime.referenceDate) * 1000
        guard -62_167_219_200_000..<253_402_300_800_000 ~= total else { return nil }
        let rest = ((total % 1000) + 1000) % 1000
        return Timestamp(seconds: (total - rest) / 1000, milliseconds: Int32(rest)).description
    }
}
