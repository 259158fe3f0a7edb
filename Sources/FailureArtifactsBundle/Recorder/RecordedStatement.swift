internal import CFailureArtifactsShared
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

package struct RecordedStatement: Sendable, Equatable {
    package typealias Failure = StatementRecord.Failure

    /// The end of a statement, and what SQLite has counted since its start.
    ///
    /// A count is nil if the application has reset SQLite's counter.
    package struct End: Sendable, Equatable {
        /// The time, in ticks; see ``RecorderClock``.
        package var ticks: UInt64
        package var fullScanSteps: Int?
        package var sorts: Int?
        package var automaticIndexes: Int?
    }

    /// The number of the connection that ran it, in the order of the process's opens, from 1.
    package var connection: UInt64
    /// The statement's number, which increases over all connections of the process.
    package var order: UInt64
    /// The start, in ticks; see ``RecorderClock``.
    package var ticks: UInt64
    /// The system's number of the thread that ran it.
    package var thread: UInt64
    /// The number of the test that ran it; nil if not known.
    package var test: UInt64?
    package var sql: String
    /// True if ``sql`` contains only the start of the statement.
    package var isCut: Bool
    /// True if the statement couldn't be prepared, so that it didn't run.
    package var isUnprepared = false
    /// SQLite's counts of changed rows at the start.
    var countsBefore: ChangeCounts
    /// The number of rows that the statement inserted, updated and deleted; nil if not known.
    package var changes: Int?
    /// The part of ``changes`` that triggers, foreign keys and virtual tables didn't make; nil if it is all, or not known.
    package var ownChanges: Int?
    /// The pages that the connection had written at the start.
    var pagesBefore: WrittenPages
    /// The number of pages that were written until the connection's next statement; nil if not known.
    ///
    /// It is the number of frames in the WAL. It is not known if SQLite's cache had no space for some of the pages, since
    /// those may be written more than once, or in vain. It is also unknown if the application has reset the counter.
    package var pages: Int?
    /// The growth of the main database's data version, if pages were written; nil if not known.
    ///
    /// It is the growth since the connection's previous statement that wrote pages.
    package var versions: Int?
    /// The return addresses of the functions that ran it, the innermost first; empty if not known.
    package var addresses: [UInt64]
    /// The values that were bound to it; nil if they were not recorded.
    package var values: [BoundValue]?
    /// True if the values are too long to be recorded.
    package var hasLongValues = false
    /// The executions that this statement stands for, because they are not in the log; nil for one execution.
    package var repetitions: Repetitions?
    /// The error, whose message is empty if it is not known; nil if the statement is not known to have failed.
    package var failure: Failure?
    /// The end; nil if it was not recorded.
    package var end: End?
    /// True if a transaction was open at the start; nil if not known.
    ///
    /// It is known for statements that change the database, and for those that begin or end a transaction.
    package var startedInTransaction: Bool?
    /// True for a `COMMIT` after which its transaction was still open.
    ///
    /// SQLite doesn't log the error of such a statement: a row violates a deferred foreign key, or the database is locked.
    package var leftTransactionOpen = false
}

