internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that violate a declared foreign key, whether SQLite enforces it or not.
enum ForeignKeyViolation: FindingRule {
    static let code = Finding.Code.foreignKeyViolation

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            for reference in try Reference.declared(
                by: table, in: store.schema, of: store.connection)
            {
                for dangling in try DanglingReference.all(of: reference, in: store) {
                    let origin = dangling.origin(in: store)
                    var finding = Finding(
                        code: code, title: dangling.title, confidence: .possible, store: store.name,
                        rows: dangling.rows + dangling.parents, transaction: origin.transaction,
                        statement: origin.statement?.record,
                        explanation: dangling.explanation(origin, in: store),
                        query: reference.danglingRows, evidence: .brokenRule)
                    finding.confidence = confidence(finding, dangling, in: store, failure)
                    findings.append(finding)
                }
            }
        }
        return findings
    }

    /// Returns the degree of certainty that a violation concerns the failure.
    ///
    /// That rows violate the constraint is certain. Without enforcement, they may be meant to outlive their parents.
    private static func confidence(
        _ finding: Finding, _ dangling: DanglingReference, in store: StoreEvidence,
        _ failure: FailureEvidence
    ) -> Finding.Confidence {
        if failure.message.text.contains("FOREIGN KEY") { return .certain }
        let readTables = store.asked.tables
        let tables = [folded(dangling.reference.table), folded(dangling.reference.parent)]
        let read = tables.filter(readTables.contains)
        // A violation in tables that the assertion didn't read, or from before the test, may be there in runs that
        // pass, too. Without a history, it isn't known when the reference was broken.
        let isOlder = dangling.step.map { store.steps[$0].isEarlier } ?? !store.steps.isEmpty
        if isOlder || read.isEmpty && !readTables.isEmpty { return .possible }
        if store.enforcesForeignKeys { return .certain }
        // A join of both tables misses the rows.
        return read.count == tables.count ? .likely : .possible
    }
}

extension StoreEvidence {
    /// True if a connection is known to enforce foreign keys, so that rows that violate one aren't meant to.
    fileprivate var enforcesForeignKeys: Bool {
        statements.contains { statement in
            let words = statement.parts.words
            return words.first == "pragma" && words.contains("foreign_keys")
                && words.contains { ["on", "1", "true", "yes"].contains($0) }
        }
    }
}
