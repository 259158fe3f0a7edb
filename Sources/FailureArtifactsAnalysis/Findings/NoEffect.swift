internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// An `UPDATE` or `DELETE` that matched no row, or that changed nothing in the rows that it matched.
enum NoEffect: FindingRule {
    static let code = Finding.Code.noEffect

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let statements = store.testStatements
        // Others of the same text had an effect, so one without may be routine.
        let effective = Set(statements.filter { ($0.record.changes ?? 0) > 0 }.map(\.record.sql))
        var findings: [Finding] = []
        for (index, statement) in statements.enumerated() {
            try store.checkTime()
            guard [.update, .delete].contains(statement.outline.kind), statement.record.error == nil,
                let table = statement.outline.table.flatMap({ store.schema.tables[$0]?.name })
            else { continue }
            let parts = statement.parts
            let step = store.step(of: statement)
            let explanation: String
            if statement.record.changes == 0 {
                // Without a condition, the table was empty.
                if !parts.hasCondition { continue }
                if isUpsert(statements, index) { continue }
                explanation = "SQLite counted 0 changed rows: its condition matched no row of \(table)."
            } else if let step, store.steps[step].counts(of: table) == nil,
                !store.steps[step].changes.schema.contains(where: { folded($0.name) == folded(table) }),
                statement.outline.kind == .update,
                (statement.record.changes ?? 0) > 0
            {
                explanation =
                    "It matched \(Counted.items(Int64(statement.record.changes ?? 0), "row")) of \(table), which had the "
                    + "new values already."
            } else {
                continue
            }
            let verb = statement.outline.kind == .update ? "UPDATE" : "DELETE"
            // The row that the assertion looked at may be the one that should have been updated.
            let isMissed =
                failure.message.mentionsNil && !parts.assigned.isEmpty
                && (try? hasNull(parts.assigned, of: table, in: store)) == true
            let isRoutine = effective.contains(statement.record.sql)
            let after = statements[(index + 1)...].lazy.filter { $0.writes }.prefix(10).count
            findings.append(
                Finding(
                    code: code,
                    title: "An \(verb) of \(table) changed no row".replacing(
                        "An DELETE", with: "A DELETE"),
                    confidence: .possible, store: store.name,
                    transaction: step.flatMap { store.steps[$0].number }, statement: statement.record,
                    explanation: explanation,
                    relevance: 25 + (isRoutine ? 0 : 8) + (isMissed ? 30 : 0) + 10 - after,
                    likelyFrom: 90))
        }
        var seen: Set<String> = []
        return findings.reversed().filter { seen.insert($0.statement?.sql ?? "").inserted }
    }

    private static func hasNull(
        _ columns: [String], of table: String, in store: StoreEvidence
    ) throws -> Bool {
        let known = columns.filter { column in
            store.schema.tables[folded(table)]?.columns.contains { folded($0.name) == column } ?? false
        }
        guard !known.isEmpty else { return false }
        let condition = known.map { "\(quotedIdentifier($0)) IS NULL" }.joined(separator: " OR ")
        return try store.count(
            "SELECT EXISTS (SELECT 1 FROM \(quotedIdentifier(table)) WHERE \(condition))") != 0
    }

    /// True if an `INSERT` into the same table follows at once, as when a row is updated or else inserted.
    private static func isUpsert(_ statements: [StoreEvidence.Statement], _ index: Int) -> Bool {
        let statement = statements[index]
        let next = statements[(index + 1)...].prefix(4).first { $0.writes }
        return next?.outline.kind == .insert && next?.outline.table == statement.outline.table
            && next?.record.connection == statement.record.connection
    }
}
