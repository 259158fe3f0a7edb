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

/// Writes the statements for rows, one table after the other.
struct ScriptRows {
    private let plan: ScriptPlan
    /// The unchanged triggers that were dropped because their tables are written to.
    private(set) var suspendedTriggers: [DatabaseSchema.Object] = []
    private var hasInserted = false

    init(plan: ScriptPlan) {
        self.plan = plan
    }

    /// Writes the statements that turn the rows of A into those of B.
    mutating func write(
        _ table: ComparedTable, _ comparison: borrowing StoreComparison,
        _ write: (String) throws -> Void
    ) throws {
        let name = folded(table.name)
        let form = try RowStatements(table, comparison)
        let queries = RowQueries(table)
        if plan.newTables.contains(name) || table.presence == .onlyInB {
            if plan.filledTables.contains(name) { try write("DELETE FROM \(form.table);\n") }
            let statement = try comparison.connection.prepare(queries.allRows(of: .b))
            while try statement.step() {
                hasInserted = true
                try write(form.insert(statement))
            }
            return
        }
        // Both tables have the same definition here, so columns and keys match.
        guard table.presence == .both else { return }
        var isFirst = true
        func begin() throws {
            if isFirst { try suspendTriggers(of: name, write) }
            isFirst = false
        }
        var deleted: Int64 = 0
        let reader = RowReader(table, valueLimit: .max)
        let changed = try comparison.connection.prepare(queries.changedRows)
        while try changed.step() {
            try begin()
            let isDeleted = changed.integer(at: 0) != 0
            if isDeleted { deleted += 1 }
            if isDeleted || form.isRewritten {
                try write(form.delete(reader.wholeRow(.deleted, changed, skipping: 1)))
            } else if let update = try form.update(reader.updatedRow(changed)) {
                try write(update)
            }
        }
        if form.isRewritten {
            let rewritten = try comparison.connection.prepare(queries.changedRowsOfB)
            while try rewritten.step() {
                try begin()
                hasInserted = true
                try write(form.insert(rewritten))
            }
        } else {
            let count = try comparison.insertedCount(table, queries, deleted: deleted)
            try comparison.forEachInsertedRow(queries, count: count) { row in
                try begin()
                hasInserted = true
                try write(form.insert(row))
            }
        }
    }

    /// Restores the counters of `AUTOINCREMENT`, which the preceding statements have changed.
    func writeSequence(
        _ comparison: borrowing StoreComparison, _ write: (String) throws -> Void
    ) throws {
        let name = "sqlite_sequence"
        let isInB = plan.b.tables[name] != nil
        guard isInB || plan.a.tables[name] != nil else { return }
        if !hasInserted, plan.dropped.isEmpty, isInB, plan.a.tables[name] != nil {
            let table = try comparison.tables().first { folded($0.name) == name }
            guard let table, try comparison.countRowChanges(in: table).total > 0 else { return }
        }
        // Creating a table with AUTOINCREMENT creates the counters' table.
        let exists =
            plan.a.tables[name] != nil
            || plan.createdTables.contains { folded($0.sql).contains("autoincrement") }
        guard exists else { return }
        try write("DELETE FROM sqlite_sequence;\n")
        guard isInB else { return }
        let literals = try SQLLiterals(comparison.connection, encoding: plan.b.encoding)
        let rows = try comparison.connection.prepare(
            "SELECT rowid, name, seq FROM other.sqlite_sequence")
        while try rows.step() {
            let values = try (0...2).map { (index) throws(SQLiteError) in
                try literals.literal(rows.storedValue(at: index, limit: .max))
            }
            try write(
                "INSERT INTO sqlite_sequence(rowid, name, seq) "
                    + "VALUES(\(values.joined(separator: ", ")));\n")
        }
    }

    /// Drops a table's triggers, which would run for every row.
    private mutating func suspendTriggers(of table: String, _ write: (String) throws -> Void) throws {
        for trigger in plan.a.objects
        where trigger.type == "trigger" && folded(trigger.table) == table {
            // Skip triggers that are changed or missing in B, because they are already dropped.
            guard plan.b.object("trigger", named: trigger.name)?.sql == trigger.sql,
                DefinitionText.statement(trigger.sql) != nil
            else { continue }
            try write("DROP TRIGGER \(quotedIdentifier(trigger.name));\n")
            suspendedTriggers.append(trigger)
        }
    }
}
