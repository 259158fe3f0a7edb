internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows of a column that differ from the others in their type, in being NULL, or in their form.
enum Outliers {
    /// The maximum number of rows that are outliers.
    static let maximum = 5

    /// Returns the finding for a few rows of a table.
    ///
    /// - Parameters:
    ///   - code: The kind of finding.
    ///   - condition: The SQL condition that selects the rows.
    ///   - column: The column.
    ///   - table: The table.
    ///   - store: The store.
    ///   - title: Returns the title for a number of rows.
    ///   - explanation: The evidence.
    ///   - relevance: The strength of the evidence.
    ///   - likelyFrom: The relevance from which the finding is likely; nil for never.
    /// - Returns: The finding; nil if the rows were there before the test's first known transaction.
    /// - Throws: An error if a query fails.
    static func finding(
        _ code: Finding.Code, where condition: String, column: TableShape.Column, of table: TableShape,
        in store: StoreEvidence, title: (Int64) -> String, explanation: String,
        relevance: Int, likelyFrom: Int?
    ) throws -> Finding? {
        let key = store.keyColumns(of: table.name)
        let selected = (key + [column.name]).map(quotedIdentifier).joined(separator: ", ")
        let found = try store.rows(
            "SELECT \(selected) FROM \(quotedIdentifier(table.name)) WHERE \(condition)",
            limit: maximum + 1)
        guard !found.isEmpty, found.count <= maximum else { return nil }
        var rows: [Finding.Row] = []
        var last: Int?
        for values in found {
            let rowKey = Array(values.prefix(key.count))
            let value = values[key.count]
            let change = store.lastStep(
                where: { _, change in
                    change.key == rowKey && change.kind != .deleted
                        && change.cell(column.name)?.new == value
                }, of: table.name)
            if let change { last = max(last ?? 0, change.index) }
            if change == nil, !store.steps.isEmpty { continue }
            rows.append(
                Finding.Row(
                    table: table.name, key: Finding.Row.key(key, rowKey),
                    change: change.map { .init($0.row.kind) } ?? .present,
                    columns: [
                        change?.row.cell(column.name) ?? .init(column: column.name, old: nil, new: value)
                    ]))
        }
        guard !rows.isEmpty else { return nil }
        var origin = store.origin(inStep: last, of: table.name, by: [.insert, .update])
        if store.steps.isEmpty, let row = rows.last {
            origin.statement =
                store.insertion(of: row.key.map(\.value), in: table, unchanged: [column.name])
                ?? origin.statement
        }
        return Finding(
            code: code, title: title(Int64(rows.count)), confidence: .possible, store: store.name,
            rows: rows,
            transaction: origin.transaction, statement: origin.statement?.record,
            explanation: explanation,
            relevance: relevance, likelyFrom: likelyFrom)
    }

    /// The columns that outliers are looked for in: those that are neither keys nor generated.
    static func columns(of table: TableShape) -> [TableShape.Column] {
        Array(table.columns.filter { $0.keyPosition == 0 && !$0.isVirtual }.prefix(40))
    }
}
