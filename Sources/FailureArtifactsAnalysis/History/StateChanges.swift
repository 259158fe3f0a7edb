package import FailureArtifactsReading
package import FailureArtifactsSQLite

/// The differences between a state of a store and an earlier one.
package struct StateChanges: Encodable, Equatable, Sendable {
    /// The changed rows of one table.
    package struct Table: Encodable, Equatable, Sendable {
        package var name: String
        package var inserted: Int64 = 0
        package var updated: Int64 = 0
        package var deleted: Int64 = 0
        /// The reason why the rows couldn't be counted, as a clause; nil if they were counted.
        package var problem: String?

        package var hasChanges: Bool { inserted + updated + deleted > 0 || problem != nil }
    }

    /// An object of the schema that was created, changed or dropped.
    package struct Object: Encodable, Equatable, Sendable {
        package enum Change: String, Encodable, Sendable {
            case created, changed, dropped
        }

        package var change: Change
        /// The type: `table`, `index`, `view` or `trigger`.
        package var type: String
        package var name: String
    }

    /// The changed tables, by name.
    ///
    /// For a created or dropped table, all rows are inserted or deleted.
    package var tables: [Table] = []
    package var schema: [Object] = []
    /// The new `PRAGMA user_version`; nil if it wasn't changed.
    package var userVersion: Int64?
    /// The folded names of the tables and views whose statements can change other rows than they name, in both states.
    var withSideEffects: Set<String> = []

    /// True if neither rows nor the schema nor the version differ.
    package var isEmpty: Bool { tables.isEmpty && schema.isEmpty && userVersion == nil }

    private enum CodingKeys: String, CodingKey {
        case tables, schema, userVersion
    }
}

/// The rows of a table that differ between two states.
package struct ChangedTable: Sendable {
    package let table: ComparedTable
    /// The rows, of which a limited number is kept.
    package let rows: [RowChange]
    /// The numbers of all changed rows.
    package let counts: RowCounts

    /// True if ``rows`` has all changed rows.
    package var isComplete: Bool { counts.total == Int64(rows.count) }
}

extension StateChanges {
    /// Adds the changes between two states.
    ///
    /// If it throws, the tables before the error have been added.
    ///
    /// - Parameters:
    ///   - comparison: The comparison of the earlier state with the later one.
    ///   - changed: The rows that may differ; nil if all may.
    ///   - visit: Receives each table of the application that may differ, and returns the numbers of its changed rows.
    /// - Throws: An error if a file is damaged or a limit is exceeded. A table whose rows can't be compared for another
    ///   reason has a `problem`.
    mutating func add(
        _ comparison: borrowing StoreComparison, changed: ChangedRows? = nil,
        _ visit: (borrowing StoreComparison, ComparedTable) throws -> RowCounts
    ) throws {
        withSideEffects = try comparison.tablesWithSideEffects()
        for change in comparison.schemaChanges() { add(change) }
        schema.sort { ($0.type, $0.name) < ($1.type, $1.name) }
        for table in try comparison.tables(changed: changed) {
            guard !folded(table.name).hasPrefix("sqlite_") else { continue }
            var counted = Table(name: table.name, problem: table.problem)
            do {
                let counts = try visit(comparison, table)
                counted.inserted = counts.inserted
                counted.updated = counts.updated
                counted.deleted = counts.deleted
            } catch let error as SQLiteError where !error.isDatabaseDamaged && !error.isOverLimit {
                counted.problem = error.message
            }
            if counted.hasChanges { tables.append(counted) }
        }
    }

    /// Counts the changes between two stand-alone files, which no other code uses.
    ///
    /// - Parameters:
    ///   - old: The earlier state.
    ///   - new: The later state.
    ///   - pages: The pages that may differ, if known. They make the comparison much faster.
    ///   - limits: The limits on resources that the states can use.
    /// - Returns: The changes.
    /// - Throws: An error if a file can't be read.
    package static func count(
        from old: String, to new: String, pages: Set<UInt32>? = nil, limits: UntrustedLimits = .standard
    ) throws -> StateChanges {
        let comparison = try StoreComparison(
            a: .init(path: old, isPrivate: true), b: .init(path: new, isPrivate: true), limits: limits)
        var changes = StateChanges()
        var trees: ChangedRows.Trees?
        let changed = pages.map { comparison.changedRows(pages: $0, &trees) }
        try changes.add(comparison, changed: changed) {
            try $0.countRowChanges(in: $1)
        }
        changes.tables.sort { $0.name < $1.name }
        return changes
    }

    private mutating func add(_ change: SchemaChange) {
        switch change.subject {
        case .userVersion: userVersion = change.new.flatMap(Int64.init)
        case .applicationID: break
        case .table, .index, .view, .trigger:
            let kind: Object.Change =
                switch change.kind {
                case .added: .created
                case .removed: .dropped
                case .changed: .changed
                }
            schema.append(Object(change: kind, type: change.subject.rawValue, name: change.name))
        }
    }
}

extension StoreComparison {
    /// Returns the folded names of the tables and views whose statements can change other rows than they name: those
    /// with a trigger, those with a conflict clause, and those that another table's foreign key follows when a row is
    /// deleted or gets another key.
    fileprivate borrowing func tablesWithSideEffects() throws(SQLiteError) -> Set<String> {
        let names = try tablesWithSideEffects(of: a)
        // The states of a history mostly have the same schema.
        return a.objects == b.objects ? names : try names.union(tablesWithSideEffects(of: b))
    }

    private borrowing func tablesWithSideEffects(
        of schema: DatabaseSchema
    ) throws(SQLiteError) -> Set<String> {
        var names: Set<String> = []
        var hasReferences = false
        for object in schema.objects {
            let isTable = object.type == "table"
            let sql = isTable ? folded(object.sql) : ""
            if object.type == "trigger" || sql.contains("conflict") {
                names.insert(folded(object.table))
            }
            if sql.contains("references") { hasReferences = true }
        }
        return hasReferences ? try names.union(parentsWithActions(of: schema.database)) : names
    }

    /// Returns the folded names of the tables that a foreign key with an action refers to.
    private borrowing func parentsWithActions(of database: String) throws(SQLiteError) -> Set<String> {
        var parents: Set<String> = []
        do throws(SQLiteError) {
            let statement = try connection.prepare(
                "SELECT DISTINCT k.\"table\" FROM \(database).sqlite_master m, "
                    + "pragma_foreign_key_list(m.name, '\(database)') k WHERE m.type = 'table' "
                    + "AND (k.on_delete NOT IN ('NO ACTION', 'RESTRICT') "
                    + "OR k.on_update NOT IN ('NO ACTION', 'RESTRICT'))")
            while try statement.step() { parents.insert(folded(statement.text(at: 0))) }
        } catch {
            // A table whose definition can't be read has no known foreign keys.
            if error.isInterrupted { throw error }
        }
        return parents
    }
}
