/// The schema of a store, without the objects that SQLite made for itself.
package struct StoreSchema: Sendable, Equatable {
    /// A table, an index, a view or a trigger.
    package struct Object: Codable, Equatable, Sendable {
        package let type: String
        package let name: String
        /// The table or view that it belongs to; for a table or view, its own name.
        package let table: String
        /// The statement that created it.
        package let sql: String

        /// The size of the texts, in bytes.
        fileprivate var size: Int {
            type.utf8.count + name.utf8.count + table.utf8.count + sql.utf8.count
        }
    }

    /// The objects, in the order of creation.
    package private(set) var objects: [Object] = []
    /// The number of objects left out because of the size limit.
    package private(set) var omitted = 0

    /// Reads the schema of an open database, up to a total size of the texts in bytes.
    package init(of connection: borrowing Connection, maximumBytes: Int) throws(SQLiteError) {
        // Objects without SQL are SQLite's own: the indexes behind PRIMARY KEY and UNIQUE.
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        var size = 0
        while try statement.step() {
            guard omitted == 0 else {
                omitted += 1
                continue
            }
            let object = Object(
                type: Self.text(statement.value(at: 0)), name: Self.text(statement.value(at: 1)),
                table: Self.text(statement.value(at: 2)), sql: Self.text(statement.value(at: 3)))
            size += object.size
            if size <= maximumBytes { objects.append(object) } else { omitted = 1 }
        }
    }

    init() {}

    private static func text(_ value: Value) -> String {
        if case .text(let text) = value { return text }
        return ""
    }
}
