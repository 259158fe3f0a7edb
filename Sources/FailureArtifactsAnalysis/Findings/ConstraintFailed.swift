internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A statement that a constraint rejected.
enum ConstraintFailed: FindingRule {
    static let code = Finding.Code.constraintFailed

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for statement in store.testStatements.reversed() {
            guard let error = statement.record.error, error.code & 0xff == 19 else { continue }
            let isNamed = failure.message.text.contains(error.message)
            let table = statement.outline.table.flatMap { store.schema.tables[$0]?.name }
            let isHandled = !isNamed && isFollowedByUpdate(statement, in: store)
            findings.append(
                Finding(
                    code: code,
                    title: SafeText.line(error.message)
                        + (table.map { " in a statement on \($0)" } ?? ""),
                    confidence: isNamed ? .certain : .possible, store: store.name,
                    rows: try existingRows(error, statement, in: store, failure),
                    statement: statement.record,
                    explanation: isNamed
                        ? "The statement failed with the error that the message names."
                        : isHandled
                            ? "The statement failed, and then an UPDATE changed the table."
                            : "The statement failed, so its rows are missing. The error isn't in the message, so the "
                                + "code may have ignored it.",
                    relevance: isNamed ? 45 : isHandled ? 5 : 20, likelyFrom: isHandled ? nil : 60))
            if findings.count == 3 { break }
        }
        if findings.isEmpty, let finding = unlogged(in: store, failure) { findings.append(finding) }
        return findings
    }

    /// True if the connection's next write is an `UPDATE` of the same table, as when a row is inserted or else updated.
    private static func isFollowedByUpdate(
        _ statement: StoreEvidence.Statement, in store: StoreEvidence
    ) -> Bool {
        let next = store.testStatements.first {
            $0.order > statement.order && $0.record.connection == statement.record.connection
                && $0.writes
        }
        return next?.outline.kind == .update && next?.outline.table == statement.outline.table
            && next?.hasChangedRows == true
    }

    /// Returns the finding for an error that only the message names.
    ///
    /// SQLite doesn't report to its error log that a statement would have broken a foreign key.
    private static func unlogged(
        in store: StoreEvidence, _ failure: FailureEvidence
    ) -> Finding? {
        let kinds = ["UNIQUE", "FOREIGN KEY", "CHECK", "NOT NULL", "PRIMARY KEY"]
        guard let kind = kinds.first(where: { failure.message.text.contains("\($0) constraint failed") })
        else {
            return nil
        }
        let failed =
            store.statement(namedIn: failure.message)
            ?? store.testStatements.last { $0.writes && $0.record.changes ?? 0 == 0 }
        guard let failed, let table = failed.outline.table.flatMap({ store.schema.tables[$0]?.name })
        else {
            return nil
        }
        return Finding(
            code: code, title: "\(kind) constraint failed in a statement on \(table)",
            confidence: .certain,
            store: store.name, statement: failed.record,
            explanation: "The message names the error"
                + (kind == "FOREIGN KEY" && failed.outline.kind == .delete
                    ? "; other rows refer to the row that should be deleted." : "."),
            relevance: 45)
    }

    /// Returns the row that already has the values that must be unique, if the statement or the message names them.
    private static func existingRows(
        _ error: StatementRecord.Failure, _ statement: StoreEvidence.Statement, in store: StoreEvidence,
        _ failure: FailureEvidence
    ) throws -> [Finding.Row] {
        guard let start = error.message.firstRange(of: "UNIQUE constraint failed: ")?.upperBound else {
            return []
        }
        let names = error.message[start...].split(separator: ",").map {
            $0.split(separator: ".").last.map { $0.trimmed } ?? ""
        }
        guard let table = error.message[start...].split(separator: ".").first.map(String.init),
            let shape = store.schema.tables[folded(table)], !names.isEmpty,
            names.allSatisfy({ name in shape.columns.contains { folded($0.name) == folded(name) } })
        else { return [] }
        let key = store.keyColumns(of: table)
        let selected = (key + names).map(quotedIdentifier).joined(separator: ", ")
        let columns = names.map(quotedIdentifier)
        let found = columns.map { "(instr(?1, \($0)) > 0 OR instr(?2, \($0)) > 0)" }
        // Texts have short values by chance.
        let long = columns.map { "length(\($0)) > 1" }
        let texts = [statement.record.sql, failure.message.text]
        let rows = try store.rows(
            "SELECT \(selected) FROM \(quotedIdentifier(table)) WHERE (\(long.joined(separator: " OR "))) AND "
                + found.joined(separator: " AND "), texts.map { .text($0) }, limit: 2)
        guard rows.count == 1 else { return [] }
        return rows.map { values in
            Finding.Row(
                table: shape.name, key: Finding.Row.key(key, values),
                change: .present,
                columns: zip(names, values[key.count...]).map { .init(column: $0, old: nil, new: $1) })
        }
    }
}

extension Substring {
    /// The text without spaces at its ends.
    fileprivate var trimmed: String {
        String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
