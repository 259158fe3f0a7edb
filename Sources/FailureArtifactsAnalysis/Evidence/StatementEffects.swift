internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The triggers and foreign keys of a store, which have a part in the effects of statements.
struct StatementEffects {
    /// A foreign key, with names in lower case.
    private struct ForeignKey {
        let table: String
        let column: String
        let parent: String
        /// The column that it refers to; nil for the primary key.
        let parentColumn: String?
        let hasAction: Bool
    }

    /// The tables with triggers, in lower case.
    private let triggered: Set<String>
    private let foreignKeys: [ForeignKey]

    /// Reads the triggers and foreign keys.
    ///
    /// If a table's definition can't be read, no foreign key is known.
    init(_ store: StoreEvidence) {
        let triggers = store.schema.objects.filter { $0.type == "trigger" }
        triggered = Set(triggers.map { folded($0.table) })
        let passive: Set = ["NO ACTION", "RESTRICT"]
        let rows = try? store.rows(
            "SELECT m.name, k.\"from\", k.\"table\", k.\"to\", k.on_update, k.on_delete FROM sqlite_master m, "
                + "pragma_foreign_key_list(m.name) k WHERE m.type = 'table'", limit: 10_000)
        foreignKeys = (rows ?? []).map { row in
            ForeignKey(
                table: folded(row[0].string ?? ""), column: folded(row[1].string ?? ""),
                parent: folded(row[2].string ?? ""), parentColumn: row[3].string.map(folded),
                hasAction: !passive.isSuperset(of: row[4...].compactMap(\.string)))
        }
    }

    func hasTrigger(_ table: String) -> Bool { triggered.contains(folded(table)) }

    /// True if a statement on a table can change other rows, which SQLite's count includes.
    func spread(from table: String) -> Bool {
        hasTrigger(table) || foreignKeys.contains { $0.parent == folded(table) && $0.hasAction }
    }

    /// True if a column is part of a foreign key.
    func refers(_ column: String, of table: String) -> Bool {
        foreignKeys.contains { $0.table == folded(table) && $0.column == folded(column) }
    }

    /// True if a foreign key can make a statement fail, which SQLite doesn't log.
    func mayReject(_ statement: StoreEvidence.Statement) -> Bool {
        guard let table = statement.outline.table else { return false }
        let assigned = statement.parts.assigned
        return foreignKeys.contains { key in
            switch statement.outline.kind {
            case .delete: key.parent == table
            case .update:
                key.table == table && assigned.contains(key.column)
                    || key.parent == table && (key.parentColumn.map(assigned.contains) ?? true)
            default: key.table == table
            }
        }
    }
}

/// The locks that statements may have found or taken, as far as the order of their starts tells.
struct StatementLocks {
    /// The number of a statement that started after the end of one, by that one's number.
    ///
    /// It is the next one on the same connection or thread, which run one statement at a time.
    private var ends: [UInt64: UInt64] = [:]
    /// The statements during which another connection may have had a lock.
    ///
    /// It was in a transaction, or a statement of it that writes hadn't ended.
    private(set) var contended: Set<UInt64> = []
    /// The statements that began a transaction and failed, because the connection began another one at once.
    private var failedBegins: Set<UInt64> = []
    /// The statements that the same connection ran again at once, and that had an effect then.
    private(set) var retried: Set<UInt64> = []

    init(_ statements: [StoreEvidence.Statement]) {
        var nextOnConnection: [UInt64: UInt64] = [:]
        var nextOnThread: [String: UInt64] = [:]
        for statement in statements.reversed() {
            let record = statement.record
            ends[record.order] = min(
                nextOnConnection[record.connection] ?? .max, nextOnThread[record.thread] ?? .max)
            nextOnConnection[record.connection] = record.order
            nextOnThread[record.thread] = record.order
        }
        // The number of the statement at which each connection's lock has ended at the latest; .max in a transaction.
        var locks: [UInt64: UInt64] = [:]
        // The BEGIN that nothing has confirmed yet.
        var begins: [UInt64: UInt64] = [:]
        // The connections whose BEGIN no COMMIT or ROLLBACK has ended.
        var open: Set<UInt64> = []
        var lastWrites: [UInt64: StoreEvidence.Statement] = [:]
        for statement in statements {
            let (order, connection) = (statement.order, statement.record.connection)
            if statement.writes {
                if let last = lastWrites[connection], statement.hasChangedRows,
                    last.record.sql == statement.record.sql, last.record.changes == 0
                {
                    retried.insert(last.order)
                }
                lastWrites[connection] = statement
            }
            if locks.contains(where: { $0.key != connection && $0.value > order }) {
                contended.insert(order)
            }
            switch statement.outline.kind {
            case .begin:
                if let begin = begins[connection] { failedBegins.insert(begin) }
                begins[connection] = order
                open.insert(connection)
                locks[connection] = .max
            case .savepoint: locks[connection] = .max
            case .release where open.contains(connection): break
            case .commit, .rollback, .release:
                if statement.record.leftOpen == true { break }
                begins[connection] = nil
                open.remove(connection)
                locks[connection] = ends[order]
            default:
                if statement.hasChangedRows { begins[connection] = nil }
                guard statement.writes || statement.outline.kind == .definition,
                    locks[connection] != .max
                else { break }
                locks[connection] = ends[order]
            }
        }
    }

    /// True if a statement is known to have ended before another one started.
    func hasEnded(_ statement: StoreEvidence.Statement, before later: StoreEvidence.Statement) -> Bool {
        ends[statement.order].map { $0 <= later.order } ?? false
    }

    /// True if a statement is known to have begun a transaction, or to have written, before another one started.
    ///
    /// A `BEGIN IMMEDIATE` that waits for the lock doesn't have it yet.
    func hasSucceeded(
        _ statement: StoreEvidence.Statement, before later: StoreEvidence.Statement
    ) -> Bool {
        guard statement.record.error == nil, hasEnded(statement, before: later) else { return false }
        return switch statement.outline.kind {
        case .begin: !failedBegins.contains(statement.order)
        case .definition: true
        default: statement.hasChangedRows
        }
    }
}

extension StoreEvidence {
    /// Returns the number of rows of its own table that an `UPDATE` or `DELETE` changed; nil if unknown.
    ///
    /// SQLite's count includes the rows that triggers and the actions of foreign keys changed.
    func ownChanges(of statement: Statement) -> Int64? {
        guard let changes = statement.record.changes.map(Int64.init),
            let table = statement.outline.table
        else { return nil }
        guard effects.spread(from: table) else { return changes }
        guard let step = step(of: statement) else { return nil }
        let writers = steps[step].statements.filter { $0.hasChangedRows && $0.outline.table == table }
        guard writers.count == 1 else { return nil }
        let counts = steps[step].counts(of: table)
        let known = statement.outline.kind == .update ? counts?.updated : counts?.deleted
        return min(changes, known ?? 0)
    }
}
