package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between a state of a store and an earlier one.
package struct StateChanges: Encodable, Equatable, Sendable {
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

    /// The changed tables, by name; for a created or dropped table, all rows are inserted or deleted.
    package var tables: [Table] = []
    package var schema: [Object] = []
    /// The new `PRAGMA user_version`; nil if it wasn't changed.
    package var userVersion: Int64?

    package var isEmpty: Bool { tables.isEmpty && schema.isEmpty && userVersion == nil }

    /// The changes of the schema, such as `table account changed`, and the new version.
    package var schemaTexts: [String] {
        schema.map { "\($0.type) \($0.name) \($0.change.rawValue)" }
            + (userVersion.map { ["user_version \($0)"] } ?? [])
    }
}

extension StoreComparison {
    /// Returns the changes of the schema and of rows.
    borrowing func changes(
        _ changed: ChangedRows? = nil, rowLimit: Int64
    ) throws -> (changes: StateChanges, tables: [ChangedTable]) {
        var changes = StateChanges()
        var found: [ChangedTable] = []
        for change in schemaChanges() { changes.add(change) }
        changes.schema.sort { ($0.type, $0.name) < ($1.type, $1.name) }
        for table in try tables(changed: changed) where !folded(table.name).hasPrefix("sqlite_") {
            var counted = StateChanges.Table(name: table.name, problem: table.problem)
            do {
                var rows: [RowChange] = []
                let counts = try forEachRowChange(in: table, limit: rowLimit, valueLimit: 256) {
                    rows.append($0)
                }
                (counted.inserted, counted.updated, counted.deleted) = (
                    counts.inserted, counts.updated, counts.deleted
                )
                if rowLimit > 0, counts.total > 0 {
                    found.append(ChangedTable(table: table, rows: rows, counts: counts))
                }
            } catch let error as SQLiteError where !error.isDatabaseDamaged && !error.isOverLimit {
                counted.problem = error.message
            }
            if counted.hasChanges { changes.tables.append(counted) }
        }
        changes.tables.sort { $0.name < $1.name }
        return (changes, found)
    }
}

extension StateChanges {
    fileprivate mutating func add(_ change: SchemaChange) {
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

extension ExtractedHistory {
    /// Visits the transactions with their changes, until `body` returns false; two files follow the history.
    package borrowing func forEachTransaction(
        after first: Int = 0, rowLimit: Int64 = 0,
        limits: UntrustedLimits = .standard,
        _ body: (Timeline.Step) throws -> Bool
    ) throws {
        let old = try rebuild(first)
        let new = try rebuild(first, to: old + ".next")
        defer { for path in [old, new] { try? FileSystem.remove(path) } }
        var schema: DatabaseSchema?
        var trees: ChangedRows.Trees?
        for index in first..<reader.transactions.count {
            let transaction = reader.transactions[index]
            try advance(new, from: index)
            let comparison = try StoreComparison(
                a: .init(path: old, isPrivate: true), b: .init(path: new, isPrivate: true),
                limits: limits, reusing: schema)
            let (changes, tables) = try comparison.changes(
                comparison.changedRows(pages: Set(transaction.pages), &trees), rowLimit: rowLimit)
            schema = comparison.b
            let visited = Timeline.Step(
                number: index + 1, pages: transaction.pages.count,
                size: UInt64(transaction.databaseSize) * UInt64(reader.pageSize), changes: changes,
                tables: tables)
            guard try body(visited) else { return }
            try advance(old, from: index)
        }
    }

    /// Visits the states, oldest first, until `body` returns false: the number, and the path of a file with the
    /// content, which the next state overwrites; false if `body` stopped.
    @discardableResult
    borrowing func forEachState(
        _ body: (_ state: Int, _ path: String) throws -> Bool
    ) throws -> Bool {
        // A rebuilt file of the first state may exist.
        let path = try rebuild(0, to: copy + ".next")
        defer { try? FileSystem.remove(path) }
        for state in 0...reader.transactions.count {
            if state > 0 { try advance(path, from: state - 1) }
            guard try body(state, path) else { return false }
        }
        return true
    }
}
