internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A transaction of one connection, as the statements of a log tell; a writing statement outside of a transaction is a
/// transaction of its own.
struct LoggedTransaction {
    enum End {
        /// The log ends before the transaction does.
        case open
        case committed
        case rolledBack
    }

    let connection: UInt64
    /// The statements, as indices in the log: from the one that began the transaction to the one that ended it.
    private(set) var statements: [Int]
    /// The statements that changed something or may have, without those that a savepoint undid.
    private(set) var kept: [Int] = []
    /// The statements whose changes the last rollback in the transaction discarded; nil without one.
    private(set) var discarded: [Int]?
    private(set) var end = End.open
    /// False if it may have had other statements, or if an error may have ended it.
    private(set) var isKnown = true
    private(set) var pages: Int? = 0
    /// The transaction's number in the history, if the recorder noted it.
    private(set) var number: Int?
    /// The growth of the connection's data version since its previous transaction; nil if unknown.
    fileprivate var growth: Int?
    /// The number of a statement that started after the last one had ended.
    fileprivate var nextOrder: UInt64 = .max

    /// The open savepoints, each with the number of kept statements before it; no name if it is uncertain.
    private var savepoints: [(name: String?, count: Int)] = []
    /// True if the transaction began with a savepoint, whose release commits it.
    private let beganWithSavepoint: Bool
    /// True if the previous statement discarded changes or released a savepoint.
    private var isUnwinding = false

    private init(_ index: Int, _ statement: Timeline.Statement) {
        connection = statement.record.connection
        statements = [index]
        beganWithSavepoint = statement.outline.kind == .savepoint
        if beganWithSavepoint { savepoints = [(statement.outline.table, 0)] }
        addPages(of: statement.record)
    }

    /// Creates the transaction of a statement that committed its own changes.
    private init(of index: Int, _ statement: Timeline.Statement) {
        self.init(index, statement)
        isKnown = statement.mayHaveWritten
        if isKnown { kept = [index] }
        end = .committed
        number = statement.record.commits
    }

    private mutating func addPages(of record: StatementRecord) {
        pages = pages.flatMap { pages in record.pages.map { pages + $0 } }
    }

    // MARK: - Reading a log

    static func all(in log: [Timeline.Statement]) -> [LoggedTransaction] {
        var transactions: [LoggedTransaction] = []
        // The connections' open transactions, as indices.
        var open: [UInt64: Int] = [:]
        let nextOrders = nextOrders(of: log)
        // The growth of the connections' data versions since their last transactions; nil if unknown.
        var versions: [UInt64: Int?] = [:]
        let lastMerged = lastMerged(in: log)
        for (index, statement) in log.enumerated() {
            let record = statement.record
            guard record.repeated ?? 1 == 1, record.order > lastMerged[record.connection] ?? 0 else {
                // Of the older statements, some are missing, but not what they committed.
                if record.commits != nil { transactions.append(LoggedTransaction(of: index, statement)) }
                continue
            }
            let connection = record.connection
            if record.versions != nil || record.pages != 0 {
                let known = versions[connection] ?? 0
                versions[connection] = .some(known.flatMap { sum in record.versions.map { sum + $0 } })
            }
            let count = transactions.count
            if let current = open[connection] {
                transactions[current].add(index, statement)
                if transactions[current].end != .open {
                    open[connection] = nil
                    if transactions[current].end == .committed {
                        transactions[current].growth = versions[connection] ?? 0
                        versions[connection] = 0
                    }
                }
                // An error had ended the transaction before.
                guard statement.hasCommitted, transactions[current].end == .rolledBack else { continue }
            }
            if statement.hasCommitted || statement.mayHaveWritten && !statement.beginsTransaction {
                transactions.append(LoggedTransaction(of: index, statement))
                transactions[count].growth = versions[connection] ?? 0
                versions[connection] = 0
            } else if statement.beginsTransaction {
                open[connection] = count
                transactions.append(LoggedTransaction(index, statement))
            } else if [.commit, .release, .rollbackTo].contains(statement.outline.kind),
                record.error == nil
            {
                // The log lacks the beginning of a transaction, which these statements are part of.
                for index in transactions.indices
                where transactions[index].connection == connection && transactions[index].number == nil {
                    transactions[index].isKnown = false
                }
            }
        }
        for index in transactions.indices {
            transactions[index].nextOrder = nextOrders[transactions[index].statements.last ?? 0]
        }
        return transactions
    }

    /// Returns the last statement of each connection that has no line of its own, and may belong to a transaction.
    private static func lastMerged(in log: [Timeline.Statement]) -> [UInt64: UInt64] {
        let merged = log.filter {
            $0.record.repeated ?? 1 > 1 && !$0.outline.isQuery && !$0.outline.isSelect
                && $0.outline.word(0) != "pragma"
        }
        return Dictionary(
            merged.map { ($0.record.connection, $0.record.lastOrder ?? $0.record.order) },
            uniquingKeysWith: { max($0, $1) })
    }

