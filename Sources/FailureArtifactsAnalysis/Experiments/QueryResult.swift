internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows that a query returns in one state of a store.
struct QueryResult: Equatable {
    var columns: [String] = []
    var rows: [[StoredValue]] = []
    /// True if there is always one row, so that the number of rows says nothing.
    var isAggregate = false
    /// True if the query orders its rows.
    var isSorted = false

    static let rowLimit = 1000

    /// Runs a query with some settings switched on; nil if the statement writes, has other parameters, or returns too
    /// many rows.
    static func of(
        _ sql: String, _ values: [Value], with settings: [String] = [],
        on connection: borrowing Connection
    ) throws(SQLiteError) -> QueryResult? {
        for setting in settings { try connection.execute("PRAGMA \(setting) = ON") }
        defer { for setting in settings { try? connection.execute("PRAGMA \(setting) = OFF") } }
        let statement = try connection.prepare(sql)
        guard statement.isReadOnly, statement.parameterCount == values.count else { return nil }
        try statement.bind(values)
        let query = SQLText(sql)
        var result = QueryResult(
            columns: statement.columnNames, isAggregate: query.isAggregate,
            isSorted: query.tokens.contains { $0.depth == 0 && $0.isWord("order") })
        while try statement.step() {
            guard result.rows.count < rowLimit else { return nil }
            result.rows.append(
                (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 4096) })
        }
        return result
    }

    /// Runs a query on a file of untrusted content; nil if it fails, too.
    static func of(
        _ sql: String, _ values: [Value], inFile path: String, _ limits: UntrustedLimits,
        _ budget: StepBudget
    ) -> QueryResult? {
        guard let connection = try? Connection.untrusted(path, limits: limits) else { return nil }
        budget.limit(connection)
        return (try? of(sql, values, on: connection)) ?? nil
    }

    /// Returns the index of the column of a property, such as `folder_id` of `folderID`; nil without one.
    func column(of property: String) -> Int? {
        columns.firstIndex { ResultPart.label($0) == ResultPart.label(property) }
    }

    /// Returns the index of the only column that has numbers, or texts, as the values are; nil if there isn't only one.
    func onlyColumn(like values: [FailureMessage.Value]) -> Int? {
        let areNumbers = values.allSatisfy { $0.number != nil }
        let found = columns.indices.filter { column in
            rows.contains {
                // A column of texts may have numbers, too.
                areNumbers
                    ? ($0[column].number ?? $0[column].string.flatMap(Double.init)) != nil
                    : $0[column].string != nil
            }
        }
        return found.count == 1 ? found[0] : nil
    }

    /// True if the result is one value.
    var isValue: Bool { columns.count == 1 && rows.count == 1 }
}

extension Array {
    /// The element at an index; nil beyond the end.
    subscript(safe index: Int) -> Element? { indices.contains(index) ? self[index] : nil }
}
