internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that violate a declared foreign key, whether SQLite enforces it or not.
enum ForeignKeyViolation: FindingRule {
    static let code = Finding.Code.foreignKeyViolation

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let readTables = store.relevance(to: failure.message).readTables
        var findings: [Finding] = []
        for table in store.tables {
            for reference in try Reference.declared(
                by: table, in: store.schema, of: store.connection)
            {
                // A violation in tables that the assertion didn't read may be there in runs that pass, too.
                let isConcerned =
                    readTables.isEmpty || readTables.contains(folded(table.name))
                    || readTables.contains(folded(reference.parent))
                    || failure.message.text.contains("FOREIGN KEY")
                for dangling in try DanglingReference.all(of: reference, in: store) {
                    let origin = dangling.origin(in: store)
                    findings.append(
                        Finding(
                            code: code, title: dangling.title,
                            confidence: isConcerned ? .certain : .possible, store: store.name,
                            rows: dangling.rows + dangling.parents, transaction: origin.transaction,
                            statement: origin.statement?.record,
                            explanation: dangling.explanation(origin, in: store),
                            query: reference.danglingRows,
                            relevance: dangling.step == nil ? 0 : 20))
                }
            }
        }
        return findings
    }
}
