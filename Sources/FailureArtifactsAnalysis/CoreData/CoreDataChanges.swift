package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Describes changes in Core Data stores by entities, attributes and relationships.
package struct CoreDataChanges {
    /// The description of the later store, or else of the earlier one.
    private let store: CoreDataStore
    private let roots: [String: CoreDataStore.Entity]
    private let links: [String: CoreDataStore.Link]
    /// True if a reference is shown as `Basket/p3`; false if it is the object's number, as in the entities' views.
    private let namesReferences: Bool
    /// The tables that contain objects of several entities.
    private let shared: Set<String>

    /// Creates a description from two compared stores.
    ///
    /// The result is nil if neither store can be read as a Core Data store. Read failures are reported by the
    /// comparison itself.
    package init?(
        from a: StoreComparison.Side, to b: StoreComparison.Side, limits: UntrustedLimits = .standard
    ) {
        guard
            let store = (try? CoreDataStore.read(b, limits: limits))
                ?? (try? CoreDataStore.read(a, limits: limits))
        else {
            return nil
        }
        self.init(store)
    }

    /// Creates a description from the model's description.
    ///
    /// - Parameters:
    ///   - store: The model's description.
    ///   - namesReferences: True to show a reference as `Basket/p3`; false for the number that ``CoreDataViews`` have.
    package init(_ store: CoreDataStore, namesReferences: Bool = true) {
        self.store = store
        self.namesReferences = namesReferences
        roots = Dictionary(
            store.entities.filter { $0.superentity == nil }.compactMap { entity in
                entity.table.map { ($0, entity) }
            }, uniquingKeysWith: { first, _ in first })
        let counts = Dictionary(store.entities.map { ($0.table ?? "", 1) }, uniquingKeysWith: +)
        shared = Set(counts.filter { $0.value > 1 }.keys)
        links = Dictionary(store.links.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the entity or relationship of a table; nil if the table has neither.
    package func title(of table: ComparedTable) -> String? {
        roots[table.name]?.name ?? links[table.name]?.name
    }

    /// Returns a change with the model's names and values, without `Z_PK` and columns that only Core Data uses.
    package func change(_ change: RowChange, in table: ComparedTable) -> RowChange {
        if let root = roots[table.name] { return self.change(change, of: root) }
        if let link = links[table.name] { return self.change(change, of: link, key: table.keyColumns) }
        return change
    }

    /// Returns the displayed names of a row's key columns.
    package func keyColumns(of table: ComparedTable) -> [String] {
        if roots[table.name] != nil { return table.keyColumns.map { $0 == "Z_PK" ? "_id" : $0 } }
        if let link = links[table.name] { return table.keyColumns.map { name($0, in: link) } }
        return table.keyColumns
    }

    // MARK: - Entities

    private func change(_ change: RowChange, of root: CoreDataStore.Entity) -> RowChange {
        let hasHeirs = shared.contains(root.table ?? "")
        let cells = change.cells.compactMap { cell -> RowChange.Cell? in
            switch cell.column {
            case "Z_PK": return nil
            case "Z_OPT": return change.cells.count == 1 ? cell : nil
            case "Z_ENT":
                guard hasHeirs else { return change.cells.count == 1 ? cell : nil }
                return mapped(cell, "_entity") { value in
                    if case .integer(let number) = value.content, let entity = store.entity(number) {
                        return Self.text(entity.name)
                    }
                    return value
                }
            default: return self.cell(cell, of: root, isAlone: change.cells.count == 1)
            }
        }
        return RowChange(kind: change.kind, key: change.key, cells: Self.merged(cells))
    }

    /// Merges the cells of subentities' properties with the same name, of which each object has only one.
    private static func merged(_ cells: [RowChange.Cell]) -> [RowChange.Cell] {
        var positions: [String: Int] = [:]
        var result: [RowChange.Cell] = []
        for cell in cells {
            if let position = positions[cell.column] {
                let isEmpty = [result[position].old, result[position].new].allSatisfy {
                    $0.map { $0.content == .null } ?? true
                }
                if isEmpty { result[position] = cell }
            } else {
                positions[cell.column] = result.count
                result.append(cell)
            }
        }
        return result
    }

    private func cell(
        _ cell: RowChange.Cell, of root: CoreDataStore.Entity, isAlone: Bool
    ) -> RowChange.Cell? {
        if let attribute = root.attributes.first(where: { $0.column == cell.column }) {
            return mapped(cell, attribute.name) { value($0, of: attribute) }
        }
        if let relationship = root.toOne.first(where: { $0.column == cell.column }) {
            return mapped(cell, relationship.name) { reference($0, to: relationship.entity) }
        }
        // The column contains a sort order or the entity of a relationship's target.
        return isAlone ? cell : nil
    }

    private func mapped(
        _ cell: RowChange.Cell, _ name: String, _ value: (StoredValue) -> StoredValue
    ) -> RowChange.Cell {
        RowChange.Cell(column: name, old: cell.old.map(value), new: cell.new.map(value))
    }

    // MARK: - Relationships of many to many

    private func change(
        _ change: RowChange, of link: CoreDataStore.Link, key keyColumns: [String]
    ) -> RowChange {
        let cells = change.cells.map { cell in
            mapped(cell, name(cell.column, in: link)) { value in
                [link.source, link.target].first { $0.column == cell.column }
                    .map { reference(value, to: $0.entity) } ?? value
            }
        }
        let ends = [link.source, link.target]
        let key = zip(change.key, keyColumns).map { value, column in
            reference(value, to: ends.first { $0.column == column }?.entity)
        }
        return RowChange(kind: change.kind, key: key, cells: cells)
    }

    private func name(_ column: String, in link: CoreDataStore.Link) -> String {
        if column == link.orderColumn { return "_order" }
        return [link.source, link.target].first { $0.column == column }?.name ?? column
    }

    // MARK: - Values

    /// Returns text such as `Basket/p3`, the end of the object's URI.
    private func reference(_ value: StoredValue, to entity: String?) -> StoredValue {
        guard namesReferences, case .integer(let key) = value.content, let entity else { return value }
        return Self.text("\(entity)/p\(key)")
    }

    private func value(_ value: StoredValue, of attribute: CoreDataStore.Attribute) -> StoredValue {
        let text: String? =
            switch value.content {
            case .integer(let seconds) where attribute.isDate: Self.date(Double(seconds))
            case .real(let seconds) where attribute.isDate: Self.date(seconds)
            case .integer(let number) where attribute.kind == .historyChange:
                Int(exactly: number).flatMap { index in
                    let names = CoreDataStore.historyChanges
                    return names.indices.contains(index) ? names[index] : nil
                }
            case .integer(let number) where attribute.kind == .historyEntity: store.entity(number)?.name
            case .blob(let bytes) where attribute.kind == .uuid && !value.isCut: ValueText.uuid(bytes)
            case .blob(let bytes):
                Self.externalFile(bytes, of: value.byteCount) ?? archive(value, bytes, attribute)
            default: nil
            }
        return text.map(Self.text) ?? value
    }

    /// Returns the content of an archived value; nil if the value is anything else.
    ///
    /// The entities' views can't show it.
    private func archive(
        _ value: StoredValue, _ bytes: [UInt8], _ attribute: CoreDataStore.Attribute
    ) -> String? {
        guard namesReferences, !value.isCut, attribute.kind == nil || attribute.kind == .transformable
        else { return nil }
        return PropertyList(bytes).flatMap { KeyedArchive($0) }?.line
    }

    /// Returns ISO 8601 to the millisecond; nil for dates outside the years 0 to 9999.
    private static func date(_ seconds: Double) -> String? {
        let milliseconds = (seconds * 1000).rounded()
        guard milliseconds.magnitude < 1e15 else { return nil }
        let total = Int64(milliseconds) + Int64(CoreDataStore.referenceDate) * 1000
        guard -62_167_219_200_000..<253_402_300_800_000 ~= total else { return nil }
        let rest = ((total % 1000) + 1000) % 1000
        return Timestamp(seconds: (total - rest) / 1000, milliseconds: Int32(rest)).description
    }

    /// Parses a reference to an external file: a byte 2, the file's name (a UUID), and a byte 0.
    private static func externalFile(_ bytes: [UInt8], of count: Int) -> String? {
        guard count == 38, bytes.count == 38, bytes.first == 2, bytes.last == 0 else { return nil }
        let name = bytes[1..<37]
        let isName = name.allSatisfy { byte in
            byte == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
                || UInt8(ascii: "A")...UInt8(ascii: "F") ~= byte & 0xDF
        }
        return isName ? "external file " + String(decoding: name, as: UTF8.self) : nil
    }

    private static func text(_ text: String) -> StoredValue { StoredValue(.text(Array(text.utf8))) }
}
