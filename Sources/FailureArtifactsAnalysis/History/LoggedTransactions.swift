package import FailureArtifactsBundle

/// The transactions that can be identified in a store's statement log.
package struct LoggedTransactions {
    /// Statements that were committed together.
    struct Group {
        /// The statements that changed something or may have, without `BEGIN` and `COMMIT`.
        var records: [StatementRecord]
        var outlines: [StatementOutline]

        /// The number of the first statement that wrote.
        var start: UInt64 { records.first?.order ?? 0 }
        /// The number of the statement that committed the group.
        var end: UInt64
        var connection: UInt64

        /// True if the group may have written nothing, so that the history may have no transaction for it.
        var maySkip: Bool { outlines.allSatisfy { $0.mayHaveNoEffect || $0.kind == .maintenance } }
    }

    /// The groups, in the order of their commits.
    private(set) var groups: [Group] = []
    /// True if the log contains all writes since the store switched to WAL mode.
    private(set) var isComplete = false

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
        var open: [UInt64: Group] = [:]
        // Groups up to this statement are uncertain.
        var barrier: UInt64 = 0
        var walMode: UInt64?
        for record in records {
            let outline = StatementOutline(record.sql)
            let connection = record.connection
            if let error = record.error {
                // A constraint violation undoes only the statement, unless the statement says otherwise. A statement
                // that waits in vain for a lock hasn't started.
                let isHarmless =
                    switch error.code & 0xff {
                    case 5: outline.kind == .begin || record.changes == 0 && open[connection] == nil
                    case 19: record.changes == 0 && !record.sql.lowercased().contains("rollback")
                    default: false
                    }
                if !isHarmless, outline.kind != .other {
                    barrier = record.order
                    open[connection] = nil
                }
                continue
            }
            switch outline.kind {
            case .begin:
                open[connection] = Group(records: [], outlines: [], end: 0, connection: connection)
            case .commit:
                if var group = open.removeValue(forKey: connection) {
                    group.end = record.order
                    if !group.records.isEmpty { groups.append(group) }
                } else {
                    barrier = record.order
                }
            case .rollback: open[connection] = nil
            case .rollbackTo: barrier = record.order
            case .savepoint, .release:
                // Outside a transaction, these statements begin and end one.
                if open[connection] == nil { barrier = record.order }
            case .walMode:
                if walMode == nil { walMode = record.order }
            case .insert, .update, .delete, .definition, .setting, .maintenance, .other:
                if outline.isElsewhere || !Self.mayWrite(record, outline) { continue }
                if open[connection] != nil {
                    open[connection]?.records.append(record)
                    open[connection]?.outlines.append(outline)
                } else {
                    groups.append(
                        Group(
                            records: [record], outlines: [outline], end: record.order,
                            connection: connection))
                }
            }
        }
        groups.sort { $0.end < $1.end }
        for (group, next) in zip(groups, groups.dropFirst())
        where next.connection != group.connection && next.start < group.end {
            // One group waited for the other, but the order isn't known.
            barrier = max(barrier, next.end)
        }
        if let walMode, barrier <= walMode {
            barrier = walMode
            isComplete = true
        }
        groups.removeAll { $0.end <= barrier || $0.start <= barrier }
    }

    private static func mayWrite(_ record: StatementRecord, _ outline: StatementOutline) -> Bool {
        switch outline.kind {
        case .definition, .setting, .maintenance: true
        default: record.changes != 0 && !(record.changes == nil && outline.kind == .other)
        }
    }
}

