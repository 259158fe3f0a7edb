package import FailureArtifactsSQLite
internal import CFailureArtifactsSQLite

extension StoreComparison {
    /// Returns the tables of both stores, by name; virtual tables are omitted; their content is in shadow tables.
    ///
    /// - `changed`: the rows that may differ; nil if all may. Tables without such rows are omitted.
    package borrowing func tables(
        changed: ChangedRows? = nil
    ) throws(SQLiteError) -> [ComparedTable] {
        let names = Set(a.objects.filter(Self.holdsRows).map { folded($0.name) })
            .union(b.objects.filter(Self.holdsRows).map { folded($0.name) })
        var result: [ComparedTable] = []
        for name in names.sorted() {
            let shapes = (a.tables[name], b.tables[name])
            if let problem = a.problems[name] ?? b.problems[name] {
                result.append(Self.uncomparable(named: name, shapes, problem))
                continue
            }
            // One store's table may be a virtual table in the other.
            let first = shapes.0?.kind == .virtual ? nil : shapes.0
            let second = shapes.1?.kind == .virtual ? nil : shapes.1
            guard first != nil || second != nil else { continue }
            var rowids: [Int64]?
            if let first, let second, case .rows(let listed) = changed?.extent(of: first.name) {
                if listed.isEmpty { continue }
                if first.rowidName != nil, second.rowidName != nil { rowids = listed }
            }
            do throws(SQLiteError) {
                var table = try pair(first, second)
                table.rowids = table.presence == .both ? rowids : nil
                if table.presence == .both {
                    // Compile the queries now, so that an error comes before any row.
                    let queries = RowQueries(table)
                    for sql in [queries.changedRows, queries.insertedRows] {
                        _ = try connection.prepare(sql)
                    }
                }
                result.append(table)
            } catch {
                guard error.mayConcernOneTable else { throw error }
                result.append(Self.uncomparable(named: name, (first, second), error.message))
            }
        }
        return result
    }

    /// True if the object is a table with application data.
    private static func holdsRows(_ object: DatabaseSchema.Object) -> Bool {
        object.type == "table" && !folded(object.name).hasPrefix("sqlite_stat")
    }

    private static func uncomparable(
        named name: String, _ shapes: (TableShape?, TableShape?), _ problem: String
    ) -> ComparedTable {
        let presence: ComparedTable.Presence =
            if shapes.1 == nil { .onlyInA } else if shapes.0 == nil { .onlyInB } else { .both }
        return ComparedTable(
            name: shapes.1?.name ?? shapes.0?.name ?? name, presence: presence, keyColumns: [],
            isShadow: false, problem: problem, columnsOfA: [], columnsOfB: [], commonColumns: [],
            a: shapes.0, b: shapes.1, match: .none)
    }

    private borrowing func pair(
        _ first: TableShape?, _ second: TableShape?
    ) throws(SQLiteError) -> ComparedTable {
        let columnsOfA = try first.map { (t) throws(SQLiteError) in try readable(t, in: "main") } ?? []
        let columnsOfB = try second.map { (t) throws(SQLiteError) in try readable(t, in: "other") } ?? []
        let foldedB = Set(columnsOfB.map(folded))
        var common = columnsOfA.filter { foldedB.contains(folded($0)) }
        var presence = ComparedTable.Presence.both
        var match: RowMatch?
        if let first, let second {
            match = try self.match(first, second)
            if match == nil || common.isEmpty {
                presence = .replaced
                match = RowMatch.none
            }
        } else {
            presence = first == nil ? .onlyInB : .onlyInA
            match = RowMatch.none
        }
        if presence != .both { common = [] }
        // Choose the key, even if rows aren't matched.
        let shape = second ?? first
        let own: RowMatch?
        if case .some(.none) = match {
            let rowidIsKey = try shape.map { (shape) throws(SQLiteError) in
                try holdsNullKey(shape, in: second == nil ? "main" : "other")
            }
            own = shape?.match(rowidIsKey: rowidIsKey ?? false)
        } else {
            own = match
        }
        return ComparedTable(
            name: shape?.name ?? "", presence: presence, keyColumns: Self.key(own, of: shape),
            isShadow: (first?.isShadow ?? true) && (second?.isShadow ?? true),
            problem: nil, columnsOfA: columnsOfA, columnsOfB: columnsOfB, commonColumns: common,
            a: first, b: second, match: match ?? .none)
    }