    /// Returns for each statement the number of the next one on the same connection or thread, which runs one at a time.
    private static func nextOrders(of log: [Timeline.Statement]) -> [UInt64] {
        var orders = [UInt64](repeating: .max, count: log.count)
        var onConnection: [UInt64: UInt64] = [:]
        var onThread: [String: UInt64] = [:]
        for (index, statement) in log.enumerated().reversed() {
            let record = statement.record
            orders[index] = min(
                onConnection[record.connection] ?? .max, onThread[record.thread] ?? .max)
            onConnection[record.connection] = record.order
            onThread[record.thread] = record.order
        }
        return orders
    }

    private mutating func add(_ index: Int, _ statement: Timeline.Statement) {
        let (record, outline) = (statement.record, statement.outline)
        if statement.hasCommitted, ![.commit, .release].contains(outline.kind) {
            end = .rolledBack
            return
        }
        statements.append(index)
        addPages(of: record)
        let wasUnwinding = isUnwinding
        isUnwinding = true
        switch outline.kind {
        case .commit where record.leftOpen == true: isUnwinding = wasUnwinding
        // If a commit fails in any other way, SQLite rolls the transaction back.
        case .commit:
            end = record.error == nil ? .committed : .rolledBack
            number = record.commits
        case .rollback:
            if !wasUnwinding, record.error == nil { discarded = kept }
            end = .rolledBack
        case .rollbackTo where record.error == nil:
            if !wasUnwinding { discarded = kept }
            guard let place = place(of: outline.table) else {
                isKnown = false
                return
            }
            savepoints.removeSubrange((place + 1)...)
            kept.removeSubrange(min(savepoints[place].count, kept.count)...)
        case .release where record.error == nil:
            guard let place = place(of: outline.table) else { return }
            savepoints.removeSubrange(place...)
            guard savepoints.isEmpty, beganWithSavepoint else { return }
            end = .committed
            number = record.commits
        case .savepoint:
            isUnwinding = false
            savepoints.append((outline.table, kept.count))
        default:
            isUnwinding = false
            if statement.endsTransactionByError {
                discarded = kept
                end = .rolledBack
            } else if statement.mayEndTransactionByError {
                isKnown = false
            } else if statement.mayHaveWritten {
                kept.append(index)
            }
        }
    }

    private func place(of savepoint: String?) -> Int? {
        savepoints.lastIndex { $0.name == savepoint }
    }
}

extension Timeline.Statement {
    fileprivate var beginsTransaction: Bool {
        [.begin, .savepoint].contains(outline.kind) && record.error == nil
    }

    /// True if the log shows that the statement ended a transaction that wrote pages.
    fileprivate var hasCommitted: Bool { record.commits != nil || record.pages ?? 0 > 0 }

    /// True if it changed something that a history can have, as far as known.
    fileprivate var mayHaveWritten: Bool {
        guard record.error == nil, !outline.isElsewhere else { return false }
        return switch outline.kind {
        case .definition, .setting, .maintenance: true
        case .insert, .update, .delete: record.changes != 0
        case .other: record.changes ?? 0 > 0
        case .begin, .commit, .rollback, .savepoint, .release, .rollbackTo, .walMode: false
        }
    }

    /// True if its error undid the whole transaction: that of `INSERT OR ROLLBACK`, for example.
    fileprivate var endsTransactionByError: Bool {
        guard let error = record.error else { return false }
        return error.code & 0xff == 19 && record.sql.lowercased().contains("rollback")
    }

    /// True if SQLite may have undone the whole transaction: without memory or space, after an input/output error, or after an
    /// interruption.
    fileprivate var mayEndTransactionByError: Bool {
        guard let error = record.error else { return false }
        return [7, 9, 10, 13].contains(error.code & 0xff) && !outline.isQuery
    }
}

// MARK: - Transactions of the history

