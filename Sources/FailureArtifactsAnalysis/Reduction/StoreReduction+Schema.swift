internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

extension StoreReduction {
    /// Drops the indexes, views, triggers and empty tables that the check doesn't need.
    func reduceSchema() throws {
        let objects: [DatabaseSchema.Object]
        let usable: Set<String>
        do {
            let connection = try Connection.untrusted(best, limits: limits)
            let schema = try DatabaseSchema("main", of: connection)
            objects = try Self.droppable(in: schema, of: connection)
            usable = try Self.usableNames(schema, of: connection)
        }
        _ = try leaveOutParts(of: objects.count) { path in
            let connection = try Connection.untrusted(path, limits: limits)
            let schema = try DatabaseSchema("main", of: connection)
            let names = Set(schema.objects.map { folded($0.name) }).intersection(usable)
            return try Self.usableNames(schema, of: connection).isSuperset(of: names)
        } _: { connection, dropped throws(SQLiteError) in
            for index in dropped {
                let object = objects[index]
                // With a table, its indexes and triggers have been dropped.
                try connection.execute(
                    "DROP \(object.type) IF EXISTS \(quotedIdentifier(object.name))")
            }
        }
    }

    /// Returns the objects that can be dropped, in an order in which each is dropped before what it uses.
    private static func droppable(
        in schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) -> [DatabaseSchema.Object] {
        var result: [DatabaseSchema.Object] = []
        for type in ["trigger", "view", "index", "table"] {
            for object in schema.objects where object.type == type {
                let name = folded(object.name)
                if type == "table" {
                    guard !ReducibleRows.isBookkeeping(name), let shape = schema.tables[name],
                        !shape.isShadow
                    else { continue }
                    // The statistics of ANALYZE are about rows that are gone.
                    let isStatistics = name.hasPrefix("sqlite_stat")
                    guard isStatistics || !name.hasPrefix("sqlite_") else { continue }
                    if !isStatistics, shape.kind != .virtual {
                        let sql = "SELECT EXISTS (SELECT 1 FROM \(quotedIdentifier(object.name)))"
                        guard try connection.integer(of: sql) == 0 else { continue }
                    }
                } else if name.hasPrefix("sqlite_") {
                    continue
                }
                result.append(object)
            }
        }
        return result
    }

    /// Returns the tables and views, in lower case, that can be used: whose triggers, foreign keys and queries name
    /// nothing that is missing.
    private static func usableNames(
        _ schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) -> Set<String> {
        try connection.enableTriggers()
        var names: Set<String> = []
        for object in schema.objects where object.type == "table" || object.type == "view" {
            let name = quotedIdentifier(object.name)
            var statements = ["SELECT * FROM \(name)"]
            if object.type == "table", let shape = schema.tables[folded(object.name)],
                shape.kind != .virtual, !shape.isShadow, !folded(object.name).hasPrefix("sqlite_")
            {
                statements += ["DELETE FROM \(name)", "INSERT INTO \(name) DEFAULT VALUES"]
                statements += shape.writableColumns.map {
                    "UPDATE \(name) SET \(quotedIdentifier($0.name)) = NULL"
                }
            }
            var isUsable = true
            for sql in statements where isUsable {
                do throws(SQLiteError) {
                    _ = try connection.prepare(sql)
                } catch {
                    if error.isInterrupted { throw error }
                    isUsable = false
                }
            }
            if isUsable { names.insert(folded(object.name)) }
        }
        return names
    }
}
