internal import FailureArtifactsSQLite

/// The plan of a script that turns A into B: the schema objects to drop and to create.
struct ScriptPlan: Sendable {
    let a: DatabaseSchema
    let b: DatabaseSchema
    /// The objects to drop, in this order.
    let dropped: [DatabaseSchema.Object]
    /// The tables to create before the rows are written.
    let createdTables: [DatabaseSchema.Object]
    /// The objects to create after the rows are written.
    ///
    /// Suspended triggers are not included.
    let createdLater: [DatabaseSchema.Object]
    /// The tables without rows of A when rows are written, by folded name.
    private(set) var newTables: Set<String> = []
    /// The new tables that the module of a new virtual table fills.
    private(set) var filledTables: Set<String> = []
    /// Descriptions of the omitted parts, as clauses.
    private(set) var omissions: [String] = []
    /// The omitted tables, by folded name.
    private(set) var omittedTables: Set<String> = []

    /// The modules of the virtual tables that a script may create.
    ///
    /// They are part of SQLite, and read and write only the database that they are in.
    private static let modules: Set<String> = ["fts3", "fts4", "fts5", "rtree", "rtree_i32", "geopoly"]

    init(_ a: DatabaseSchema, _ b: DatabaseSchema) {
        self.a = a
        self.b = b
        var droppedTables: Set<String> = []
        var dropped: [DatabaseSchema.Object] = []
        for type in ["trigger", "index", "view", "table"] {
            for object in a.objects where object.type == type && Self.isOwn(object, a) {
                guard b.object(type, named: object.name)?.sql != object.sql else { continue }
                dropped.append(object)
                if type == "table" || type == "view" { droppedTables.insert(folded(object.name)) }
            }
        }
        self.dropped = dropped

        func isMissing(_ object: DatabaseSchema.Object) -> Bool {
            a.object(object.type, named: object.name)?.sql != object.sql
                || droppedTables.contains(folded(object.table))
        }
        var tables: [DatabaseSchema.Object] = []
        var later: [DatabaseSchema.Object] = []
        for type in ["table", "index", "view", "trigger"] {
            for object in b.objects
            where object.type == type && Self.isOwn(object, b) && isMissing(object) {
                let problem = Self.problem(object)
                if let problem {
                    omissions.append("\(type) \(object.name) is left out: \(problem)")
                    if type == "table" { omittedTables.insert(folded(object.name)) }
                } else if type == "table" {
                    tables.append(object)
                    newTables.insert(folded(object.name))
                } else {
                    later.append(object)
                }
            }
        }
        createdTables = tables
        createdLater = later
        for (name, shape) in b.tables where shape.isShadow {
            guard let owner = Self.owner(of: name, in: b) else { continue }
            if newTables.contains(owner) {
                newTables.insert(name)
                filledTables.insert(name)
            } else if omittedTables.contains(owner) {
                omittedTables.insert(name)
            }
        }
    }

    /// True if a separate statement created the object.
    private static func isOwn(_ object: DatabaseSchema.Object, _ side: DatabaseSchema) -> Bool {
        let name = folded(object.name)
        return !name.hasPrefix("sqlite_")
            && !(object.type == "table" && side.tables[name]?.isShadow == true)
    }

    /// Returns the reason why a definition can't be written; nil if it can.
    private static func problem(_ object: DatabaseSchema.Object) -> String? {
        guard DefinitionText.statement(object.sql) != nil else {
            return "its definition is not one plain statement"
        }
        guard object.type == "table",
            let table = VirtualTable(object.name, definition: object.sql),
            !modules.contains(table.module)
        else { return nil }
        return "the module '\(table.module)' is not one of SQLite's own"
    }

    /// Returns the virtual table whose content a shadow table holds.
    private static func owner(of shadow: String, in side: DatabaseSchema) -> String? {
        side.tables.filter { $1.kind == .virtual && shadow.hasPrefix($0 + "_") }
            .max { $0.key.utf8.count < $1.key.utf8.count }?.key
    }
}