extension RecordedStatement {
    /// Completes the statement with the pages that the connection had written after it.
    fileprivate mutating func add(_ after: WrittenPages) {
        let before = pagesBefore
        guard before.areKnown, after.areKnown else { return }
        guard after != before else {
            pages = 0
            return
        }
        if after.spilled == before.spilled, after.written > before.written {
            pages = Int(after.written - before.written)
        }
        // The version is read only with pages.
        if before.written > 0, after.version >= before.version {
            versions = Int(after.version - before.version)
        }
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

/// The state of a connection after its last statement.
package struct RecordedState: Sendable {
    let counts: ChangeCounts
    let pages: WrittenPages
    let isInTransaction: Bool
    /// Its error; nil if it has none, or if not known.
    let failure: RecordedStatement.Failure?

    package init(
        totalChanges: UInt32, ownChanges: UInt32, written: UInt32, spilled: UInt32, version: UInt32,
        isInTransaction: Bool, failure: RecordedStatement.Failure?
    ) {
        counts = ChangeCounts(total: totalChanges, own: ownChanges)
        pages = WrittenPages(written: written, spilled: spilled, version: version)
        self.isInTransaction = isInTransaction
        self.failure = failure
    }
}

/// The part of a connection's log in one chunk of the recorder.
package struct RecordedChunk: Sendable {
    /// The number of the connection among the process's opens, from 1.
    package var connection: UInt64
    /// The path of the connection's main database; nil for a store in memory.
    package var path: String?
    /// The maximum number of statements to keep of the connection; older ones may be in the chunk.
    package var maximum = 0
    /// The statements, in the order in which they started.
    package var statements: [RecordedStatement] = []

    /// Parses a chunk; nil if it is free, or isn't one.
    ///
    /// The bytes are untrusted: another process may have written them, and died. What follows an invalid record is
    /// ignored.
    ///
    /// - `bytes`: the chunk, or the part of it that is in use; see `recorder.h`.
    package init?(_ bytes: UnsafeRawBufferPointer) {
        let header = MemoryLayout<failure_artifacts_chunk>.size
        guard bytes.count >= header else { return nil }
        let used = Int(bytes.loadUnaligned(fromByteOffset: 16, as: UInt32.self))
        connection = bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        guard connection != 0, used >= header else { return nil }
        let end = min(used, bytes.count)
        var texts: [Int: (sql: String, isCut: Bool)] = [:]
        var stacks: [Int: [UInt64]] = [:]
        var offset = header
        while let record = Record(at: offset, in: bytes, end: end) {
            switch UInt32(record.kind) {
            case failure_artifacts_record_connection.rawValue:
                guard record.content.count >= 8 else { return }
                maximum = Int(record.number(at: 0, as: UInt32.self))
                let text = UnsafeRawBufferPointer(rebasing: record.content[8...])
                path = text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
            case failure_artifacts_record_text.rawValue:
                texts[offset] = (String(decoding: record.content, as: UTF8.self), record.flags != 0)
            case failure_artifacts_record_stack.rawValue:
                stacks[offset] = record.addresses
            case failure_artifacts_record_statement.rawValue:
                guard record.content.count >= 52,
                    let text = texts[Int(record.number(at: 32, as: UInt32.self))]
                else { return }
                statements.append(
                    RecordedStatement(
                        connection: connection, order: record.number(at: 0, as: UInt64.self),
                        ticks: record.number(at: 8, as: UInt64.self),
                        thread: record.number(at: 16, as: UInt64.self), test: record.test, sql: text.sql,
                        isCut: text.isCut, isUnprepared: record.flags != 0,
                        countsBefore: ChangeCounts(
                            total: record.number(at: 24, as: UInt32.self),
                            own: record.number(at: 28, as: UInt32.self)),
                        pagesBefore: WrittenPages(
                            written: record.number(at: 40, as: UInt32.self),
                            spilled: record.number(at: 44, as: UInt32.self),
                            version: record.number(at: 48, as: UInt32.self)),
                        addresses: stacks[Int(record.number(at: 36, as: UInt32.self))] ?? [],
                        startedInTransaction: record.transaction))
            case failure_artifacts_record_error.rawValue:
                guard record.content.count >= 16 else { return }
                let message = UnsafeRawBufferPointer(rebasing: record.content[16...])
                let stack = stacks[Int(record.number(at: 12, as: UInt32.self))]
                update(record.number(at: 0, as: UInt64.self)) { statement in
                    let code = record.number(at: 8, as: Int32.self)
                    // A statement that was refused because the database was locked may have gone on.
                    statement.failure =
                        code == 0
                        ? nil
                        : RecordedStatement.Failure(
                            code: code, message: String(decoding: message, as: UTF8.self))
                    if statement.addresses.isEmpty { statement.addresses = stack ?? [] }
                }
            case failure_artifacts_record_end.rawValue:
                guard record.content.count >= 40 else { return }
                update(record.number(at: 0, as: UInt64.self)) { statement in
                    let changes = record.number(at: 16, as: Int64.self)
                    if changes >= 0 {
                        statement.changes = Int(exactly: changes)
                        statement.ownChanges = Int(record.number(at: 36, as: UInt32.self))
                    }
                    statement.end = RecordedStatement.End(
                        ticks: record.number(at: 8, as: UInt64.self),
                        fullScanSteps: record.count(at: 24), sorts: record.count(at: 28),
                        automaticIndexes: record.count(at: 32))
                }
            case failure_artifacts_record_values.rawValue:
                guard record.content.count >= 16 else { return }
                update(record.number(at: 0, as: UInt64.self)) { statement in
                    statement.hasLongValues = record.flags != 0
                    statement.values =
                        statement.hasLongValues || statement.isCut
                        ? nil
                        : BoundValue.values(
                            of: statement.sql,
                            expandedTo: UnsafeRawBufferPointer(rebasing: record.content[16...]),
                            start: Int(record.number(at: 8, as: UInt32.self)),
                            end: Int(record.number(at: 12, as: UInt32.self)))
                }
            case failure_artifacts_record_repeated.rawValue:
                guard record.content.count >= 32 else { return }
                update(record.number(at: 0, as: UInt64.self)) { statement in
                    let changes = record.number(at: 16, as: Int64.self)
                    statement.changes = changes < 0 ? nil : Int(exactly: changes)
                    statement.ownChanges = nil
                    statement.repetitions = RecordedStatement.Repetitions(
                        count: Int(clamping: record.number(at: 24, as: UInt64.self)),
                        lastOrder: record.number(at: 8, as: UInt64.self))
                }
            default:
                return
            }
            offset += record.paddedLength
        }
    }

    /// Changes the latest statement with a number.
    private mutating func update(_ order: UInt64, _ body: (inout RecordedStatement) -> Void) {
        guard let index = statements.lastIndex(where: { $0.order == order }) else { return }
        body(&statements[index])
    }
}

extension [RecordedChunk] {
    /// Completes the statements of one connection with the rows that each of them changed, and the pages that it wrote.
    ///
    /// The state is that after the last statement, if it is known. The oldest statement is the first.
    package func statements(before state: RecordedState?) -> [RecordedStatement] {
        let hasFile = last?.path != nil
        // After a death in between, a statement is still where it was moved from.
        let moved = flatMap(\.statements).filter { $0.repetitions != nil }
        let lastMoved = moved.compactMap(\.repetitions?.lastOrder).max() ?? 0
        var statements = flatMap(\.statements).filter { $0.repetitions == nil && $0.order > lastMoved }
        for index in statements.indices {
            let this = statements[index]
            guard !this.isUnprepared else {
                statements[index].changes = 0
                if hasFile { statements[index].pages = 0 }
                continue
            }
            let next = statements[(index + 1)...].first { !$0.isUnprepared }
            if this.changes == nil, let after = next?.countsBefore ?? state?.counts {
                statements[index].changes = Int(after.total &- this.countsBefore.total)
                statements[index].ownChanges = Int(after.own)
            }
            // SQLite's count is the one of the last statement that can change rows.
            let verbs = ["insert", "replace", "update", "delete", "with"]
            if [0, statements[index].ownChanges].contains(statements[index].changes)
                || !verbs.contains(LeadingComments(of: this.sql).firstWord)
            {
                statements[index].ownChanges = nil
            }
            // SQLite writes a store in memory nowhere.
            if hasFile, let after = next?.pagesBefore ?? state?.pages {
                statements[index].add(after)
            }
            if statements[index].changes == 0, this.startedInTransaction == true,
                statements[(index + 1)...].lazy.compactMap(\.startedInTransaction).first
                    ?? state?.isInTransaction == true
            {
                let isCommit = ["commit", "end"].contains(LeadingComments(of: this.sql).firstWord)
                statements[index].leftTransactionOpen = isCommit
                if isCommit, index == statements.count - 1 { statements[index].failure = state?.failure }
            }
            if let failure = this.failure, failure.message.isEmpty {
                let isLast = next == nil && state?.failure?.code == failure.code
                statements[index].failure?.message =
                    isLast ? state?.failure?.message ?? "" : SQLiteError.message(of: failure.code)
            }
        }
        return moved.sorted { $0.order < $1.order }.followed(by: statements, atMost: last?.maximum ?? 0)
    }
}

private struct Record {
    let kind: UInt8
    let flags: UInt8
    let content: UnsafeRawBufferPointer
    /// The length with the bytes that align the next record.
    let paddedLength: Int

    /// Reads the record at an offset; nil at the end, and if it is invalid.
    init?(at offset: Int, in bytes: UnsafeRawBufferPointer, end: Int) {
        let header = MemoryLayout<failure_artifacts_record>.size
        guard offset + header <= end else { return nil }
        let length = Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        guard length >= header, length <= end - offset else { return nil }
        kind = bytes[offset + 4]
        flags = bytes[offset + 5]
        content = UnsafeRawBufferPointer(rebasing: bytes[offset + header..<offset + length])
        paddedLength = (length + 7) & ~7
    }

    func number<Number: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: Number.Type)
        -> Number
    {
        content.loadUnaligned(fromByteOffset: offset, as: type)
    }

    /// Returns a count of SQLite's; nil if it is not known.
    func count(at offset: Int) -> Int? {
        let count = number(at: offset, as: UInt32.self)
        return count == failure_artifacts_unknown_count ? nil : Int(count)
    }

    /// The transaction at the start of a statement; see `failure_artifacts_transaction_at_start`.
    var transaction: Bool? {
        guard content.count >= 56 else { return nil }
        return switch number(at: 52, as: UInt32.self) {
        case failure_artifacts_transaction_is_none.rawValue: false
        case failure_artifacts_transaction_is_open.rawValue: true
        default: nil
        }
    }

    /// The number of a statement's test; nil if it is not known.
    var test: UInt64? {
        guard content.count >= 64 else { return nil }
        let test = number(at: 56, as: UInt64.self)
        return test == 0 ? nil : test
    }

    var addresses: [UInt64] {
        stride(from: 0, to: content.count / 8 * 8, by: 8).map { number(at: $0, as: UInt64.self) }
    }
}

extension [RecordedStatement] {
    /// Returns the statements of a store's connections, oldest first, without first attempts to prepare a statement.
    ///
    /// SQLite prepares a statement with its copy of the schema. If that fails and the copy is old, SQLite logs the error,
    /// reads the schema and tries again. The application doesn't notice, and runs the statement.
    package func merged() -> [RecordedStatement] {
        var statements: [RecordedStatement] = []
        // Each thread's next statement.
        var next: [UInt64: RecordedStatement] = [:]
        for statement in sorted(by: { $0.order > $1.order }) {
            let later = next.updateValue(statement, forKey: statement.thread)
            let isRepeated =
                statement.isUnprepared && later?.isUnprepared == false
                && (statement.isCut
                    ? later?.sql.hasPrefix(statement.sql) == true : later?.sql == statement.sql)
            if !isRepeated { statements.append(statement) }
        }
        return statements.reversed()
    }
}

extension RecordedStatement {
    /// Executions of one statement by the same functions, of which only the first one is known.
    package struct Repetitions: Sendable, Equatable {
        /// The number of executions, the first one included.
        package var count: Int
        /// The number of the last one; see ``order``.
        package var lastOrder: UInt64
    }

