internal import FailureArtifactsBundle

/// A statement that waited in vain for another connection's lock.
enum Busy: FindingRule {
    static let code = Finding.Code.busy

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let text = failure.message.text
        let isNamed = ["database is locked", "database table is locked", "SQLITE_BUSY", "SQLITE_LOCKED"]
            .contains(where: text.contains)
        let logged = store.testStatements.last { [5, 6].contains(($0.record.error?.code ?? 0) & 0xff) }
        // SQLite doesn't report to its error log that a statement found the store locked.
        let named = isNamed ? store.statement(namedIn: failure.message) : nil
        let found =
            try logged ?? named
            ?? store.testStatements.last { try isLockedOut($0, in: store, isNamed: isNamed) }
            ?? (isNamed ? store.testStatements.last { $0.writes && $0.record.changes ?? 0 == 0 } : nil)
        guard let failed = found else { return [] }
        let error = failed.record.error
        let holder = holder(before: failed, in: store) ?? reader(before: failed, in: store)
        let isStale = error?.code == 517
        let title =
            holder.map {
                isStale
                    ? "Connection \($0.record.connection) committed before connection "
                        + "\(failed.record.connection) could write"
                    : "Connection \($0.record.connection) held the lock that connection "
                        + "\(failed.record.connection) waited for"
            } ?? "A statement of connection \(failed.record.connection) found the store locked"
        let sql = SafeText.line(String(failed.record.sql.prefix(120)))
        return [
            Finding(
                code: code, title: title,
                confidence: isNamed ? .certain : error == nil ? .likely : .possible, store: store.name,
                statement: (holder.map { writer(after: $0, in: store) } ?? failed).record,
                explanation: explanation(error, of: sql, isNamed: isNamed)
                    + (holder == nil
                        ? ""
                        : isStale
                            ? " The statement shown changed what the other one had read."
                            : " The statement shown took the lock."),
                relevance: 40, likelyFrom: 70)
        ]
    }

    private static func explanation(
        _ error: StatementRecord.Failure?, of sql: String, isNamed: Bool
    ) -> String {
        if let error {
            return "'\(sql)' failed: \(SafeText.line(error.message)) (SQLite error \(error.code))."
        }
        return isNamed
            ? "'\(sql)' failed with the error that the message names."
            : "'\(sql)' ended while the other connection's transaction was open, so it can't have succeeded."
    }

    /// Returns the query by which another connection took a shared lock.
    ///
    /// With a rollback journal, a query that wasn't read to its end keeps others from committing.
    private static func reader(
        before failed: StoreEvidence.Statement, in store: StoreEvidence
    ) -> StoreEvidence.Statement? {
        guard store.store.journalMode != "wal" else { return nil }
        return store.testStatements.last {
            $0.order < failed.order && $0.record.connection != failed.record.connection
                && $0.outline.isQuery && $0.record.sql.count > 8
        }
    }

    /// Returns the first change of the transaction that a `BEGIN` started, whose line is known more often.
    private static func writer(
        after holder: StoreEvidence.Statement, in store: StoreEvidence
    ) -> StoreEvidence.Statement {
        guard holder.outline.kind == .begin, holder.record.source == nil else { return holder }
        let next = store.statements.first {
            $0.record.connection == holder.record.connection && $0.order > holder.order
                && ($0.writes || [.commit, .rollback].contains($0.outline.kind))
        }
        return next.flatMap { $0.writes ? $0 : nil } ?? holder
    }

    /// True if a statement that needs the write lock ended while another connection had it.
    private static func isLockedOut(
        _ statement: StoreEvidence.Statement, in store: StoreEvidence, isNamed: Bool
    ) throws -> Bool {
        try store.checkTime()
        // An INSERT of values without a conflict clause inserts a row or fails, unless a trigger skips it.
        let hasFailed =
            statement.outline.kind == .insert && !statement.outline.mayHaveNoEffect
            && statement.record.changes == 0 && !statement.parts.words.contains("select")
            && !(statement.outline.table.map(store.effects.hasTrigger) ?? true)
        let isUncommitted =
            statement.outline.beginsWriting
            && !store.transactions.committedStarts.contains(statement.order)
        let mayHaveFailed =
            hasFailed || isUncommitted
            || (isNamed && statement.writes && statement.record.changes ?? 0 == 0)
        guard mayHaveFailed, statement.record.error == nil,
            store.locks.contended.contains(statement.order),
            let holder = holder(before: statement, in: store)
        else { return false }
        let connection = holder.record.connection
        let later = store.statements.filter { $0.order > statement.order }
        let release = later.first {
            $0.record.connection == connection && [.commit, .rollback].contains($0.outline.kind)
        }
        // The statement has ended if its connection runs another one, or if its effects are known.
        let next = later.first { $0.record.connection == statement.record.connection }
        guard let release else {
            return isNamed || hasFailed || next != nil || statement.record.versions != nil
        }
        return next.map { $0.order < release.order } ?? false
    }

    /// Returns the statement by which another connection took the lock that it still had.
    private static func holder(
        before failed: StoreEvidence.Statement, in store: StoreEvidence
    ) -> StoreEvidence.Statement? {
        var locks: [UInt64: StoreEvidence.Statement] = [:]
        var isOpen: Set<UInt64> = []
        var last: StoreEvidence.Statement?
        for statement in store.statements where statement.order < failed.order {
            let connection = statement.record.connection
            guard connection != failed.record.connection else { continue }
            switch statement.outline.kind {
            case .begin, .savepoint:
                isOpen.insert(connection)
                if statement.outline.beginsWriting, store.locks.hasSucceeded(statement, before: failed) {
                    locks[connection] = statement
                }
            case .commit, .rollback, .release:
                if locks[connection] != nil { last = locks[connection] }
                isOpen.remove(connection)
                locks[connection] = nil
            default:
                guard statement.writes || statement.outline.kind == .definition,
                    store.locks.hasSucceeded(statement, before: failed)
                else { continue }
                if isOpen.contains(connection) {
                    if locks[connection] == nil { locks[connection] = statement }
                } else {
                    last = statement
                }
            }
        }
        if let held = locks.values.max(by: { $0.order < $1.order }) { return held }
        return failed.record.error?.code == 517 ? last : nil
    }
}
