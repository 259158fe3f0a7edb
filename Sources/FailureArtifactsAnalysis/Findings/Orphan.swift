internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows with an undeclared reference, recognized by name and type, that a transaction of this test broke.
enum Orphan: FindingRule {
    static let code = Finding.Code.orphan

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let readTables = store.asked.tables
        let optionalTables = store.asked.optionalTables
        var findings: [Finding] = []
        for table in store.tables {
            let declared = try Reference.declared(
                by: table, in: store.schema, of: store.connection)
            for column in table.columns
            where !declared.contains(where: { $0.columns.contains(column.name) }) {
                guard let reference = Reference.suggested(by: column, of: table, in: store.schema) else {
                    continue
                }
                let name = quotedIdentifier(column.name)
                let parent = quotedIdentifier(reference.parent)
                let key = quotedIdentifier(reference.parentColumns[0])
                // A reference that most rows obey is one.
                let total = try store.count(
                    "SELECT count(*) FROM \(quotedIdentifier(table.name)) WHERE \(name) IS NOT NULL")
                let matching = try store.count(
                    "SELECT count(*) FROM \(quotedIdentifier(table.name)) WHERE \(name) IN (SELECT \(key) FROM \(parent))"
                )
                guard matching < total else { continue }
                for dangling in try DanglingReference.all(of: reference, in: store) {
                    // Without a history, the store at the failure must be evidence enough.
                    let isBrokenHere = dangling.step.map { !store.steps[$0].isEarlier } ?? false
                    guard isBrokenHere || (store.steps.isEmpty && matching > 0) else { continue }
                    let isObeyed =
                        (matching * 2 >= total
                            || dangling.isParentRemoved && (matching > 0 || total == 1))
                        && !dangling.isNone
                    // A query misses a row's parent if it joins the tables. A row that outlived its parent is seen
                    // without it, too.
                    let isRead =
                        readTables.contains(folded(table.name))
                        && (dangling.isParentRemoved || readTables.contains(folded(reference.parent)))
                    let isMeant =
                        try optionalTables.contains(folded(reference.parent))
                        || dangling.isCopy(in: store)
                    let origin = dangling.origin(in: store)
                    findings.append(
                        Finding(
                            code: code, title: dangling.title,
                            confidence: isBrokenHere && isObeyed && isRead && !isMeant
                                ? .likely : .possible, store: store.name,
                            rows: dangling.rows + dangling.parents,
                            transaction: origin.transaction, statement: origin.statement?.record,
                            explanation: dangling.explanation(origin, in: store)
                                + " No foreign key is declared; \(matching) of \(total) rows have a match.",
                            query: reference.danglingRows,
                            evidence: isObeyed ? .brokenRule : .other))
                }
            }
        }
        return findings
    }
}
