package import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// An assertion about the rows that a query returns.
package struct RowAssertion: Equatable, Sendable {
    /// The compared part of the rows, with its value.
    package enum Part: Equatable, Sendable {
        /// Some columns of all rows.
        case rows(columns: [Int], [[StoredValue]], isOrdered: Bool)
        /// A value of the first row; NULL without a row.
        case value(column: Int, StoredValue)
        case count(Int)
        case isEmpty(Bool)
        /// True if a column has a value.
        case contains(StoredValue, column: Int, Bool)
    }

    /// The query with the values of its parameters.
    package let sql: String
    /// The part with the expected value.
    package let part: Part
    /// True if any value but the one of ``part`` is right.
    package var isNegated = false
    /// The folded names of the tables that the query reads; empty for a query that looks for wrong rows.
    var tables: Set<String> = []
    /// The part with the value at the failure; nil for a query that looks for wrong rows.
    var failed: Part?

    /// True if the assertion is about a query of the failed test.
    package var isOfTest: Bool { failed != nil }
    /// True if the failed test is known to have compared the query's result.
    package var isSure = true

    /// Asserts that a query returns no row.
    init(noRowOf sql: String) {
        // A source file has the same line ends throughout.
        self.sql = sql.replacing("\r\n", with: "\n")
        part = .isEmpty(true)
    }

    init(_ sql: String, _ part: Part) {
        self.sql = sql
        self.part = part
    }

    /// Returns the part with the value that it has in a store; nil if the query isn't one, or returns too many rows.
    func value(in connection: borrowing Connection) throws(SQLiteError) -> Part? {
        let query = try connection.prepare(sql)
        guard query.isReadOnly else { return nil }
        if case .isEmpty = part { return .isEmpty(try !query.step()) }
        var rows: [[StoredValue]] = []
        while try query.step() {
            guard rows.count < Self.rowLimit else { return nil }
            rows.append((0..<query.columnCount).map { query.storedValue(at: $0, limit: 4096) })
        }
        return value(of: rows)
    }

    private static let rowLimit = 1000

    private func value(of found: [[StoredValue]]) -> Part {
        switch part {
        case .rows(let columns, _, let isOrdered):
            let rows = found.map { row in columns.map { row[safe: $0] ?? StoredValue(.null) } }
            return Self.rows(columns, rows, isOrdered: isOrdered)
        case .value(let column, _):
            return .value(column: column, found.first?[safe: column] ?? StoredValue(.null))
        case .count: return .count(found.count)
        case .isEmpty: return .isEmpty(found.isEmpty)
        case .contains(let value, let column, _):
            return .contains(value, column: column, found.contains { $0[safe: column] == value })
        }
    }

    /// Makes the part for rows; the order doesn't matter of rows that the code after the query has sorted.
    static func rows(_ columns: [Int], _ rows: [[StoredValue]], isOrdered: Bool) -> Part {
        let unordered = Set(rows).sorted { "\($0)" < "\($1)" }
        return .rows(columns: columns, isOrdered ? rows : unordered, isOrdered: isOrdered)
    }

    func holds(for value: Part) -> Bool { (value == part) != isNegated }

    /// True if the whole expected value is known.
    var isComplete: Bool {
        switch part {
        case .rows(_, let rows, _): !rows.joined().contains(where: \.isCut)
        case .value(_, let value), .contains(let value, _, _): !value.isCut
        case .count, .isEmpty: true
        }
    }
}
