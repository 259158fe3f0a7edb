internal import CFailureArtifactsShared
internal import FailureArtifactsSystem

/// A statement of a log, whose times are those of the process's clock.
package struct LoggedStatement: Sendable, Equatable {
    /// The statement, except for its time, its duration and its phase.
    package var record: StatementRecord
    /// The start, in ticks; see ``RecorderClock``.
    package let ticks: UInt64
    /// The end, in ticks; nil if it was not recorded.
    package var endTicks: UInt64?
    /// True if the statement couldn't be prepared, so that it didn't run.
    package let isUnprepared: Bool
    /// SQLite's counts of changed rows at the start.
    let countsBefore: ChangeCounts
    /// The pages that the connection had written at the start.
    let pagesBefore: WrittenPages
    /// True if a transaction was open at the start; nil if not known.
    ///
    /// It is known for statements that change the database, and for those that begin or end a transaction.
    let startedInTransaction: Bool?
    /// True if the history has its transaction, so that it isn't counted for another statement.
    var isKept = false

    /// Returns the statement with its times, as a part of a test that started after the statement with a number.
    package func record(by clock: RecorderClock, testStartedAfter start: UInt64) -> StatementRecord {
        var record = record
        record.at = Timestamp.description(ofNanoseconds: clock.nanoseconds(at: ticks))
        record.duration = endTicks.flatMap { clock.seconds(from: ticks, to: $0) }
        record.phase = record.order > start ? .test : .earlier
        return record
    }
}

/// SQLite's counts of the rows that a connection has inserted, updated and deleted, modulo 2³².
package struct ChangeCounts: Sendable, Equatable {
    var total: UInt32
    /// The changes of its last statement that can change rows, without those of triggers, foreign keys and virtual
    /// tables.
    var own: UInt32
}

/// The pages that a connection has written to its files; see `failure_artifacts_pages`.
package struct WrittenPages: Sendable, Equatable {
    var written: UInt32
    var spilled: UInt32
    var version: UInt32
    /// False if the application has reset SQLite's counter.
    var areKnown: Bool { written != failure_artifacts_unknown_count }
}

extension StatementRecord {
    /// Adds the pages that the connection wrote before its next statement.
    mutating func addPages(from before: WrittenPages, to after: WrittenPages) {
        guard before.areKnown, after.areKnown else { return }
        guard after != before else {
            pages = 0
            return
        }
        // Pages that SQLite's cache had no space for may be written more than once, or in vain.
        if after.spilled == before.spilled, after.written > before.written {
            pages = Int(after.written - before.written)
        }
        // The version is read only with pages.
        if before.written > 0, after.version >= before.version {
            versions = Int(after.version - before.version)
        }
    }
}

extension [LoggedStatement] {
    /// Returns the statements of a store's connections, oldest first, without first attempts to prepare a statement.
    ///
    /// SQLite prepares a statement with its copy of the schema. If that fails and the copy is old, SQLite logs the error,
    /// reads the schema and tries again. The application doesn't notice, and runs the statement.
    package func merged() -> [LoggedStatement] {
        var statements: [LoggedStatement] = []
        // Each thread's next statement.
        var next: [String: LoggedStatement] = [:]
        for statement in sorted(by: { $0.record.order > $1.record.order }) {
            let (sql, isCut) = (statement.record.sql, statement.record.cut == true)
            let later = next.updateValue(statement, forKey: statement.record.thread)
            let isRepeated =
                statement.isUnprepared && later?.isUnprepared == false
                && (isCut ? later?.record.sql.hasPrefix(sql) == true : later?.record.sql == sql)
            if !isRepeated { statements.append(statement) }
        }
        return statements.reversed()
    }
}

extension LoggedStatement {
    /// The statements that count as one, as in `log_repetitions.c`.
    package struct Kind: Hashable {
        /// The text without its numbers and strings.
        let shape: [UInt8]
        let code: Int32?

        package init(_ statement: LoggedStatement) {
            var shape: [UInt8] = []
            var (isWord, isString) = (false, false)
            for byte in statement.record.sql.utf8 {
                let isDigit = (0x30...0x39).contains(byte)
                if byte == UInt8(ascii: "'") {
                    isString.toggle()
                } else if !isString, isWord || !isDigit {
                    shape.append(byte)
                    isWord =
                        (0x61...0x7a).contains(byte | 0x20) || byte == UInt8(ascii: "_")
                        || isWord && isDigit
                }
            }
            self.shape = shape
            code = statement.record.error?.code
        }
    }
}

extension [LoggedStatement] {
    /// True if there are at least as many as the log of one connection keeps, so that it may lack some.
    package func reach(_ maximum: Int) -> Bool { count { $0.record.repeated == nil } >= maximum }

    /// Adds the last statements up to a number, and counts those before them that are not kept.
    ///
    /// The elements stand for statements that are not in the log, and are older.
    func followed(by statements: [LoggedStatement], atMost maximum: Int) -> [LoggedStatement] {
        var result = self
        // The places of each kind, the last one first.
        var places: [LoggedStatement.Kind: [Int]] = [:]
        let excess = statements.dropLast(maximum)
        if !excess.isEmpty {
            for index in indices where !self[index].isKept {
                places[.init(self[index]), default: []].insert(index, at: 0)
            }
        }
        for statement in excess {
            guard !statement.isKept else {
                result.append(statement)
                result[result.count - 1].record.repeated = 1
                continue
            }
            let kind = LoggedStatement.Kind(statement)
            let known = places[kind]?.first {
                statement.record.stack == nil || result[$0].record.stack == statement.record.stack
            }
            if let known, let count = result[known].record.repeated {
                result[known].record.repeated = count + 1
                result[known].record.lastOrder = statement.record.order
                result[known].record.changes = result[known].record.changes.flatMap { old in
                    statement.record.changes.map { old + $0 }
                }
            } else {
                places[kind, default: []].insert(result.count, at: 0)
                result.append(statement)
                result[result.count - 1].record.repeated = 1
            }
        }
        return (result + statements.suffix(maximum)).sorted { $0.record.order < $1.record.order }
    }

    /// Returns the statements of several connections, with at most as many as a log keeps that don't stand for others.
    package func limited(to maximum: Int) -> [LoggedStatement] {
        filter { $0.record.repeated != nil }
            .followed(by: filter { $0.record.repeated == nil }, atMost: maximum)
    }
}
