internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that violate a declared foreign key, whether SQLite enforces it or not.
enum ForeignKeyViolation: FindingRule {
    static let code = Finding.Code.foreignKeyViolation

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            for reference in try references(of: table, in: store) {
                for dangling in try DanglingReference.all(of: reference, in: store) {
                    let origin = dangling.origin(in: store)
                    findings.append(
                        Finding(
                            code: code, title: dangling.title, confidence: .certain, store: store.name,
                            rows: dangling.rows + dangling.parents, transaction: origin.transaction,
                            statement: origin.statement?.record,
                            explanation: dangling.explanation(origin),
                            relevance: dangling.step == nil ? 0 : 20))
                }
            }
        }
        return findings
    }

    /// Returns the declared foreign keys of a table whose parents exist.
    static func references(
        of table: TableShape, in store: StoreEvidence
    ) throws -> [Reference] {
        // The columns of the result: id, seq, table, from, to, on_update, on_delete, match.
        let rows = try store.rows(
            "PRAGMA foreign_key_list(\(quotedIdentifier(table.name)))", limit: 1000)
        var references: [Reference] = []
        for (_, parts) in Dictionary(grouping: rows, by: { $0[0].number ?? 0 }).sorted(by: {
            $0.key < $1.key
        }) {
            let parts = parts.sorted { ($0[1].number ?? 0) < ($1[1].number ?? 0) }
            guard let parent = parts[0][2].string, let shape = store.schema.tables[folded(parent)] else {
                continue
            }
            let columns = parts.compactMap { $0[3].string }
            // Without columns, a foreign key refers to the primary key.
            let named = parts.compactMap { $0[4].string }
            let targets = named.count == columns.count ? named : store.keyColumns(of: shape.name)
            guard targets.count == columns.count else { continue }
            references.append(
                Reference(
                    table: table.name, columns: columns, parent: shape.name, parentColumns: targets))
        }
        return references
    }
}
