package import FailureArtifactsBundle

/// The transactions that can be identified in a store's statement log.
package struct LoggedTransactions {
    /// The groups, in the order in which their commits began.
    private(set) var groups: [Group] = []
    /// True if the log contains all writes since the store switched to WAL mode.
    private(set) var isComplete = false
    /// The groups by the numbers of their transactions, if the statements tell them.
    private var numbered: [Int: Group] = [:]

    /// Groups the statements of a store.
    ///
    /// If some are missing, the groups would be uncertain, so there are none.
    package init(_ records: [StatementRecord], of store: BundleMetadata.Store) {
        self.init(store.statements?.reason == nil ? records : [])
    }

    /// Groups the statements of all connections of a store.
    ///
    /// - Parameter records: The statements, sorted by their order.
    init(_ records: [StatementRecord]) {
        // Of the older statements, some are missing.
        let older = records.filter { $0.repeated != nil }
        let records = records.filter { $0.repeated == nil }
        let hasPages = records.contains { $0.pages != nil }
        let ends = Self.ends(of: records)
        var connections: [UInt64: LoggedConnection] = [:]
        // Groups up to this statement are uncertain.
        var barrier: UInt64 = 0
        var walMode: UInt64?
        for (record, end) in zip(records, ends) {
            let outline = StatementOutline(record.sql)
            if outline.kind == .walMode, walMode == nil { walMode = record.order }
            var connection = connections.removeValue(forKey: record.connection) ?? LoggedConnection()
            if !connection.add(record, outline, endedBy: end) { barrier = record.order }
            connections[record.connection] = connection
        }
        groups = connections.values.flatMap(\.groups).sorted { $0.end < $1.end }
        let commits = records.compactMap { record in record.commits.map { (record.order, $0) } }
        if !commits.isEmpty {
            let numbers = Dictionary(commits, uniquingKeysWith: { $1 })
            for group in groups where group.isKnown { numbers[group.end].map { numbered[$0] = group } }
        }
        if !hasPages {
            // Nothing tells how long a statement took, or waited. Overlapping groups leave doubt.
            for index in groups.indices { groups[index].locked = groups[index].end }
            for (group, next) in zip(groups, groups.dropFirst())
            where next.connection != group.connection && next.start < group.end {
                barrier = max(barrier, next.end)
            }
        }
        if let walMode, barrier <= walMode {
            barrier = walMode
            isComplete = true
        }
        groups.removeAll { $0.end <= barrier || $0.start <= barrier }
        for record in older where record.commits != nil {
            let outline = StatementOutline(record.sql)
            guard outline.isWrite || outline.kind == .definition else { continue }
            var group = Group(connection: record.connection, start: record.order)
            group.add(record, outline, endedBy: .max)
            group.end = record.order
            record.commits.map { numbered[$0] = group }
        }
    }

    /// Returns for each statement the number of a statement that started after its end.
    ///
    /// That is the next statement on the same connection or on the same thread.
    private static func ends(of records: [StatementRecord]) -> [UInt64] {
        var ends = [UInt64](repeating: .max, count: records.count)
        var nextOnConnection: [UInt64: UInt64] = [:]
        var nextOnThread: [String: UInt64] = [:]
        for (index, record) in records.enumerated().reversed() {
            ends[index] = min(
                nextOnConnection[record.connection] ?? .max, nextOnThread[record.thread] ?? .max)
            nextOnConnection[record.connection] = record.order
            nextOnThread[record.thread] = record.order
        }
        return ends
    }

    /// Finds the statements of a history's last transactions.
    ///
    /// A history that was recorded page by page tells which statement ended a transaction. Otherwise, all alignments of
    /// the log's groups with the history's transactions are considered; see ``Alignment``. Only pairs that are the same
    /// in all of them count, because a wrong answer would be worse than none.
    ///
    /// - Parameters:
    ///   - transactions: The transactions. The last one is the last before the failure.
    ///   - isWhole: True if these are all transactions of the history.
    /// - Returns: The statements of each transaction; empty for a transaction whose statements are uncertain.
    package func statements(of transactions: [Transaction], isWhole: Bool) -> [[StatementRecord]] {
        if !numbered.isEmpty {
            return transactions.map { $0.number.flatMap { numbered[$0] }?.records ?? [] }
        }
        let pairs = Alignment.certainPairs(groups, transactions, isComplete: isWhole && isComplete)
        return pairs.map { $0.map { groups[$0].records } ?? [] }
    }
}

/// A connection while its statements are grouped.
private struct LoggedConnection {
    private(set) var groups: [LoggedTransactions.Group] = []
    /// The open transaction.
    private var open: LoggedTransactions.Group?
    /// The savepoints of the open transaction.
    private var savepoints = Savepoints()
    /// True if the open transaction began with a savepoint, whose release commits it.
    private var beganWithSavepoint = false
    /// The growth of the data version since the previous group; nil if unknown.
    private var versions: Int? = 0
    /// The maximum number of commits without pages since the previous group.
    private var emptyCommits = 0
    /// The tables of other databases of the connection, as far as they are known.
    private var otherTables: Set<String> = []
    /// True if the connection has or had attached databases.
    private var hasAttached = false

