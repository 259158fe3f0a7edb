internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows with an undeclared reference, recognized by name and type, that a transaction of this test broke.
enum Orphan: FindingRule {
    static let code = Finding.Code.orphan

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            let declared = try ForeignKeyViolation.references(of: table, in: store)
            for column in table.columns
            where !declared.contains(where: { $0.columns.contains(column.name) }) {
                guard let reference = reference(column, of: table, in: store) else { continue }
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
                    let isObeyed = matching * 2 >= total || dangling.isParentRemoved
                    let origin = dangling.origin(in: store)
                    findings.append(
                        Finding(
                            code: code, title: dangling.title,
                            confidence: isBrokenHere && isObeyed ? .likely : .possible,
                            store: store.name, rows: dangling.rows + dangling.parents,
                            transaction: origin.transaction, statement: origin.statement?.record,
                            explanation: dangling.explanation(origin)
                                + " No foreign key is declared; \(matching) of \(total) rows have a match.",
                            relevance: isObeyed ? 40 : 10))
                }
            }
        }
        return findings
    }

    /// Returns the reference that a column's name suggests, such as `transferID` → `transfer.id`.
    static func reference(
        _ column: TableShape.Column, of table: TableShape, in store: StoreEvidence
    ) -> Reference? {
        let name = folded(column.name)
        guard Relevance.isReference(column.name), name != "id", name != "uuid",
            column.keyPosition != 1 || table.primaryKey.count > 1
        else { return nil }
        var stem = String(name.dropLast(name.hasSuffix("uuid") ? 4 : 2))
        while stem.hasSuffix("_") { stem.removeLast() }
        guard !stem.isEmpty else { return nil }
        let candidates = store.tables.filter { parent in
            let forms = Self.forms(of: folded(parent.name))
            // `sourceAccountID` and `source_account_id` refer to `account`, too.
            return forms.contains {
                stem == $0 || stem.hasSuffix("_" + $0) || (stem.hasSuffix($0) && $0.count > 3)
            }
        }
        let best = candidates.max { first, second in first.name.count < second.name.count }
        guard let parent = best else { return nil }
        let key = store.keyColumns(of: parent.name)
        guard key.count == 1,
            let target = parent.columns.first(where: { folded($0.name) == folded(key[0]) }),
            Affinity(declaredType: target.type) == Affinity(declaredType: column.type)
        else { return nil }
        return Reference(
            table: table.name, columns: [column.name], parent: parent.name, parentColumns: key)
    }

    /// Returns a table's name in singular and plural.
    private static func forms(of table: String) -> [String] {
        var forms = [table]
        if table.hasSuffix("ies") { forms.append(table.dropLast(3) + "y") }
        if table.hasSuffix("es") { forms.append(String(table.dropLast(2))) }
        if table.hasSuffix("s") { forms.append(String(table.dropLast())) }
        return forms
    }
}
