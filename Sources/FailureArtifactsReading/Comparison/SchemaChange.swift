package struct SchemaChange: Equatable, Sendable {
    package enum Kind: String, Equatable, Sendable {
        case added, removed, changed
    }

    package enum Subject: String, Equatable, Sendable {
        case table, index, view, trigger
        case userVersion = "user_version"
        case applicationID = "application_id"
    }

    /// A column that only one of the tables has, or whose declarations differ.
    package struct Column: Equatable, Sendable {
        package let kind: Kind
        package let name: String
        /// The declaration in A, such as `TEXT NOT NULL DEFAULT 'x'`; nil if A doesn't have the column.
        package let old: String?
        package let new: String?
    }

    package let kind: Kind
    package let subject: Subject
    /// The element's name; empty for a number in the file header.
    package let name: String
    package let table: String?
    /// The `CREATE` statement or the number in A; nil if A doesn't have the element.
    package let old: String?
    package let new: String?
    package let columns: [Column]
}
