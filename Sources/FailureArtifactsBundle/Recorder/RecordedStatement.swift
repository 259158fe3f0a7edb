internal import CFailureArtifactsShared
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A statement of a log, whose times are those of the process's clock.
package struct RecordedStatement: Sendable, Equatable {
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

/// The state of a connection after its last statement.
package struct RecordedState: Sendable {
    let counts: ChangeCounts
    let pages: WrittenPages
    let isInTransaction: Bool
    /// Its error; nil if it has none, or if not known.
    let failure: StatementRecord.Failure?

    package init(
        totalChanges: UInt32, ownChanges: UInt32, written: UInt32, spilled: UInt32, version: UInt32,
        isInTransaction: Bool, failure: StatementRecord.Failure?
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
                guard record.content.count >= 64,
                    let text = texts[Int(record.number(at: 32, as: UInt32.self))]
                else { return }
                statements.append(record.statement(of: connection, text.sql, isCut: text.isCut))
                let stack = stacks[Int(record.number(at: 36, as: UInt32.self))]
                statements[statements.count - 1].record.stack = stack
            case failure_artifacts_record_error.rawValue:
                guard record.content.count >= 16 else { return }
                let message = UnsafeRawBufferPointer(rebasing: record.content[16...])
                let stack = stacks[Int(record.number(at: 12, as: UInt32.self))]
                update(record) { statement in
                    let code = record.number(at: 8, as: Int32.self)
                    // A statement that was refused because the database was locked may have gone on.
                    statement.record.error =
                        code == 0
                        ? nil : .init(code: code, message: String(decoding: message, as: UTF8.self))
                    statement.record.stack = statement.record.stack ?? stack
                }
            case failure_artifacts_record_end.rawValue:
                guard record.content.count >= 40 else { return }
                update(record) { statement in
                    let changes = record.number(at: 16, as: Int64.self)
                    if changes >= 0 {
                        statement.record.changes = Int(exactly: changes)
                        statement.record.ownChanges = Int(record.number(at: 36, as: UInt32.self))
                    }
                    statement.endTicks = record.number(at: 8, as: UInt64.self)
                    statement.record.fullScanSteps = record.count(at: 24)
                    statement.record.sorts = record.count(at: 28)
                    statement.record.autoIndexes = record.count(at: 32)
                }
            case failure_artifacts_record_values.rawValue:
                guard record.content.count >= 16 else { return }
                update(record) { statement in
                    if record.flags != 0 { statement.record.longValues = true }
                    guard record.flags == 0, statement.record.cut == nil else { return }
                    let values = BoundValue.values(
                        of: statement.record.sql,
                        expandedTo: UnsafeRawBufferPointer(rebasing: record.content[16...]),
                        start: Int(record.number(at: 8, as: UInt32.self)),
                        end: Int(record.number(at: 12, as: UInt32.self)))
                    statement.record.values = values?.isEmpty == true ? nil : values
                }
            case failure_artifacts_record_repeated.rawValue:
                guard record.content.count >= 32 else { return }
                update(record) { statement in
                    let changes = record.number(at: 16, as: Int64.self)
                    statement.record.changes = changes < 0 ? nil : Int(exactly: changes)
                    statement.record.ownChanges = nil
                    let count = Int(clamping: record.number(at: 24, as: UInt64.self))
                    statement.record.repeated = count
                    statement.record.lastOrder =
                        count > 1 ? record.number(at: 8, as: UInt64.self) : nil
                }
            default:
                return
            }
            offset += record.paddedLength
        }
    }

    /// Changes the latest statement with the number that a record begins with.
    private mutating func update(_ record: Record, _ body: (inout RecordedStatement) -> Void) {
        let order = record.number(at: 0, as: UInt64.self)
        guard let index = statements.lastIndex(where: { $0.record.order == order }) else { return }
        body(&statements[index])
    }
}

