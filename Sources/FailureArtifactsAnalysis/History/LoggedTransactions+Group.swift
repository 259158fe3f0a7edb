internal import FailureArtifactsBundle

extension LoggedTransactions {
    /// A transaction of a history.
    package struct Transaction {
        /// The number in its history; nil if unknown.
        package var number: Int?
        /// The number of pages that it wrote.
        package var pages: Int
        /// The changes that it made; nil if they are unknown, so that any group's statements can have caused them.
        package var changes: StateChanges?

        package init(number: Int? = nil, pages: Int, changes: StateChanges?) {
            self.number = number
            self.pages = pages
            self.changes = changes
        }
    }

    /// Statements that were committed together.
    struct Group {
        var connection: UInt64
        /// The statements that changed something or may have, without `BEGIN` and `COMMIT`.
        private(set) var records: [StatementRecord] = []
        private(set) var outlines: [StatementOutline] = []
        /// The number of the first statement that wrote.
        var start: UInt64
        /// The number of the statement that committed the group.
        var end: UInt64 = 0
        /// The number of a statement before whose start the group had locked out other writers.
        var locked: UInt64 = .max
        /// The number of pages that the group wrote; nil if unknown.
        private(set) var pages: Int? = 0
        /// The number of rows that the commit itself changed, as virtual tables do; nil if unknown.
        private(set) var commitChanges: Int? = 0
        /// True if the connection's previous group directly precedes this one, false if another connection committed in
        /// between; nil if unknown.
        var followsOwn: Bool?
        /// False if the statements may be others; then they aren't returned.
        var isKnown = true
        /// True if the log shows that the group wrote pages or may have.
        var isMeasured = false

        init(connection: UInt64, start: UInt64) {
            self.connection = connection
            self.start = start
        }

        /// True if the group may have written nothing, so that the history may have no transaction for it.
        var maySkip: Bool {
            pages == nil
                && (!isKnown || outlines.allSatisfy { $0.mayHaveNoEffect || $0.kind == .maintenance })
        }

        /// True if the group must precede a group of another connection, which waited for its end or started later.
        func precedes(_ other: Group) -> Bool { locked <= other.end }

        mutating func add(_ record: StatementRecord, _ outline: StatementOutline, endedBy end: UInt64) {
            records.append(record)
            outlines.append(outline)
            let hasLocked = outline.mayWrite ? (record.changes ?? 0) > 0 : !outline.mayHaveNoEffect
            if hasLocked { locked = min(locked, end) }
        }

        mutating func add(pagesOf record: StatementRecord) {
            pages = pages.flatMap { pages in record.pages.map { pages + $0 } }
        }

        mutating func add(commit record: StatementRecord) {
            add(pagesOf: record)
            commitChanges = record.changes
        }

        /// Removes the statements that a savepoint has undone.
        mutating func keepFirst(_ count: Int) {
            records.removeSubrange(min(count, records.count)...)
            outlines.removeSubrange(min(count, outlines.count)...)
        }
    }
}

extension LoggedTransactions.Group {
    /// True if the group can be a transaction.
    func fits(_ transaction: LoggedTransactions.Transaction) -> Bool {
        guard pages == nil || pages == transaction.pages else { return false }
        guard isKnown, let changes = transaction.changes else { return true }
        return ChangeCheck(of: changes, by: self).isPossible
    }
}
