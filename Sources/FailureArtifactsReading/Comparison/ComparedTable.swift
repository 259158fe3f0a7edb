internal import FailureArtifactsSQLite

package struct ComparedTable: Sendable {
    /// The stores that have the table.
    package enum Presence: String, Sendable {
        case both, onlyInA, onlyInB
        /// Both stores have the table, but with different keys, so that rows can't be matched. All rows of A count as
        /// deleted, and all rows of B as inserted.
        case replaced
    }

    package let name: String
    package let presence: Presence
    /// The columns of the primary key; empty for the rowid, if the table has no key or one with NULL values.
    package let keyColumns: [String]
    /// The names of a key's values: ``keyColumns``, or `rowid`.
    package var keyNames: [String] { keyColumns.isEmpty ? ["rowid"] : keyColumns }
    /// True if the table holds the content of a virtual table.
    package let isShadow: Bool
    /// The reason why the rows are not compared, as a clause; nil if they are compared.
    package let problem: String?

    /// The readable columns of A, of B, and of both.
    package let columnsOfA: [String]
    package let columnsOfB: [String]
    package let commonColumns: [String]

    let a: TableShape?
    let b: TableShape?
    let match: RowMatch
    /// The rowids of the rows to compare; nil for all rows.
    var rowids: [Int64]?
}

/// The method of finding a row in the other store.
enum RowMatch: Equatable, Sendable {
    /// By rowid, with its names in A and B. A name is nil if that store doesn't have the table.
    case rowid(a: String?, b: String?)
    /// By a primary key other than the rowid.
    case key([TableShape.KeyColumn])
    case none
}

extension TableShape {
    /// Returns the method of identifying this table's rows on its own; nil if there is no method.
    func match(rowidIsKey: Bool) -> RowMatch? {
        if let integerKey { return .rowid(a: integerKey, b: integerKey) }
        if !primaryKey.isEmpty, !rowidIsKey { return .key(primaryKey) }
        return rowidName.map { .rowid(a: $0, b: $0) }
    }
}

extension StoreComparison {
    /// Returns the differences between the schemas: tables, indexes, views and triggers by name, and the application's
    /// numbers in the file header.
    ///
    /// It leaves out the shadow tables of virtual tables and the objects that SQLite creates for itself.
    package borrowing func schemaChanges() -> [SchemaChange] {
        let parts: [SchemaChange.Subject] = [.table, .index, .view, .trigger]
        return parts.flatMap { changes(of: $0) }
            + Self.change(.userVersion, a.userVersion, b.userVersion)
            + Self.change(.applicationID, a.applicationID, b.applicationID)
    }

    private borrowing func changes(of subject: SchemaChange.Subject) -> [SchemaChange] {
        let old = a.described(subject)
        let new = b.described(subject)
        var result: [SchemaChange] = []
        for name in Set(old.keys).union(new.keys).sorted() {
            let (first, second) = (old[name], new[name])
            guard first?.sql != second?.sql, let object = second ?? first else { continue }
            var columns: [SchemaChange.Column] = []
            if subject == .table, let before = a.tables[name], let after = b.tables[name] {
                columns = Self.columnChanges(before.columns, after.columns)
            }
            result.append(
                SchemaChange(
                    kind: first == nil ? .added : second == nil ? .removed : .changed, subject: subject,
                    name: object.name,
                    table: subject == .index || subject == .trigger ? object.table : nil,
                    old: first?.sql, new: second?.sql, columns: columns))
        }
        return result
    }

    private static func change(
        _ subject: SchemaChange.Subject, _ old: Int64, _ new: Int64
    ) -> [SchemaChange] {
        guard old != new else { return [] }
        return [
            SchemaChange(
                kind: .changed, subject: subject, name: "", table: nil, old: String(old),
                new: String(new), columns: [])
        ]
    }

    private static func columnChanges(
        _ old: [TableShape.Column], _ new: [TableShape.Column]
    ) -> [SchemaChange.Column] {
        let before = Set(old.map { folded($0.name) })
        let after = Dictionary(new.map { (folded($0.name), $0) }, uniquingKeysWith: { $1 })
        let result = old.compactMap { column -> SchemaChange.Column? in
            guard let other = after[folded(column.name)] else {
                return .init(kind: .removed, name: column.name, old: column.declaration, new: nil)
            }
            if column.isDeclared(like: other) { return nil }
            return .init(
                kind: .changed, name: other.name, old: column.declaration, new: other.declaration)
        }
        let added = new.filter { !before.contains(folded($0.name)) }
        return result
            + added.map { .init(kind: .added, name: $0.name, old: nil, new: $0.declaration) }
    }
}

extension DatabaseSchema {
    /// Returns the application's objects of a type, by folded name.
    fileprivate func described(_ subject: SchemaChange.Subject) -> [String: Object] {
        var result: [String: Object] = [:]
        for object in objects where object.type == subject.rawValue {
            let name = folded(object.name)
            guard !name.hasPrefix("sqlite_"), tables[name]?.isShadow != true || subject != .table
            else { continue }
            result[name] = object
        }
        return result
    }
}

extension TableShape.Column {
    /// The part of the column's definition after its name, as far as it is known.
    fileprivate var declaration: String {
        var parts = type.isEmpty ? [] : [type]
        if keyPosition > 0 { parts.append("PRIMARY KEY") }
        if isNotNull { parts.append("NOT NULL") }
        if let defaultValue { parts.append("DEFAULT \(defaultValue)") }
        if isGenerated { parts.append(isVirtual ? "GENERATED VIRTUAL" : "GENERATED STORED") }
        return parts.joined(separator: " ")
    }
}

extension TableShape.Column {
    /// Returns true if both columns are declared alike, whatever their positions.
    func isDeclared(like other: TableShape.Column) -> Bool {
        type == other.type && isNotNull == other.isNotNull && defaultValue == other.defaultValue
            && (keyPosition > 0) == (other.keyPosition > 0) && isGenerated == other.isGenerated
            && isVirtual == other.isVirtual
    }
}