extension [RecordedChunk] {
    /// Completes the statements of one connection with the rows that each of them changed, and the pages that it wrote.
    ///
    /// The state is that after the last statement, if it is known. The oldest statement is the first.
    package func statements(
        before state: RecordedState?, keeping history: LoggedHistory = .none
    ) -> [RecordedStatement] {
        let hasFile = last?.path != nil
        // After a death in between, a statement is still where it was moved from.
        let moved = flatMap(\.statements).filter { $0.record.repeated != nil }
        let lastMoved = moved.map { $0.record.lastOrder ?? $0.record.order }.max() ?? 0
        var statements = flatMap(\.statements).filter {
            $0.record.repeated == nil && $0.record.order > lastMoved
        }
        for index in statements.indices {
            let this = statements[index]
            var record = this.record
            defer { statements[index].record = record }
            guard !this.isUnprepared else {
                record.changes = 0
                if hasFile { record.pages = 0 }
                continue
            }
            let next = statements[(index + 1)...].first { !$0.isUnprepared }
            if record.changes == nil, let after = next?.countsBefore ?? state?.counts {
                record.changes = Int(after.total &- this.countsBefore.total)
                record.ownChanges = Int(after.own)
            }
            // SQLite's count is the one of the last statement that can change rows.
            let verb = LeadingComments(of: record.sql).firstWord
            if [0, record.ownChanges].contains(record.changes)
                || !["insert", "replace", "update", "delete", "with"].contains(verb)
            {
                record.ownChanges = nil
            }
            // SQLite writes a store in memory nowhere.
            if hasFile, let after = next?.pagesBefore ?? state?.pages {
                record.addPages(from: this.pagesBefore, to: after)
            }
            // SQLite doesn't log the error of a COMMIT that leaves its transaction open.
            if record.changes == 0, this.startedInTransaction == true,
                ["commit", "end"].contains(verb),
                statements[(index + 1)...].lazy.compactMap(\.startedInTransaction).first
                    ?? state?.isInTransaction == true
            {
                record.leftOpen = true
                if index == statements.count - 1 { record.error = state?.failure }
            }
            if let failure = this.record.error, failure.message.isEmpty {
                let isLast = next == nil && state?.failure?.code == failure.code
                record.error?.message =
                    isLast ? state?.failure?.message ?? "" : SQLiteError.message(of: failure.code)
            }
        }
        history.keep(&statements)
        return moved.sorted { $0.record.order < $1.record.order }
            .followed(by: statements, atMost: last?.maximum ?? 0)
    }
}

/// The transactions of a store's history, whose statements stay in its log.
package enum LoggedHistory: Sendable {
    case none
    /// Those since the one that the statement with this number ended.
    case since(UInt64)
    /// A number of transactions, the last ones.
    case last(Int)

    package init(_ summary: HistoryRecorder.Summary?) {
        let first = summary?.commits.lazy.map(\.order).first { $0 > 0 }
        self = first.map { .since($0) } ?? .last(summary?.transactions ?? 0)
    }

    /// Marks the statements of one connection that belong to these transactions.
    fileprivate func keep(_ statements: inout [RecordedStatement]) {
        let end: Int?
        switch self {
        case .none: return
        case .since(let order): end = statements.firstIndex { $0.record.order >= order }
        case .last(let count):
            // A statement that ends a transaction writes its pages.
            let ends = statements.indices.filter {
                statements[$0].startedInTransaction != nil && statements[$0].record.pages ?? 1 > 0
            }
            end = ends.suffix(count).first
        }
        guard var first = end else { return }
        // The one that began the first transaction.
        while first > 0, statements[first].startedInTransaction != false { first -= 1 }
        for index in first..<statements.count where statements[index].startedInTransaction != nil {
            statements[index].isKept = true
        }
    }
}

extension StatementRecord {
    /// Adds the pages that the connection wrote before its next statement.
    fileprivate mutating func addPages(from before: WrittenPages, to after: WrittenPages) {
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

    /// Reads a statement that started.
    func statement(of connection: UInt64, _ sql: String, isCut: Bool) -> RecordedStatement {
        var statement = StatementRecord(
            at: "", changes: nil, connection: connection, cut: isCut ? true : nil,
            order: number(at: 0, as: UInt64.self), phase: .test, sql: sql,
            thread: String(number(at: 16, as: UInt64.self), radix: 16))
        let test = number(at: 56, as: UInt64.self)
        statement.test = test == 0 ? nil : test
        let transaction: Bool? =
            switch number(at: 52, as: UInt32.self) {
            case failure_artifacts_transaction_is_none.rawValue: false
            case failure_artifacts_transaction_is_open.rawValue: true
            default: nil
            }
        return RecordedStatement(
            record: statement, ticks: number(at: 8, as: UInt64.self), isUnprepared: flags != 0,
            countsBefore: ChangeCounts(
                total: number(at: 24, as: UInt32.self), own: number(at: 28, as: UInt32.self)),
            pagesBefore: WrittenPages(
                written: number(at: 40, as: UInt32.self), spilled: number(at: 44, as: UInt32.self),
                version: number(at: 48, as: UInt32.self)),
            startedInTransaction: transaction)
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
        var next: [String: RecordedStatement] = [:]
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

extension RecordedStatement {
    /// The statements that count as one, as in `repetitions.c`.
    package struct Kind: Hashable {
        /// The text without its numbers and strings.
        let shape: [UInt8]
        let code: Int32?

        package init(_ statement: RecordedStatement) {
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

extension [RecordedStatement] {
    /// True if there are at least as many as the log of one connection keeps, so that it may lack some.
    package func reach(_ maximum: Int) -> Bool { count { $0.record.repeated == nil } >= maximum }

    /// Adds the last statements up to a number, and counts those before them that are not kept.
    ///
    /// The elements stand for statements that are not in the log, and are older.
    func followed(by statements: [RecordedStatement], atMost maximum: Int) -> [RecordedStatement] {
        var result = self
        // The places of each kind, the last one first.
        var places: [RecordedStatement.Kind: [Int]] = [:]
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
            let kind = RecordedStatement.Kind(statement)
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
    package func limited(to maximum: Int) -> [RecordedStatement] {
        filter { $0.record.repeated != nil }
            .followed(by: filter { $0.record.repeated == nil }, atMost: maximum)
    }
}
