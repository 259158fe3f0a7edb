internal import FailureArtifactsReading
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A statement that waited in vain for another connection's lock; where the log lacks the error, the message has it.
enum Busy: FindingRule {
    static let code = Finding.Code.busy

    /// The statement by which another connection kept a statement from the store.
    private struct Obstacle {
        let statement: Timeline.Statement
        /// The effect on a connection, as the end of a sentence.
        var effect = "held the lock that ? needed"
        var explanation = "The statement shown took the lock."
        var isKnown = true
    }

    private struct Lock {
        let statement: Timeline.Statement
        /// The number of a later statement that started after it had been taken.
        let taken: UInt64
        /// The number of the statement that released it; nil if it was held until the log's end.
        let end: UInt64?
    }

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        let text = failure.message.text
        let isInProcess = ["database table is locked", "SQLITE_LOCKED"].contains(where: text.contains)
        let isNamed =
            isInProcess || ["database is locked", "SQLITE_BUSY"].contains(where: text.contains)
        let locks = locks(in: store)
        let holder = store.store.lockedBy.map {
            " At the failure, \(SafeText.line($0.description)) had a lock that keeps others from writing."
        }
        guard let (failed, reason) = failed(in: store, failure.message, isNamed: isNamed) else {
            // The log lacks a statement that could not be prepared.
            guard isNamed, let holder else { return [] }
            return [
                Finding(
                    code: code, title: "A statement found the store locked", confidence: .certain,
                    store: store.name, explanation: "The message says so." + holder, evidence: .error)
            ]
        }
        let obstacle = obstacle(to: failed, locks, in: store)
        let connection = "connection \(failed.record.connection)"
        var finding = Finding(
            code: code, title: "A statement of \(connection) found the store locked",
            confidence: isNamed ? .certain : .possible,
            store: store.name, statement: (obstacle?.statement ?? failed).record,
            explanation: "'\(SafeText.line(String(failed.record.sql.prefix(120))))' \(reason)",
            evidence: isNamed ? .error : .loss)
        if let obstacle {
            finding.title =
                "Connection \(obstacle.statement.record.connection) "
                + obstacle.effect.replacing("?", with: connection)
            finding.explanation += " " + obstacle.explanation
            if !obstacle.isKnown, finding.confidence == .certain { finding.confidence = .likely }
        } else {
            // Another statement may have failed.
            if failed.record.error == nil, store.statement(namedIn: failure.message) == nil {
                finding.confidence = .possible
            }
            finding.explanation +=
                isInProcess || failed.record.error.map { $0.code & 0xff == 6 } ?? false
                ? " No other connection is known to have had a lock, but a query of the same one may not have been finished."
                : holder
                    ?? " No other connection of the test's process is known to have had a lock. Another process may have had it."
        }
        return [finding]
    }

    /// Returns the statement that failed, and the reason to take it for that, as the end of a sentence.
    private static func failed(
        in store: Timeline, _ message: FailureMessage, isNamed: Bool
    ) -> (statement: Timeline.Statement, reason: String)? {
        for statement in store.testStatements.reversed() {
            if let error = statement.record.error, [5, 6].contains(error.code & 0xff) {
                return (
                    statement, "failed: \(SafeText.line(error.message)) (SQLite error \(error.code))."
                )
            }
        }
        guard isNamed else { return nil }
        if let named = store.statement(namedIn: message) {
            return (named, "failed with the error that the message names.")
        }
        return store.testStatements.last {
            $0.writes && $0.record.error == nil && $0.record.changes ?? 0 == 0
        }.map { ($0, "is the last statement that may have failed with the error of the message.") }
    }

    private static func obstacle(
        to failed: Timeline.Statement, _ locks: [Lock], in store: Timeline
    ) -> Obstacle? {
        if let lock = lock(at: failed, among: locks, in: store) {
            return Obstacle(statement: lock.statement)
        }
        let connection = failed.record.connection
        let queries = queries(before: failed, in: store)
        guard store.store.journalMode == "wal" else {
            // A query that wasn't read to its end, or whose transaction is open, keeps others from committing.
            let others = queries.filter { $0.record.connection != connection }
            let unfinished = others.last { query in
                query.record.duration == nil || isOpen(query, at: failed, in: store)
            }
            if let unfinished { return Obstacle(statement: unfinished) }
            return others.last.map {
                Obstacle(
                    statement: $0, effect: "may have held the lock that ? needed",
                    explanation: "The query shown kept it if it wasn't read to its end or reset.",
                    isKnown: false)
            }
        }
        // A transaction that has read an old state can't write.
        let read = queries.first {
            $0.record.connection == connection && isOpen($0, at: failed, in: store)
        }
        guard let read else { return nil }
        return store.statements.last { statement in
            statement.order > read.order && statement.order < failed.order && statement.hasChangedRows
                && statement.record.connection != connection && !store.isRolledBack(statement)
        }.map {
            Obstacle(
                statement: $0, effect: "committed before ? could write",
                explanation:
                    "The statement shown changed the store after the other connection had read it.")
        }
    }

    /// Returns the queries that had started before a statement and read the store's tables.
    private static func queries(
        before failed: Timeline.Statement, in store: Timeline
    ) -> [Timeline.Statement] {
        let names = Set(store.tables.map { folded($0.name) })
        return store.testStatements.filter { statement in
            statement.order < failed.order && statement.outline.isQuery
                && !names.isDisjoint(with: statement.outline.words)
        }
    }

    /// True if a statement is part of a transaction that was open when another one started.
    private static func isOpen(
        _ statement: Timeline.Statement, at later: Timeline.Statement, in store: Timeline
    ) -> Bool {
        store.transactions.contains { transaction in
            transaction.end(in: store).map { $0 >= later.order } ?? true
                && transaction.statements.contains { store.statements[$0].order == statement.order }
        }
    }

    /// Returns the locks that transactions are known to have had, in the order in which they were taken.
    private static func locks(in store: Timeline) -> [Lock] {
        store.transactions.filter { $0.statements.count > 1 }.compactMap { transaction in
            let statements = transaction.statements.map { store.statements[$0] }
            // A `BEGIN IMMEDIATE` may have failed, too, and is tried again then.
            guard statements.contains(where: \.hasChangedRows),
                statements.count(where: { $0.outline.kind == .begin }) <= 1,
                let place = statements.firstIndex(where: {
                    $0.outline.beginsWriting || $0.hasChangedRows
                })
            else { return nil }
            // Each connection and each thread runs one statement at a time.
            let first = statements[place]
            let next = store.statements[(transaction.statements[place] + 1)...].first {
                $0.record.connection == first.record.connection
                    || $0.record.thread == first.record.thread
            }
            return next.map {
                Lock(statement: first, taken: $0.order, end: transaction.end(in: store))
            }
        }.sorted { $0.taken < $1.taken }
    }

    /// Returns the lock that another connection had when a statement started.
    private static func lock(
        at failed: Timeline.Statement, among locks: [Lock], in store: Timeline
    ) -> Lock? {
        // Only one connection can have it at a time.
        let last = locks.last { lock in
            lock.taken <= failed.order
                && lock.statement.record.connection != failed.record.connection
        }
        guard let lock = last, lock.end.map({ $0 > failed.order }) ?? true else { return nil }
        // Closing a connection releases its lock.
        let isReleased = store.statements.contains { other in
            other.order > lock.statement.order && other.order < failed.order && other.hasChangedRows
                && other.record.connection != lock.statement.record.connection
                && !other.outline.isElsewhere
        }
        return isReleased ? nil : lock
    }
}

extension LoggedTransaction {
    fileprivate func end(in store: Timeline) -> UInt64? {
        end == .open ? nil : statements.last.map { store.statements[$0].order }
    }
}
