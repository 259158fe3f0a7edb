internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The query of a finding: it returns rows if the store has what the finding describes.
struct FixtureCheck {
    /// The maximum number of rows that a query names.
    private static let rowLimit = 5
    /// The maximum number of columns of a row that a query names.
    private static let columnLimit = 6

    let finding: Finding
    /// The transaction that the finding is about; nil if it is unknown.
    let step: StoreEvidence.Step?
    let store: StoreEvidence

    /// Returns the queries, the most specific one first; empty if the finding can't be stated as one.
    func queries() -> [String] {
        [finding.query, try? ruleQuery()].compactMap(\.self)
    }

    /// Returns the query for the kind of finding; nil for other kinds.
    private func ruleQuery() throws -> String? {
        switch finding.code {
        case .notNullViolation: column.map { "typeof(\($0)) = 'null'" }.flatMap(rows)
        case .unexpectedDelete: try lostRows() ?? wrongRows()
        case .checkViolation: try wrongRows()
        // They are about statements, or about rows of which some are right.
        case .integrity, .statementFailed, .constraintFailed, .busy, .openTransaction, .rolledBack,
            .schemaError, .noEffect, .differenceFromPass, .invariantBroken, .foreignKeyViolation,
            .orphan,
            .resultChanged, .wrongQuery, .failingQuery:
            nil
        }
    }

    private var table: TableShape? {
        finding.rows.first.flatMap { store.schema.tables[folded($0.table)] }
    }

    /// The quoted name of the first column that the finding names.
    private var column: String? {
        finding.rows.first?.columns.first.map { quotedIdentifier($0.column) }
    }

    private func rows(where condition: String) -> String? {
        table.map { "SELECT * FROM \(quotedIdentifier($0.name)) WHERE \(condition)" }
    }

    /// Returns a query for the rows of the finding that were deleted.
    private func lostRows() throws -> String? {
        let deleted = finding.rows.filter { $0.change == .deleted }.prefix(Self.rowLimit)
        guard !deleted.isEmpty else { return nil }
        let queries = try deleted.compactMap { row -> String? in
            guard store.schema.tables[folded(row.table)] != nil,
                let condition = try condition(row.key.map { ($0.column, $0.value) })
            else { return nil }
            let text = try SQLLiterals(store.connection, encoding: store.schema.encoding).literal(
                StoredValue(.text(Array(row.title.utf8))))
            return "SELECT \(text) AS missing WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(quotedIdentifier(row.table)) WHERE \(condition))"
        }
        return queries.isEmpty ? nil : queries.joined(separator: "\nUNION ALL ")
    }

    /// Returns a query for the rows of the finding with the values that they have now.
    private func wrongRows() throws -> String? {
        guard let table else { return nil }
        let key = Set(store.keyColumns(of: table.name).map(folded))
        var conditions: [String] = []
        for row in finding.rows.prefix(Self.rowLimit)
        where folded(row.table) == folded(table.name)
            && [.inserted, .updated, .present].contains(row.change)
        {
            let cells = row.columns.filter { $0.new != nil && !key.contains(folded($0.column)) }
            guard !cells.isEmpty else { continue }
            var values = cells.prefix(Self.columnLimit).map { ($0.column, $0.new ?? StoredValue(.null)) }
            // A new row gets another key in a store with fewer rows.
            let isNew =
                row.change == .inserted
                || (step?.table(row.table)?.rows ?? []).contains {
                    $0.kind == .inserted && $0.key == row.key.map(\.value)
                }
            if !isNew { values = row.key.map { ($0.column, $0.value) } + values }
            if let condition = try condition(values) { conditions.append(condition) }
        }
        return conditions.isEmpty ? nil : rows(where: conditions.joined(separator: "\n   OR "))
    }

    private func condition(_ values: [(column: String, value: StoredValue)]) throws -> String? {
        let literals = try SQLLiterals(store.connection, encoding: store.schema.encoding)
        guard !values.isEmpty, !values.contains(where: { $0.value.isCut }) else { return nil }
        return try values.map { "\(quotedIdentifier($0.column)) IS \(try literals.literal($0.value))" }
            .joined(separator: " AND ")
    }
}
