/// A table, an index, a view or a trigger.
package struct SchemaObject: Codable, Equatable, Sendable {
    package let type: String
    package let name: String
    /// The table or view that it belongs to; for a table or view, its own name.
    package let table: String
    /// The statement that created it.
    package let sql: String

    package init(type: String, name: String, table: String, sql: String) {
        self.type = type
        self.name = name
        self.table = table
        self.sql = sql
    }
}
