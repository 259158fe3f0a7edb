internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A statement that waited in vain for another connection's lock.
enum Busy: FindingRule {
    static let code = Finding.Code.busy

    /// The reason to take a statement for the one that failed.
    private enum Evidence {
        case logged(StatementRecord.Failure)
        /// The message has its text.
        case named
        /// It ended while another connection had the lock, or it wrote after reading a state that had become old.
        case lockedOut
        /// The message says that a statement failed, and this is the last one that changed no row.
        case unchanged
    }

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let text = failure.message.text
        let isNamed = ["database is locked", "database table is locked", "SQLITE_BUSY", "SQLITE_LOCKED"]
            .contains(where: text.contains)
        guard let (failed, evidence) = try failed(isNamed: isNamed, failure.message, in: store) else {
            return []
        }
        let error = failed.record.error
        let held = holder(before: failed, in: store)
        let committed = held == nil ? staleWriter(before: failed, in: store) : nil
        let isStale = error?.code == 517 || committed != nil
        let reader = held == nil && committed == nil ? reader(before: failed, in: store) : nil
        let holder = held ?? committed ?? reader?.statement
        // A statement that the log lacks may have released the lock.
        let isUnfinished = reader?.isUnfinished ?? (store.store.statements?.reason == nil)
        let connection = "connection \(failed.record.connection)"
        let title =
            holder.map {
                isStale
                    ? "Connection \($0.record.connection) committed before \(connection) could write"
                    : "Connection \($0.record.connection) \(isUnfinished ? "held" : "may have held") the lock that "
                        + "\(connection) needed"
            } ?? "A statement of \(connection) found the store locked"
        var confidence: Finding.Confidence = isNamed ? .certain : error == nil ? .likely : .possible
        // Another statement may have failed, or another connection may have had the lock.
        if confidence == .certain, !isUnfinished { confidence = .likely }
        if case .unchanged = evidence, holder == nil { confidence = .possible }
        let isInProcess =
            (error?.code ?? 0) & 0xff == 6 || text.contains("table is locked")
            || text.contains("SQLITE_LOCKED")
        return [
            Finding(
                code: code, title: title, confidence: confidence, store: store.name,
                statement: (holder.map { writer(after: $0, in: store) } ?? failed).record,
                explanation: explanation(failed, evidence, isNamed: isNamed)
                    + (holder == nil
                        ? isInProcess
                            ? " No other connection is known to have had a lock, but a query of the same one may not have "
                                + "been finished."
                            : " No other connection of the test's process is known to have had a lock. Another process may "
                                + "have had it."
                        : isStale
                            ? " The statement shown changed the store after \(connection) had read it."
                            : isUnfinished
                                ? " The statement shown took the lock."
                                : " The query shown kept it if it wasn't read to its end or reset."),
                evidence: isNamed ? .error : .loss)
        ]
    }

    /// Returns the statement that failed, and the reason to take it for that.
    ///
    /// SQLite doesn't report to its error log that a statement found the store locked.
    private static func failed(
        isNamed: Bool, _ message: FailureMessage, in store: StoreEvidence
    ) throws -> (StoreEvidence.Statement, Evidence)? {
        for statement in store.testStatements.reversed() {
            if let error = statement.record.error, [5, 6].contains(error.code & 0xff) {
                return (statement, .logged(error))
            }
        }
        if isNamed, let named = store.statement(namedIn: message) { return (named, .named) }
        let lockedOut = try store.testStatements.last {
            try isLockedOut($0, in: store, isNamed: isNamed)
        }
        if let lockedOut { return (lockedOut, .lockedOut) }
        guard isNamed else { return nil }
        return store.testStatements.last { $0.writes && $0.record.changes ?? 0 == 0 }.map {
            ($0, staleWriter(before: $0, in: store) == nil ? .unchanged : .lockedOut)
        }
    }

    private static func explanation(
        _ failed: StoreEvidence.Statement, _ evidence: Evidence, isNamed: Bool
    ) -> String {
        let sql = SafeText.line(String(failed.record.sql.prefix(120)))
        return switch evidence {
        case .logged(let error):
            "'\(sql)' failed: \(SafeText.line(error.message)) (SQLite error \(error.code))."
        case .named: "'\(sql)' failed with the error that the message names."
        case .lockedOut:
            isNamed
                ? "The message names the error, and '\(sql)' is the last statement that had to fail with it."
                : "'\(sql)' ended while the other connection's transaction was open, so it can't have succeeded."
        case .unchanged:
            "The message names the error, and '\(sql)' is the last statement that may have failed with it: it changed no row."
        }
    }

    /// Returns the query by which another connection had a shared lock, or may have had it.
    ///
    /// With a rollback journal, a query that wasn't read to its end keeps others from committing, as does a transaction
    /// that has read.
    private static func reader(
        before failed: StoreEvidence.Statement, in store: StoreEvidence
    ) -> (statement: StoreEvidence.Statement, isUnfinished: Bool)? {
        guard store.store.journalMode != "wal" else { return nil }
        var unfinished: [UInt64: StoreEvidence.Statement] = [:]
        var isOpen: Set<UInt64> = []
        var last: StoreEvidence.Statement?
        for statement in store.testStatements where statement.order < failed.order {
            let connection = statement.record.connection
            guard connection != failed.record.connection else { continue }
            switch statement.outline.kind {
            case .begin, .savepoint: isOpen.insert(connection)
            case .commit, .rollback:
                isOpen.remove(connection)
                unfinished[connection] = nil
            default:
                guard statement.outline.isQuery, statement.record.sql.count > 8 else { continue }
                last = statement
                // The duration is known only when a query has ended, which may have been after the failure.
                if isOpen.contains(connection) || statement.record.duration == nil {
                    unfinished[connection] = statement
                }
            }
        }
        if let known = unfinished.values.max(by: { $0.order < $1.order }) { return (known, true) }
        return last.map { ($0, false) }
    }

    /// Returns the statement of another connection that changed the store after the failed one's transaction had read it.
    ///
    /// In WAL mode, a transaction that has read an old state can't write.
    private static func staleWriter(
        before failed: StoreEvidence.Statement, in store: StoreEvidence
    ) -> StoreEvidence.Statement? {
        // Only a WAL has a history.
        guard store.store.journalMode == "wal" || store.transactionCount > 0, failed.writes else {
            return nil
        }
        let names = Set(store.tables.map { folded($0.name) })
        var first: UInt64?
        var isOpen = false
        var writer: StoreEvidence.Statement?
        for statement in store.statements where statement.order < failed.order {
            guard statement.record.connection == failed.record.connection else {
                if first != nil, statement.hasChangedRows, !store.isRolledBack(statement) {
                    writer = statement
                }
                continue
            }
            switch statement.outline.kind {
            case .begin: (isOpen, first, writer) = (!statement.outline.beginsWriting, nil, nil)
            case .commit, .rollback: (isOpen, first, writer) = (false, nil, nil)
            default:
                if statement.hasChangedRows { (isOpen, first, writer) = (false, nil, nil) }
                if isOpen, first == nil, statement.outline.isQuery,
                    !names.isDisjoint(with: statement.parts.words)
                {
                    first = statement.order
                }
            }
        }
        return writer
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
        guard mayHaveFailed, statement.record.error == nil, store.store.statements?.reason == nil,
            store.locks.contended.contains(statement.order),
            let holder = holder(before: statement, in: store)
        else { return false }
        let connection = holder.record.connection
        let later = store.statements.filter { $0.order > statement.order }
        let release = later.first {
            $0.record.connection == connection && [.commit, .rollback].contains($0.outline.kind)
        }
        // While a connection has the lock, no other one can change rows: closing the first one has released the lock.
        let isReleased = later.contains {
            $0.order < release?.order ?? .max && $0.record.connection != connection && $0.hasChangedRows
                && !$0.outline.isElsewhere
        }
        guard !isReleased else { return false }
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
