internal import FailureArtifactsBundle
internal import FailureArtifactsReading

extension Blame: Encodable {
    private enum CodingKeys: String, CodingKey {
        case store, table, transactionCount, reason, logNote = "log", isCut = "cut", rows, transactions
        case otherStatements = "statements"
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(table, forKey: .table)
        try container.encodeIfPresent(transactionCount, forKey: .transactionCount)
        try container.encodeIfPresent(reason, forKey: .reason)
        try container.encodeIfPresent(logNote, forKey: .logNote)
        if isCut { try container.encode(true, forKey: .isCut) }
        try container.encode(rows, forKey: .rows)
        try container.encode(transactions, forKey: .transactions)
        if transactionCount == nil { try container.encode(otherStatements, forKey: .otherStatements) }
    }
}

extension Blame.Row: Encodable {
    private enum CodingKeys: String, CodingKey {
        case key, values
    }

    /// Encodes the key and the values at the failure, which are null for a row that didn't exist then.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(JSONCell.object(key.map { ($0.column, $0.value) }), forKey: .key)
        try container.encode(
            values.map { JSONCell.object($0.map { ($0.name, $0.value) }) }, forKey: .values)
    }
}

extension Blame.Transaction: Encodable {
    private enum CodingKeys: String, CodingKey {
        case transaction, isOpen = "open", rows, statements
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        if let number {
            try container.encode(number, forKey: .transaction)
        } else {
            try container.encode(true, forKey: .isOpen)
        }
        try container.encode(rows, forKey: .rows)
        try container.encode(statements, forKey: .statements)
    }
}

extension JSONCell {
    /// Returns the values of columns as an object; the first one counts if names are equal.
    fileprivate static func object(_ cells: [(String, StoredValue)]) -> [String: JSONCell] {
        Dictionary(
            cells.map { ($0.0, JSONCell($0.1)) }, uniquingKeysWith: { first, _ in first })
    }
}

/// The result of a bisection as JSON.
package struct BisectionReport: Encodable {
    private struct Query: Encodable {
        var columns: [String]
        var before: [[JSONCell]]?
        var beforeCount: Int?
        var after: [[JSONCell]]
        var afterCount: Int
        /// True if a result may have more rows than were counted; otherwise absent.
        var moreRows: Bool?
    }

    private enum CodingKeys: String, CodingKey {
        case store, sql, isComparison = "changed", transactionCount, result, transaction, states
        case healedBy, changedAfter, query, changes, rows, rowCount, statements
    }

    private static let maximumRows = 100

    private let store: String
    private let sql: String
    private let isComparison: Bool
    private let bisection: Bisection
    private let transaction: Timeline.Step?

    package init(
        store: String, sql: String, isComparison: Bool, _ bisection: Bisection,
        _ transaction: Timeline.Step?
    ) {
        self.store = store
        self.sql = sql
        self.isComparison = isComparison
        self.bisection = bisection
        self.transaction = transaction
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encode(sql, forKey: .sql)
        try container.encode(isComparison, forKey: .isComparison)
        try container.encode(bisection.transactions, forKey: .transactionCount)
        try container.encode(Self.name(of: bisection.first), forKey: .result)
        try container.encode(
            bisection.states.map { [$0.lowerBound, $0.upperBound] }, forKey: .states)
        if isComparison { try container.encode(bisection.changes, forKey: .changedAfter) }
        guard let first = bisection.first, let after = bisection.after else { return }
        if case .transaction(let number) = first {
            try container.encode(number, forKey: .transaction)
        }
        switch bisection.healed {
        case .transaction(let number): try container.encode(number, forKey: .healedBy)
        case .openTransaction: try container.encode("open-transaction", forKey: .healedBy)
        case .start, nil: break
        }
        func rows(_ result: Bisection.Result) -> [[JSONCell]] {
            result.rows.map { $0.map { JSONCell($0) } }
        }
        try container.encode(
            Query(
                columns: after.columns.isEmpty ? bisection.before?.columns ?? [] : after.columns,
                before: bisection.before.map(rows), beforeCount: bisection.before?.rowCount,
                after: rows(after), afterCount: after.rowCount,
                moreRows: (bisection.before?.isCounted ?? true) && after.isCounted ? nil : true),
            forKey: .query)
        guard let transaction else { return }
        try container.encode(transaction.changes, forKey: .changes)
        try container.encode(Array(transaction.rows.prefix(Self.maximumRows)), forKey: .rows)
        try container.encode(
            transaction.tables.reduce(0) { $0 + $1.counts.total }, forKey: .rowCount)
        try container.encode(transaction.statements.map(\.record), forKey: .statements)
    }

    private static func name(of place: Bisection.Place?) -> String {
        switch place {
        case .start: "before-first-transaction"
        case .transaction: "transaction"
        case .openTransaction: "open-transaction"
        case nil: "none"
        }
    }
}