    private static func key(_ match: RowMatch?, of shape: TableShape?) -> [String] {
        switch match {
        case .key(let columns): return columns.map(\.name)
        case .rowid(let a, let b):
            if let integerKey = shape?.integerKey, integerKey == b ?? a { return [integerKey] }
            return []
        case .some(.none), nil: return []
        }
    }

    /// Returns the method of matching rows of the tables; nil if their keys differ.
    private borrowing func match(
        _ a: TableShape, _ b: TableShape
    ) throws(SQLiteError) -> RowMatch? {
        if let first = a.integerKey, let second = b.integerKey {
            return folded(first) == folded(second) ? .rowid(a: first, b: second) : nil
        }
        guard a.integerKey == nil, b.integerKey == nil else { return nil }
        let areAlike =
            a.primaryKey.count == b.primaryKey.count
            && zip(a.primaryKey, b.primaryKey).allSatisfy { first, second in
                folded(first.name) == folded(second.name) && first.affinity == second.affinity
                    && folded(first.collation) == folded(second.collation)
            }
        guard areAlike else { return nil }
        let rowids: RowMatch? =
            if let first = a.rowidName, let second = b.rowidName {
                .rowid(a: first, b: second)
            } else {
                nil
            }
        guard !a.primaryKey.isEmpty else {
            if rowids == nil { throw SQLiteError("compare", code: SQLITE_MISMATCH, message: Self.noKey) }
            return rowids
        }
        if knowsCollations(of: a.primaryKey) {
            let holdsNull = (try holdsNullKey(a, in: "main"), try holdsNullKey(b, in: "other"))
            if !holdsNull.0, !holdsNull.1 { return .key(a.primaryKey) }
        }
        if rowids == nil { throw SQLiteError("compare", code: SQLITE_MISMATCH, message: Self.noKey) }
        return rowids
    }

    private static let noKey =
        "its rows cannot be identified: it has no usable primary key, and its columns take all names of the rowid"

    /// Returns true if a row has NULL in its primary key, which only tables with rowids allow.
    private borrowing func holdsNullKey(
        _ table: TableShape, in database: String
    ) throws(SQLiteError) -> Bool {
        let nullable = table.primaryKey.filter { !$0.isNotNull }
        guard !nullable.isEmpty else { return false }
        // Use one query per column, so that each can use an index that begins with the column.
        for column in nullable {
            let found = try connection.integer(
                of: "SELECT EXISTS (SELECT 1 FROM \(database).\(quotedIdentifier(table.name)) "
                    + "WHERE \(quotedIdentifier(column.name)) IS NULL)")
            if found != 0 { return true }
        }
        return false
    }

    /// Returns true if all collations are part of SQLite, rather than defined by the application.
    private func knowsCollations(of columns: [TableShape.KeyColumn]) -> Bool {
        columns.allSatisfy { ["binary", "nocase", "rtrim"].contains(folded($0.collation)) }
    }

    /// Returns the names of the readable columns; a generated column may need a function of the application.
    private borrowing func readable(
        _ table: TableShape, in database: String
    ) throws(SQLiteError) -> [String] {
        guard table.columns.contains(where: \.isVirtual) else { return table.columns.map(\.name) }
        return table.columns.filter { column in
            guard column.isVirtual else { return true }
            let sql =
                "SELECT \(quotedIdentifier(column.name)) FROM "
                + "\(database).\(quotedIdentifier(table.name))"
            return (try? connection.prepare(sql)) != nil
        }.map(\.name)
    }
}

extension SQLiteError {
    /// True if the error may concern only this table, because SQLite can't compile a query about it.
    var mayConcernOneTable: Bool {
        switch primaryCode {
        case SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_AUTH, SQLITE_TOOBIG: true
        default: false
        }
    }
}

extension StoreComparison {
    /// Returns the rows that may differ, if only some pages do.
    ///
    /// - `trees`: the B-trees of the first store; nil if they aren't known. They are replaced by those of the
    ///   second one, for the next comparison in a history.
    package borrowing func changedRows(
        pages: Set<UInt32>, _ trees: inout ChangedRows.Trees?
    ) -> ChangedRows {
        let old = trees ?? ChangedRows.Trees(ofFile: pathOfA, a.roots)
        let new = ChangedRows.Trees(ofFile: pathOfB, b.roots, previous: old, pages: pages)
        trees = new
        return ChangedRows(from: (pathOfA, old), to: (pathOfB, new), pages: pages)
    }
}
