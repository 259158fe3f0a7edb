internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows that are equal except for their keys, if the test wrote one of them.
enum DuplicateRows: FindingRule {
    static let code = Finding.Code.duplicateRows

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            let columns = table.columns.filter { $0.keyPosition == 0 && !$0.isVirtual }
            // A table of few columns has equal rows by chance, and times differ even between duplicates.
            let compared = columns.filter { !isTime($0) && !isToken($0) }
            guard compared.count >= 2, table.kind == .rowid || table.integerKey != nil else { continue }
            let names = compared.map { quotedIdentifier($0.name) }.joined(separator: ", ")
            let name = quotedIdentifier(table.name)
            let groups = try store.rows(
                "SELECT count(*) AS n, \(names) FROM \(name) GROUP BY \(names) HAVING n > 1", limit: 20)
            guard !groups.isEmpty, groups.count <= 5 else { continue }
            let total = try store.count("SELECT count(*) FROM \(name)")
            let repeated = groups.compactMap { $0[0].number }.reduce(0, +)
            // Equal rows are the rule in a table in which most rows repeat.
            guard repeated * 2 <= Double(total) else { continue }
            let omitted = columns.filter { isTime($0) || isToken($0) }.map { SafeText.line($0.name) }
            let difference =
                (["the key"] + omitted.dropLast()).joined(separator: ", ")
                + (omitted.last.map { " and \($0)" } ?? "")
            let isNamed = try identifies(compared, of: name, repeated: groups, total, in: store)
            let key = store.keyColumns(of: table.name)
            for group in groups {
                let values = group.dropFirst().compactMap(\.bindable)
                guard values.count == compared.count, values.contains(where: { $0 != .null }) else {
                    continue
                }
                let same = compared.map { "\(quotedIdentifier($0.name)) IS ?" }.joined(
                    separator: " AND ")
                let keys = try store.rows(
                    "SELECT \(key.map(quotedIdentifier).joined(separator: ", ")) FROM \(name) WHERE \(same)",
                    values, limit: 10)
                let written = keys.compactMap { rowKey in
                    store.lastStep(
                        where: { _, change in
                            change.key == rowKey && change.kind != .deleted
                                && compared.contains { change.cell($0.name) != nil }
                        }, of: table.name
                    ).map { (rowKey, $0) }
                }
                guard store.steps.isEmpty || !written.isEmpty else { continue }
                let last = written.max { $0.1.index < $1.1.index }
                // The later row is the superfluous one.
                let extra = keys.filter { $0 != keys.first }
                let origin = store.origin(inStep: last?.1.index, of: table.name, by: [.insert, .update])
                findings.append(
                    Finding(
                        code: code,
                        title: "\(Int(group[0].number ?? 0)) rows of \(table.name) are equal except for "
                            + difference,
                        confidence: .possible, store: store.name,
                        rows: extra.map { rowKey in
                            Finding.Row(
                                table: table.name,
                                key: Finding.Row.key(key, rowKey),
                                change: written.contains { $0.0 == rowKey && $0.1.row.kind == .inserted }
                                    ? .inserted : .present,
                                columns: zip(compared, group.dropFirst()).map {
                                    .init(column: $0.name, old: nil, new: $1)
                                })
                        }, transaction: origin.transaction, statement: origin.statement?.record,
                        explanation: "Among \(Counted.items(total, "row")) of \(table.name), "
                            + (groups.count == 1
                                ? "only these repeat." : "\(groups.count) groups repeat."),
                        query:
                            "SELECT \(names), count(*) FROM \(name) GROUP BY \(names) HAVING count(*) > 1",
                        relevance: groups.count == 1 ? 20 : 8, likelyFrom: isNamed ? 95 : nil))
            }
        }
        return findings
    }

    /// True if a compared column has a value of its own in each row but the repeated ones, such as a reference number.
    ///
    /// Without one, rows such as two sales of a product may be equal rightly.
    private static func identifies(
        _ columns: [TableShape.Column], of table: String, repeated groups: [[StoredValue]],
        _ total: Int64, in store: StoreEvidence
    ) throws -> Bool {
        guard groups.count == 1, let count = groups[0][0].number else { return false }
        let counts = columns.map { "count(DISTINCT \(quotedIdentifier($0.name)))" }
        let distinct = try store.rows("SELECT \(counts.joined(separator: ", ")) FROM \(table)")
        return distinct.first?.contains { $0.number == Double(total) - count + 1 } ?? false
    }

    private static func isTime(_ column: TableShape.Column) -> Bool {
        let name = folded(column.name)
        let type = column.type.uppercased()
        return type.contains("DATE") || type.contains("TIME") || column.name.hasSuffix("At")
            || name.hasSuffix("_at")
            || name.contains("date") || name.contains("time")
    }

    private static func isToken(_ column: TableShape.Column) -> Bool {
        let name = folded(column.name)
        return name.contains("uuid") || name.contains("token")
    }
}
