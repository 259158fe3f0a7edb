package import FailureArtifactsSQLite

package struct DatabaseSchema: Sendable {
    package typealias Object = SchemaObject

    /// The type and name of an object, which no other object of a schema shares.
    package struct Identity: Hashable, Sendable {
        package let type: String
        /// The folded name.
        package let name: String
    }

    /// The name of the database in the connection: `main`, or the name of an attached database.
    package let database: String
    package let encoding: String
    /// The schema cookie, which SQLite increases with each change of the schema.
    package let version: Int64
    package let userVersion: Int64
    package let applicationID: Int64
    /// The objects that have SQL text, in the order of creation.
    package let objects: [Object]
    /// The structures of the tables, by folded name.
    package let tables: [String: TableShape]
    /// The reasons why structures of tables cannot be read, by folded name.
    package let problems: [String: String]
    /// The root pages of the tables and indexes, by name.
    package let roots: [String: UInt32]

    private let byIdentity: [Identity: Int]

    /// Returns the object of a type and name, ignoring the name's case.
    package func object(_ type: String, named name: String) -> Object? {
        byIdentity[Identity(type: type, name: folded(name))].map { objects[$0] }
    }

    package init(
        _ database: String, of connection: borrowing Connection, reusing known: DatabaseSchema? = nil
    ) throws(SQLiteError) {
        self.database = database
        encoding = try connection.text(of: "PRAGMA encoding")
        userVersion = try connection.integer(of: "PRAGMA \(database).user_version")
        applicationID = try connection.integer(of: "PRAGMA \(database).application_id")
        version = try connection.integer(of: "PRAGMA \(database).schema_version")
        if let known, known.version == version {
            objects = known.objects
            byIdentity = known.byIdentity
            tables = known.tables
            problems = known.problems
            roots = known.roots
            return
        }

        // Objects without SQL are SQLite's own: the indexes behind PRIMARY KEY and UNIQUE.
        let statement = try connection.prepare(
            "SELECT type, name, tbl_name, sql FROM \(database).sqlite_master WHERE sql IS NOT NULL "
                + "AND name IS NOT NULL ORDER BY rowid")
        var objects: [Object] = []
        var byIdentity: [Identity: Int] = [:]
        while try statement.step() {
            let object = Object(
                type: statement.text(at: 0), name: statement.text(at: 1), table: statement.text(at: 2),
                sql: statement.text(at: 3))
            let identity = Identity(type: object.type, name: folded(object.name))
            guard byIdentity[identity] == nil else { continue }
            byIdentity[identity] = objects.count
            objects.append(object)
        }
        self.objects = objects
        self.byIdentity = byIdentity
        roots = try Self.roots(of: database, connection)

        let reader = TableShapeReader(database: database, objects: objects)
        var tables: [String: TableShape] = [:]
        var problems: [String: String] = [:]
        for object in objects where object.type == "table" {
            do throws(SQLiteError) {
                tables[folded(object.name)] = try reader.shape(of: object.name, in: connection)
            } catch {
                if error.isInterrupted { throw error }
                problems[folded(object.name)] = error.message
            }
        }
        self.tables = tables
        self.problems = problems
    }

    private static func roots(
        of database: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [String: UInt32] {
        let statement = try connection.prepare(
            "SELECT name, rootpage FROM \(database).sqlite_master WHERE rootpage > 0")
        var roots: [String: UInt32] = [:]
        while try statement.step() {
            if case .integer(let root) = statement.value(at: 1) {
                roots[statement.text(at: 0)] = UInt32(clamping: root)
            }
        }
        return roots
    }
}
