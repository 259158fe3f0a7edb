internal import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite

extension Timeline {
    static func row(
        _ change: RowChange, in table: ChangedTable, columns: Set<String>? = nil
    ) -> Finding.Row {
        let cells = change.cells.filter { columns?.contains(folded($0.column)) ?? true }
        return Finding.Row(
            table: table.table.name,
            key: Finding.Row.key(table.table.keyNames, change.key),
            change: .init(change.kind), columns: cells)
    }

    /// Returns the columns that identify a row of a table: its primary key, or the rowid.
    func keyColumns(of table: String) -> [String] { schema.keyColumns(of: table) }

    /// The application's tables that have rows of their own.
    var tables: [TableShape] { schema.applicationTables }

    func rows(
        _ sql: String, _ values: [Value] = [], limit: Int = 100
    ) throws(SQLiteError) -> [[StoredValue]] {
        let statement = try connection.prepare(sql)
        try statement.bind(values)
        var rows: [[StoredValue]] = []
        while rows.count < limit, try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
        }
        return rows
    }

    func count(_ sql: String) throws(SQLiteError) -> Int64 { try connection.integer(of: sql) }
}

extension Finding.Row.Change {
    package init(_ kind: RowChange.Kind) {
        self =
            switch kind {
            case .inserted: .inserted
            case .updated: .updated
            case .deleted: .deleted
            }
    }
}

extension RowChange {
    func cell(_ column: String) -> Cell? { cells.first { folded($0.column) == folded(column) } }
}

extension StoredValue {
    /// The value to bind in a query; nil for a value that was cut.
    package var bindable: Value? {
        if isCut { return nil }
        return switch content {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob(bytes)
        }
    }

    var isNull: Bool { content == .null }

    var string: String? {
        guard case .text(let bytes) = content else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    var number: Double? {
        switch content {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}

// The transactions that were rolled back, or that were open at the failure.
extension Timeline {
    /// A transaction that was rolled back, or the part of one since a savepoint.
    package struct RolledBackTransaction {
        /// The statements, from the one that began it to the one that ended it.
        package let statements: [Statement]
        var end: Statement { statements[statements.count - 1] }
        package var isWhole: Bool { end.outline.kind != .rollbackTo }
        var writes: [Statement] { statements.filter(\.hasChangedRows) }
        var error: Statement? { statements.last { $0.record.hasFailed && $0.order != end.order } }
    }

    /// Returns the test's transactions that were rolled back, in the order in which they ended.
    package func rolledBackTransactions() -> [RolledBackTransaction] {
        var found: [RolledBackTransaction] = []
        for transaction in transactions {
            let own = transaction.statements.map { statements[$0] }.filter(\.isOfTest)
            for (index, statement) in own.enumerated() {
                let isLast = transaction.end == .rolledBack && index == own.count - 1
                guard statement.outline.kind == .rollbackTo || isLast else { continue }
                let start =
                    isLast && statement.outline.kind != .rollbackTo
                    ? 0
                    : own[..<index].lastIndex {
                        $0.outline.kind == .savepoint && $0.outline.table == statement.outline.table
                    }
                guard let start else { continue }
                found.append(RolledBackTransaction(statements: Array(own[start...index])))
            }
        }
        return found.sorted { $0.end.order < $1.end.order }
    }

    /// The transactions with changes that were open at the failure, each from the statement that began it.
    ///
    /// Closing a connection ends its transaction, too, which the log doesn't show. But only one connection can write at
    /// a time.
    var openTransactions: [[Statement]] {
        guard store.transactionOpen != false || bundle.hasOtherWriter(of: store),
            store.statements?.reason == nil || store.transactionOpen == true
        else { return [] }
        return transactions.filter { $0.end == .open }.map { $0.statements.map { statements[$0] } }
            .filter { open in
                guard let first = open.first(where: \.hasChangedRows) else { return false }
                return !statements.contains {
                    $0.order > first.order && $0.record.connection != first.record.connection
                        && $0.hasChangedRows && !$0.outline.isElsewhere
                }
            }
    }

    var isKnownToBeOpen: Bool {
        store.transactionOpen == true || store.committedEntry != nil || bundle.hasOtherWriter(of: store)
    }
}

extension BundleReader {
    /// True if the capture found that another connection was writing to a store.
    fileprivate func hasOtherWriter(of store: BundleMetadata.Store) -> Bool {
        metadata.warnings.contains { warning in
            (warning.is(.otherWriter) || warning.is(.halfTransaction))
                && warning.parameters["path"] == store.originalPath.map { .text($0) }
        }
    }
}
