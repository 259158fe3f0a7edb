internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A few rows with NULL in a column where the other rows have values.
enum NullOutlier: FindingRule {
    static let code = Finding.Code.nullOutlier

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            let columns = Outliers.columns(of: table)
            guard !columns.isEmpty else { continue }
            let counts = columns.map { "count(\(quotedIdentifier($0.name)))" }.joined(separator: ", ")
            guard
                let row = try store.rows(
                    "SELECT count(*), \(counts) FROM \(quotedIdentifier(table.name))"
                ).first,
                let total = row[0].number, total >= 3
            else { continue }
            for (column, count) in zip(columns, row.dropFirst()) {
                let nulls = total - (count.number ?? 0)
                guard nulls > 0, nulls * 3 <= total else { continue }
                let isAboutNull = failure.message.mentionsNil && !hasDeletedRows(table, of: store)
                // A column without a value in several rows is probably an optional one.
                guard isAboutNull || nulls == 1 || nulls * 8 <= total else { continue }
                var finding = try Outliers.finding(
                    code, where: "\(quotedIdentifier(column.name)) IS NULL", column: column, of: table,
                    in: store,
                    title: {
                        "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") no \(column.name)"
                    },
                    explanation:
                        "\(Int(nulls)) of \(Int(total)) rows \(nulls == 1 ? "has" : "have") NULL in \(column.name).",
                    relevance: 12 + (isAboutNull ? 30 : 0),
                    likelyFrom: isAboutNull ? 85 : nil)
                // A caller that gave the other rows values gave this one none, as for a guest without an address.
                if let record = finding?.statement,
                    isUsual(record, of: table, in: store, finding?.rows.count)
                {
                    finding?.likelyFrom = nil
                }
                if let finding { findings.append(finding) }
            }
        }
        return findings
    }

    /// True if a statement wrote more rows of a table than some.
    private static func isUsual(
        _ record: StatementRecord, of table: TableShape, in store: StoreEvidence, _ count: Int?
    ) -> Bool {
        let same = store.statements.filter {
            $0.record.sql == record.sql && $0.record.source == record.source && $0.hasChangedRows
        }
        return same.reduce(0) { $0 + ($1.record.changedRows ?? 1) } > count ?? 0
    }

    /// True if the test deleted rows of a table, so that a message about nil may concern a row that is missing.
    private static func hasDeletedRows(_ table: TableShape, of store: StoreEvidence) -> Bool {
        let hasSteps = store.steps.contains {
            !$0.isEarlier && $0.counts(of: table.name)?.deleted ?? 0 > 0
        }
        return hasSteps
            || store.testStatements.contains {
                $0.deletes(from: table.name) && $0.record.changes ?? 0 > 0
            }
    }
}
