internal import FailureArtifactsSQLite

/// A difference between the schemas of two stores.
package struct SchemaChange: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case added, removed, changed
    }

    /// What it is that differs.
    package enum Subject: String, Equatable, Sendable {
        case table, index, view, trigger
        case userVersion = "user_version"
        case applicationID = "application_id"
    }

    /// A column that only one of two tables has, or that is declared otherwise.
    package struct Column: Equatable, Sendable {
        package let kind: Kind
        package let name: String
        /// Such as `TEXT NOT NULL DEFAULT 'x'`; nil where there is no such column.
        package let old: String?
        package let new: String?
    }

    package let kind: Kind
    package let subject: Subject
    /// Empty for the numbers in the header.
    package let name: String
    /// The table of an index or a trigger.
    package let table: String?
    /// The statement that made it, or the number; nil where there is none.
    package let old: String?
    package let new: String?
    /// Of a changed table.
    package let columns: [Column]
}

extension StoreComparison {
    /// What differs in the schemas: tables, indexes, views and triggers by name, and the numbers in the
    /// header that are an application's own.
    ///
    /// The shadow tables of a virtual table are part of it, and what SQLite makes for itself is left out.
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
        let before = Dictionary(old.map { (folded($0.name), $0) }, uniquingKeysWith: { $1 })
        let after = Dictionary(new.map { (folded($0.name), $0) }, uniquingKeysWith: { $1 })
        var result: [SchemaChange.Column] = []
        for column in old {
            guard let other = after[folded(column.name)] else {
                result.append(
                    SchemaChange.Column(
                        kind: .removed, name: column.name, old: column.declaration, new: nil))
                continue
            }
            if !column.isDeclared(like: other) {
                result.append(
                    SchemaChange.Column(
                        kind: .changed, name: other.name, old: column.declaration,
                        new: other.declaration))
            }
        }
        for column in new where before[folded(column.name)] == nil {
            result.append(
                SchemaChange.Column(kind: .added, name: column.name, old: nil, new: column.declaration))
        }
        return result
    }
}

extension DatabaseSchema {
    /// The objects of a type that are somebody's own, by folded name.
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
    /// What follows the column's name in a definition, as far as it is known.
    fileprivate var declaration: String {
        var parts = type.isEmpty ? [] : [type]
        if keyPosition > 0 { parts.append("PRIMARY KEY") }
        if isNotNull { parts.append("NOT NULL") }
        if let defaultValue { parts.append("DEFAULT \(defaultValue)") }
        if isGenerated { parts.append(isVirtual ? "GENERATED VIRTUAL" : "GENERATED STORED") }
        return parts.joined(separator: " ")
    }
}