    /// The statements that count as one, as in `repetitions.c`.
    fileprivate struct Kind: Hashable {
        /// The text without its numbers and strings.
        let shape: [UInt8]
        let code: Int32?

        init(_ statement: RecordedStatement) {
            var shape: [UInt8] = []
            var (isWord, isString) = (false, false)
            for byte in statement.sql.utf8 {
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
            code = statement.failure?.code
        }
    }
}

extension [RecordedStatement] {
    /// True if there are at least as many as the log of one connection keeps, so that it may lack some.
    package func reach(_ maximum: Int) -> Bool { count { $0.repetitions == nil } >= maximum }

    /// Adds the last statements up to a number, and counts those before them.
    ///
    /// The elements stand for statements that are not in the log, and are older.
    func followed(by statements: [RecordedStatement], atMost maximum: Int) -> [RecordedStatement] {
        var result = self
        // The places of each kind, the last one first.
        var places: [RecordedStatement.Kind: [Int]] = [:]
        let excess = statements.dropLast(maximum)
        if !excess.isEmpty {
            for index in indices { places[.init(self[index]), default: []].insert(index, at: 0) }
        }
        for statement in excess {
            let kind = RecordedStatement.Kind(statement)
            let known = places[kind]?.first {
                statement.addresses.isEmpty || result[$0].addresses == statement.addresses
            }
            if let known, let repetitions = result[known].repetitions {
                result[known].repetitions = .init(
                    count: repetitions.count + 1, lastOrder: statement.order)
                result[known].changes = result[known].changes.flatMap { old in
                    statement.changes.map { old + $0 }
                }
            } else {
                places[kind, default: []].insert(result.count, at: 0)
                result.append(statement)
                result[result.count - 1].repetitions = .init(count: 1, lastOrder: statement.order)
            }
        }
        return (result + statements.suffix(maximum)).sorted { $0.order < $1.order }
    }

    /// Returns the statements of several connections, with at most as many as a log keeps that don't stand for others.
    package func limited(to maximum: Int) -> [RecordedStatement] {
        filter { $0.repetitions != nil }.followed(by: filter { $0.repetitions == nil }, atMost: maximum)
    }
}
