internal import CFailureArtifactsShared
internal import FailureArtifactsSQLite

/// The part of a connection's log in one chunk of the recorder.
package struct LogChunk: Sendable {
    /// The number of the connection among the process's opens, from 1.
    package var connection: UInt64
    /// The path of the connection's main database; nil for a store in memory.
    package var path: String?
    /// The maximum number of statements to keep of the connection; older ones may be in the chunk.
    package var maximum = 0
    /// The statements, in the order in which they started.
    package var statements: [LoggedStatement] = []

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
    private mutating func update(_ record: Record, _ body: (inout LoggedStatement) -> Void) {
        let order = record.number(at: 0, as: UInt64.self)
        guard let index = statements.lastIndex(where: { $0.record.order == order }) else { return }
        body(&statements[index])
    }
}

extension [LogChunk] {
    /// Completes the statements of one connection with the rows that each of them changed, and the pages that it wrote.
    ///
    /// The state is that after the last statement, if it is known. The oldest statement is the first.
    package func statements(
        before state: LogEnd?, keeping history: LoggedHistory = .none
    ) -> [LoggedStatement] {
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
    func statement(of connection: UInt64, _ sql: String, isCut: Bool) -> LoggedStatement {
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
        return LoggedStatement(
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