    /// Adds the connection's next statement.
    ///
    /// - Parameters:
    ///   - record: The statement.
    ///   - outline: Its outline.
    ///   - end: The number of a statement that started after this one had ended.
    /// - Returns: False if the groups up to this statement are uncertain.
    mutating func add(_ record: StatementRecord, _ outline: StatementOutline, endedBy end: UInt64)
        -> Bool
    {
        if let growth = record.versions {
            versions? += growth
        } else if record.pages != 0 {
            versions = nil
        }
        if outline.isElsewhere, outline.creates, let table = outline.table { otherTables.insert(table) }
        if outline.attaches { hasAttached = true }
        var record = record
        // The pages of all databases count.
        if hasAttached, record.pages != 0 { record.pages = nil }
        // A statement inside a transaction writes pages only if the cache is full, and then their number is absent. So
        // an error has ended the transaction.
        if open != nil, (record.pages ?? 0) > 0, ![.commit, .release].contains(outline.kind) { close() }
        let count = groups.count
        if let error = record.error, !isHarmless(error, record, outline) {
            guard record.pages != nil || record.versions != nil else {
                if outline.kind == .other { return true }
                close()
                return false
            }
            // The error may have ended the transaction. Then the pages are those of a later statement.
            open?.isKnown = false
        }
        if record.error == nil || (record.pages ?? 0) > 0 {
            guard addSuccess(record, outline, endedBy: end) else { return false }
        } else {
            open?.add(pagesOf: record)
        }
        // Other code than logged statements, such as incremental blob I/O, can write pages, too.
        if open == nil, groups.count == count, record.pages ?? record.versions ?? 0 > 0 {
            return commitUnknown(record, endedBy: end)
        }
        return true
    }

    /// True if an error undoes only its statement.
    private func isHarmless(
        _ error: StatementRecord.Failure, _ record: StatementRecord, _ outline: StatementOutline
    ) -> Bool {
        switch error.code & 0xff {
        // A statement that waits in vain for a lock hasn't started.
        case 5: outline.kind == .begin || record.changes == 0 && (open == nil || record.pages == 0)
        // Without memory or space, after an input/output error and if it is interrupted, SQLite may roll back the
        // transaction.
        case 7, 9, 10, 13: record.pages == 0 && outline.isQuery
        // A constraint violation undoes only the statement, unless the statement says otherwise.
        case 19: record.changes == 0 && !record.sql.lowercased().contains("rollback")
        default: record.pages == 0 && record.changes == 0
        }
    }

    private mutating func addSuccess(
        _ record: StatementRecord, _ outline: StatementOutline, endedBy end: UInt64
    ) -> Bool {
        switch outline.kind {
        case .begin: begin(record, outline, endedBy: end)
        case .rollback: close()
        case .savepoint:
            if open == nil {
                begin(record, outline, endedBy: end)
                beganWithSavepoint = true
            } else {
                open?.add(pagesOf: record)
            }
            savepoints.begin(outline.table, after: open?.records.count ?? 0)
        case .rollbackTo:
            guard let count = savepoints.rollBack(to: outline.table) else {
                open?.isKnown = false
                return record.pages != nil
            }
            open?.keepFirst(count)
            open?.add(pagesOf: record)
            return true
        case .release:
            if savepoints.release(outline.table) {
                if savepoints.isEmpty, beganWithSavepoint {
                    commit(record, endedBy: end)
                } else {
                    open?.add(pagesOf: record)
                }
                return true
            }
            return commitUnknown(record, endedBy: end)
        case .commit where record.leftOpen == true: open?.add(pagesOf: record)
        case .commit:
            guard open != nil else { return commitUnknown(record, endedBy: end) }
            commit(record, endedBy: end)
        case .walMode, .insert, .update, .delete, .definition, .setting, .maintenance, .other:
            let isElsewhere = outline.isElsewhere || outline.table.map(otherTables.contains) ?? false
            let mayWrite = !isElsewhere && record.mayWrite(outline)
            if open != nil {
                open?.add(pagesOf: record)
                if mayWrite { open?.add(record, outline, endedBy: end) }
            } else if mayWrite {
                begin(record, outline, endedBy: end)
                open?.add(record, outline, endedBy: end)
                commit(record, endedBy: end)
            } else if !outline.isQuery {
                emptyCommits += 1
            }
        }
        return true
    }

    private mutating func begin(
        _ record: StatementRecord, _ outline: StatementOutline, endedBy end: UInt64
    ) {
        close()
        open = .init(connection: record.connection, start: record.order)
        open?.add(pagesOf: record)
        if outline.beginsWriting { open?.locked = end }
    }

    private mutating func close() {
        open = nil
        savepoints = Savepoints()
        beganWithSavepoint = false
    }

    /// Adds the open transaction to the groups, unless it wrote nothing.
    private mutating func commit(_ record: StatementRecord, endedBy end: UInt64) {
        defer { close() }
        guard var group = open else { return }
        if group.records.last?.order != record.order { group.add(commit: record) }
        group.locked = min(group.locked, end)
        group.end = record.order
        let hasNone = group.pages == 0 || group.pages == nil && group.isKnown && group.records.isEmpty
        if hasNone || record.versions == 0 {
            emptyCommits += 1
            return
        }
        group.start = group.records.first?.order ?? group.start
        group.isMeasured = record.pages != nil || record.versions != nil
        if let versions {
            if versions == 1 { group.followsOwn = true }
            if versions > 1 + emptyCommits { group.followsOwn = false }
        }
        versions = 0
        emptyCommits = 0
        groups.append(group)
    }

    /// Adds a transaction whose statements are unknown.
    ///
    /// - Returns: False if it is unknown whether there is one.
    private mutating func commitUnknown(_ record: StatementRecord, endedBy end: UInt64) -> Bool {
        guard record.pages != nil || record.versions != nil else { return false }
        guard record.pages != 0 else { return true }
        open = .init(connection: record.connection, start: record.order)
        open?.isKnown = false
        commit(record, endedBy: end)
        return true
    }
}

extension StatementRecord {
    fileprivate func mayWrite(_ outline: StatementOutline) -> Bool {
        switch outline.kind {
        case .walMode: false
        case .definition, .setting, .maintenance: true
        default: changes != 0 && !(changes == nil && outline.kind == .other)
        }
    }
}