extension [LoggedTransaction] {
    /// Finds the transactions of a history; none if they are uncertain.
    ///
    /// One that was recorded page by page tells which statement ended a transaction. With one from a WAL, the
    /// transactions are compared from the last one on, until one doesn't fit: another process may have written.
    func statements(
        of steps: [Timeline.Step], in log: [Timeline.Statement], linked: Set<String> = []
    ) -> [[Int]] {
        let numbered = Dictionary(
            compactMap { transaction in transaction.number.map { ($0, transaction) } },
            uniquingKeysWith: { $1 })
        if !numbered.isEmpty {
            return steps.map { step in
                let found = step.number.flatMap { numbered[$0] }
                return found?.isKnown == true ? found?.kept ?? [] : []
            }
        }
        var found = [[Int]](repeating: [], count: steps.count)
        var rest = filter {
            $0.end == .committed && ($0.pages ?? ($0.isKnown && $0.kept.isEmpty ? 0 : 1)) > 0
        }
        rest.sort { ($0.statements.last ?? 0) < ($1.statements.last ?? 0) }
        let hasPages = log.contains { $0.record.pages != nil }
        // Another process has written, which may have made the same changes.
        let isShared = zip(rest, rest.dropFirst()).contains {
            $0.connection == $1.connection && $1.followsOwn == false
        }
        guard !isShared else { return found }
        var next: LoggedTransaction?
        for (index, step) in steps.enumerated().reversed() {
            guard let last = rest.popLast(),
                last.pages != nil || !hasPages || last.hasCertainlyWritten(log)
            else { break }
            guard last.fits(step, log, linked),
                next?.followsOwn.map({ $0 == (next?.connection == last.connection) }) ?? true
            else { return steps.map { _ in [] } }
            // A transaction has the lock when its COMMIT starts, but a statement outside of one may have waited for it.
            if let other = rest.last, other.connection != last.connection, other.statements.count == 1,
                other.fits(step, log, linked), other.nextOrder > log[last.statements.last ?? 0].order
            {
                break
            }
            if last.isKnown { found[index] = last.kept }
            next = last
        }
        return found
    }
}

extension LoggedTransaction {
    /// True if the connection's previous transaction directly precedes it in the history, false if another connection
    /// committed in between; nil if unknown.
    ///
    /// Seeing for the first time that others have committed adds 1 to the data version, as an own commit does.
    fileprivate var followsOwn: Bool? { growth.flatMap { $0 == 1 ? true : $0 > 2 ? false : nil } }

    /// True unless it may have written no page, as an `UPDATE` to the same values.
    fileprivate func hasCertainlyWritten(_ log: [Timeline.Statement]) -> Bool {
        growth ?? 0 > 0 || kept.contains { log[$0].hasChangedRows && !log[$0].outline.mayHaveNoEffect }
    }

    fileprivate func fits(
        _ step: Timeline.Step, _ log: [Timeline.Statement], _ linked: Set<String>
    ) -> Bool {
        if let pages, pages != step.pages { return false }
        let outlines = kept.map { log[$0].outline }
        guard isKnown, outlines.allSatisfy(\.isWrite) else { return pages != nil || isKnown }
        let written = Set(outlines.compactMap(\.table))
        let changed = Set(step.changes.tables.map { folded($0.name) })
        // Triggers and foreign keys change other tables and rows.
        guard written.isDisjoint(with: linked) else {
            return step.changes.schema.isEmpty
        }
        let rows = step.changes.tables.map { $0.inserted + $0.updated + $0.deleted }
        let counted = kept.map { Int64(clamping: log[$0].record.changes ?? 1 << 32) }
        let kinds = Set(outlines.map { $0.kind == .insert && $0.mayHaveNoEffect ? .update : $0.kind })
        // A row with another key counts as deleted and inserted.
        return step.changes.schema.isEmpty && changed.isSubset(of: written)
            && rows.reduce(0, +) <= 2 * counted.reduce(0, +)
            && (kinds != [.insert] || rows.reduce(0, +) == counted.reduce(0, +))
            && (kinds.contains(.update)
                || step.changes.tables.allSatisfy { table in
                    table.updated == 0 && (kinds.contains(.insert) || table.inserted == 0)
                        && (kinds.contains(.delete) || table.deleted == 0)
                })
    }
}

// MARK: - The uncommitted transaction

extension [LoggedTransaction] {
    /// Returns the statements whose changes only a store's copy has: those of a transaction that was open at the
    /// failure, or that was rolled back before, also by a close; empty if they are uncertain.
    func uncommittedStatements(
        beforeRollback isBeforeRollback: Bool, in log: [Timeline.Statement]
    ) -> [Int] {
        func hasWritten(_ statements: [Int]) -> Bool { statements.contains { log[$0].hasChangedRows } }
        let writing = filter { $0.end == .open && hasWritten($0.kept) }
        let open = writing.count == 1 && writing[0].isKnown ? writing[0].kept : []
        guard isBeforeRollback else { return open }
        let last = filter { $0.discarded != nil }.max {
            ($0.statements.last ?? 0) < ($1.statements.last ?? 0)
        }
        // A connection that was closed inside a later transaction has rolled that one back.
        guard let last, last.statements.last ?? 0 > open.last ?? -1, let discarded = last.discarded
        else {
            return open
        }
        return hasWritten(discarded) ? discarded : []
    }
}
