internal import FailureArtifactsSQLite

/// The schema of a captured store.
enum Schema {
    /// A table, an index, a view or a trigger.
    struct Object: Encodable, Equatable, Sendable {
        var type: String
        var name: String
        var table: String
        /// The statement that made it.
        var sql: String
    }

    /// What somebody created in the store, in the order of creation.
    ///
    /// - Parameter path: A copy that nobody else uses.
    /// - Returns: All but what SQLite made for itself.
    /// - Throws: The failure to read it, such as that it is damaged.
    static func objects(ofStoreAt path: String) throws(SQLiteError) -> [Object] {
        let connection = try Connection(path: path, mode: .immutable)
        try connection.distrustSchema()
        // Objects without SQL are SQLite's own: the indexes behind PRIMARY KEY and UNIQUE.
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        var objects: [Object] = []
        while try statement.step() {
            objects.append(
                Object(
                    type: text(statement.value(at: 0)), name: text(statement.value(at: 1)),
                    table: text(statement.value(at: 2)), sql: text(statement.value(at: 3))))
        }
        return objects
    }

    private static func text(_ value: Value) -> String {
        if case .text(let text) = value { return text }
        return ""
    }
}