extension LoggedTransactions {
    /// Finds the statements of a history's last transactions.
    ///
    /// Considers all ways to pair the log's groups with the history's transactions, in order, where each pair matches.
    /// Returns only pairs that are the same in all of them, because a wrong answer would be worse than none.
    ///
    /// - Parameters:
    ///   - transactions: The changes of each transaction. The last one is the last before the failure.
    ///   - isWhole: True if these are all transactions of the history.
    /// - Returns: The statements of each transaction; empty for a transaction whose statements are uncertain.
    package func statements(of transactions: [StateChanges], isWhole: Bool) -> [[StatementRecord]] {
        let (n, m) = (transactions.count, groups.count)
        var result = [[StatementRecord]](repeating: [], count: n)
        // A state is the number of transactions and the number of groups that are used, counted from the end.
        let width = m + 1
        let height = min(n, m) + 1
        var fits: Set<Int> = []
        var isReached = [Bool](repeating: false, count: width * height)
        isReached[0] = true
        for j in 0..<m {
            let group = groups[m - 1 - j]
            for i in 0..<min(height, j + 1) where isReached[i * width + j] {
                if group.maySkip { isReached[i * width + j + 1] = true }
                if i + 1 < height, group.fits(transactions[n - 1 - i]) {
                    fits.insert(i * width + j)
                    isReached[(i + 1) * width + j + 1] = true
                }
            }
        }
        // Finds the states that lead to a valid end: all transactions have statements, or the log goes back no further.
        var leads = [Bool](repeating: false, count: width * height)
        let hasAll = height == n + 1 && (0...m).contains { isReached[n * width + $0] }
        let needsAll = isWhole && isComplete
        guard hasAll || !needsAll else { return result }
        for j in (0...m).reversed() {
            for i in 0..<height where isReached[i * width + j] {
                let index = i * width + j
                if i == n || (j == m && !needsAll) { leads[index] = true }
                guard j < m, i < n else { continue }
                if groups[m - 1 - j].maySkip, leads[index + 1] { leads[index] = true }
                if fits.contains(index), leads[index + width + 1] { leads[index] = true }
            }
        }
        for i in 0..<min(n, height - 1) {
            let pairs = (0..<m).filter {
                fits.contains(i * width + $0) && leads[i * width + $0] && leads[(i + 1) * width + $0 + 1]
            }
            // If the log might end before this transaction, the pair is uncertain.
            let mayEnd = i < n && leads[i * width + m]
            guard pairs.count == 1, !mayEnd else { break }
            result[n - 1 - i] = groups[m - 1 - pairs[0]].records
        }
        return result
    }
}

extension LoggedTransactions.Group {
    /// True if the group's statements can have caused the changes.
    func fits(_ changes: StateChanges) -> Bool {
        let definitions = outlines.indices.filter { outlines[$0].kind == .definition }
        let text = definitions.map { records[$0].sql }.joined(separator: "\n").lowercased()
        guard changes.schema.allSatisfy({ text.contains($0.name.lowercased()) }) else { return false }
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
        let writes = outlines.indices.filter { (records[$0].changes ?? 1) > 0 && outlines[$0].isWrite }
        let tables = changes.tables.filter { table in
            !changes.schema.contains { $0.type == "table" && $0.name == table.name }
        }
        if writes.isEmpty {
            let isSeen = !changes.schema.isEmpty || changes.userVersion != nil
            let isUnseen = outlines.contains { $0.kind == .maintenance || $0.kind == .setting }
            return tables.isEmpty && (isSeen || !passing.isEmpty || isUnseen)
        }
        let targets = writes.map { outlines[$0].table }
        func touches(_ target: String, _ table: String) -> Bool {
            // A virtual table has shadow tables, whose names start with its name.
            let table = table.lowercased()
            return table == target || table.hasPrefix(target + "_")
        }
        let touched = targets.map { target in
            target.map { target in changes.tables.contains { touches(target, $0.name) } } ?? true
        }
        // A single statement must have changed its table. Of several statements, one may undo another.
        guard writes.count == 1 ? touched[0] : touched.contains(true) else { return false }
        if writes.count == 1, let target = targets[0],
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
        guard !outlines.contains(where: { $0.kind == .insert && $0.mayHaveNoEffect }),
            records.allSatisfy({ $0.changes != nil })
        else { return true }
        let counted = records.reduce(0) { $0 + Int64($1.changes ?? 0) }
        return counted >= tables.reduce(0) { $0 + $1.inserted + $1.updated + $1.deleted }
    }
}

extension StatementOutline {
    /// True if the statement may change rows.
    ///
    /// A statement that begins with `WITH` may be of any kind.
    fileprivate var isWrite: Bool {
        switch kind {
        case .insert, .update, .delete, .other: true
        default: false
        }
    }
}
