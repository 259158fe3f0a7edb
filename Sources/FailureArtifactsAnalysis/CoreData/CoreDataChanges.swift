package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Describes changes in Core Data stores by entities, attributes and relationships.
package struct CoreDataChanges {
    private let store: CoreDataStore
    private let namesReferences: Bool
    /// The shown columns by table and name.
    private let columns: [String: [String: CoreDataStore.Column]]

    /// Creates a description from two compared stores; nil if neither can be read as a Core Data store.
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

    /// Creates a description from a store's description; it shows a reference as `Basket/p3`, or as the number that
    /// ``CoreDataViews`` have.
    package init(_ store: CoreDataStore, namesReferences: Bool = true) {
        self.store = store
        self.namesReferences = namesReferences
        let tables = store.entities.compactMap(\.table) + store.links.map(\.table)
        columns = Set(tables).reduce(into: [:]) { columns, table in
            for column in store.columns(ofTable: table) {
                columns[table, default: [:]][column.column] = column
            }
        }
    }

    /// Returns the entity or relationship of a table; nil if the table has neither.
    package func title(of table: ComparedTable) -> String? {
        columns[table.name].map { _ in store.title(ofTable: table.name) }
    }

    /// Returns a change with readable names and values; columns that only Core Data uses are left out beside others.
    package func change(_ change: RowChange, in table: ComparedTable) -> RowChange {
        guard let columns = columns[table.name] else { return change }
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

    package func keyColumns(of table: ComparedTable) -> [String] {
        table.keyColumns.map { columns[table.name]?[$0]?.name ?? $0 }
    }

    private func value(_ value: StoredValue, _ column: CoreDataStore.Column) -> StoredValue {
        let text: String? =
            switch (column.content, value.content) {
            case (.date, .integer(let seconds)): Self.date(Double(seconds))
            case (.date, .real(let seconds)): Self.date(seconds)
            case (.entity, .integer(let number)): store.entity(number)?.name
            // The end of the object's URI.
            case (.reference(let entity?), .integer(let key)) where namesReferences: "\(entity)/p\(key)"
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
