internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that a trigger or a foreign key's action deleted, while no statement named their table.
enum UnexpectedDelete: FindingRule {
    static let code = Finding.Code.unexpectedDelete

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for step in store.steps where !step.isEarlier && !step.statements.isEmpty {
            for changed in step.tables where changed.counts.deleted > 0 {
                let name = changed.table.name
                let writers = step.statements.filter { $0.writes && $0.record.error == nil }
                let named = writers.contains { $0.outline.table == folded(name) }
                let isDropped = step.changes.schema.contains { folded($0.name) == folded(name) }
                guard !named, !isDropped, let writer = writers.last(where: { deletes($0) }) else {
                    continue
                }
                let isReplace = writer.outline.kind == .insert
                let deleted = changed.rows.filter { $0.kind == .deleted }
                findings.append(
                    Finding(
                        code: code,
                        title: "\(Counted.items(changed.counts.deleted, "row")) of \(name) "
                            + "\(changed.counts.deleted == 1 ? "was" : "were") deleted without a statement that names "
                            + name,
                        confidence: isReplace ? .likely : .possible, store: store.name,
                        rows: deleted.prefix(20).map { StoreEvidence.row($0, in: changed) },
                        transaction: step.number, statement: writer.record,
                        explanation: isReplace
                            ? "REPLACE deletes the old row first, and a foreign key or a trigger then deleted its rows in "
                                + "\(name)."
                            : "A foreign key's action or a trigger deleted them along with rows of "
                                + "\(writer.outline.table ?? "another table").",
                        relevance: isReplace ? 50 : 30, likelyFrom: 80))
            }
        }
        return Array(findings.suffix(4))
    }

    private static func deletes(_ statement: StoreEvidence.Statement) -> Bool {
        if statement.outline.kind == .delete { return true }
        let words = Set(StatementOutline.words(of: statement.record.sql, limit: 8))
        if statement.outline.kind == .insert { return words.contains("replace") }
        return statement.outline.kind == .update
    }
}
