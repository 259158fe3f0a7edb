internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

extension LoggedTransactions {
    /// A transaction of a history.
    package struct Transaction {
        /// The number of pages that it wrote.
        package var pages: Int
        /// The changes that it made; nil if they are unknown, so that any group's statements can have caused them.
        package var changes: StateChanges?

        package init(pages: Int, changes: StateChanges?) {
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
        return fits(changes)
    }

    /// True if the group's statements can have caused the changes.
    private func fits(_ changes: StateChanges) -> Bool {
        // What a savepoint undid, or an update to the same value in an index, changes pages but no row.
        if isMeasured, outlines.allSatisfy(\.mayHaveNoEffect), changes.isEmpty {
            return true
        }
        let definitions = outlines.indices.filter { outlines[$0].kind == .definition }
        guard changes.schema.allSatisfy({ isExplained($0, by: definitions) }) else { return false }
        // Objects that are created and dropped again leave the schema unchanged.
        let passing = definitions.filter { index in
            guard let name = outlines[index].table else { return false }
            return outlines.contains { $0.creates && $0.table == name }
                && outlines.contains { $0.drops && $0.table == name }
        }
        let lasting = definitions.filter { !outlines[$0].mayHaveNoEffect && !passing.contains($0) }
        guard lasting.isEmpty || !changes.schema.isEmpty else { return false }
        if changes.userVersion != nil {
            let isSet = zip(records, outlines).contains {
                $0.1.kind == .setting && $0.0.sql.lowercased().contains("user_version")
            }
            guard isSet else { return false }
        }
        let writes = outlines.indices.filter { (records[$0].changes ?? 1) > 0 && outlines[$0].mayWrite }
        // A virtual table is created and dropped with its shadow tables.
        let tables = changes.tables.filter { table in
            !changes.schema.contains {
                $0.type == "table" && ($0.name == table.name || table.name.hasPrefix($0.name + "_"))
            }
        }
        if writes.isEmpty {
            let isSeen = !changes.schema.isEmpty || changes.userVersion != nil
            let isUnseen = outlines.contains { $0.kind == .maintenance || $0.kind == .setting }
            return tables.isEmpty && (isSeen || !passing.isEmpty || isUnseen)
        }
        // One of several statements may have had no effect.
        let certain =
            isMeasured && outlines.count > 1 ? writes.filter { !outlines[$0].mayHaveNoEffect } : writes
        let targets = certain.map { outlines[$0].table }
        func touches(_ target: String, _ table: String) -> Bool {
            // A virtual table has shadow tables, whose names start with its name.
            let table = table.lowercased()
            return table == target || table.hasPrefix(target + "_")
        }
        func hasSideEffects(_ target: String) -> Bool {
            changes.withSideEffects.contains(folded(target))
        }
        // A migration fills a new table and then gives it another's name.
        let created = Set(definitions.filter { outlines[$0].creates }.compactMap { outlines[$0].table })
        let touched = targets.map { target in
            target.map { target in
                created.contains(target) || hasSideEffects(target)
                    || changes.tables.contains { touches(target, $0.name) }
            } ?? true
        }
        // A single statement must have changed its table. Of several statements, one may undo another.
        let isUndone = isMeasured && (certain.isEmpty || tables.isEmpty)
        guard touched.count == 1 ? touched[0] : touched.contains(true) || isUndone else { return false }
        if writes.count == 1, let target = outlines[writes[0]].table, !hasSideEffects(target),
            let table = tables.first(where: { $0.name.lowercased() == target }), table.problem == nil
        {
            switch outlines[writes[0]].kind {
            case .insert:
                if !outlines[writes[0]].mayHaveNoEffect, table.inserted == 0 { return false }
            case .update:
                if table.updated == 0, table.inserted == 0 || table.deleted == 0 { return false }
            case .delete: if table.deleted == 0 { return false }
            default: break
            }
        }
        // SQLite's change count doesn't include rows that REPLACE removes.
        let mayReplace = outlines.indices.contains { index in
            if outlines[index].table.map(hasSideEffects) == true { return true }
            return switch outlines[index].kind {
            case .insert: outlines[index].mayHaveNoEffect
            case .update: folded(records[index].sql).contains("replace")
            default: false
            }
        }
        guard !mayReplace, records.allSatisfy({ $0.changes != nil }) else { return true }
        let counted = records.reduce(Int64(commitChanges ?? 0)) { $0 + Int64($1.changes ?? 0) }
        // A row that gets another key is a deleted one and an inserted one, which SQLite counts once.
        let mayChangeKeys = outlines.contains { [.update, .other].contains($0.kind) }
        return counted
            >= tables.reduce(0) { total, table in
                total + table.updated
                    + (mayChangeKeys
                        ? max(table.inserted, table.deleted) : table.inserted + table.deleted)
            }
    }

    /// True if one of the definitions can have changed an object of the schema.
    private func isExplained(_ object: StateChanges.Object, by definitions: [Int]) -> Bool {
        let name = folded(object.name)
        if name.hasPrefix("sqlite_stat"), outlines.contains(where: { $0.kind == .maintenance }) {
            return true
        }
        return definitions.contains { index in
            let outline = outlines[index]
            let sql = folded(records[index].sql)
            // A virtual table has shadow tables. A new name of a table or a column changes the text of every object
            // that mentions it. With a table, its indexes and triggers are dropped.
            return sql.contains(name) || outline.table.map { name.hasPrefix(folded($0) + "_") } ?? false
                || outline.alters && object.change == .changed
                || outline.drops && object.change == .dropped
                    && ["index", "trigger"].contains(object.type)
        }
    }
}

extension StatementOutline {
    /// True if the statement may change rows.
    ///
    /// A statement that begins with `WITH` may be of any kind.
    fileprivate var mayWrite: Bool {
        switch kind {
        case .insert, .update, .delete, .other: true
        default: false
        }
    }
}
