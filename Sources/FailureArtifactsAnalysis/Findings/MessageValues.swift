internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Values of the assertion's message in cells that the test changed.
enum MessageValues: FindingRule {
    static let code = Finding.Code.messageValues

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let sums = try unbalancedGroups(in: store, failure)
        let values = failure.message.differing.filter { $0.text != "nil" && !$0.text.isEmpty }
        guard !values.isEmpty else { return sums }
        var findings: [Finding] = []
        // A value that many rows have, such as a default, must not keep a rare one out.
        var counts: [String: Int] = [:]
        for (index, step) in store.steps.enumerated().reversed() where !step.isEarlier {
            for table in step.tables where !MigrationTables.contains(table.table.name) {
                for row in table.rows {
                    guard let match = match(row, values) else { continue }
                    let group = "\(table.table.name)\u{0}\(match.cell.column)\u{0}\(match.values)"
                    counts[group, default: 0] += 1
                    guard counts[group] ?? 0 <= 3 else { continue }
                    let origin = store.origin(
                        inStep: index, of: table.table.name,
                        by: row.kind == .deleted ? [.delete] : [.insert, .update])
                    findings.append(
                        Finding(
                            code: code,
                            title: "\(table.table.name).\(match.cell.column) "
                                + title(match.cell, row.kind),
                            confidence: .possible, store: store.name,
                            rows: [
                                StoreEvidence.row(row, in: table, columns: [folded(match.cell.column)])
                            ],
                            transaction: step.number, statement: origin.statement?.record,
                            explanation:
                                "The message names \(match.values.map { "'\(SafeText.line(String($0.prefix(40))))'" }.joined(separator: " and ")), "
                                + (match.values.count == 1
                                    ? "which is the value in this row."
                                    : "the values in this row before and after."),
                            relevance: match.strength,
                            likelyFrom: match.strength >= 30 && counts[group] == 1 ? 30 : nil))
                }
            }
        }
        if store.steps.isEmpty {
            findings = try presentValues(values, in: store)
            if findings.isEmpty, sums.isEmpty { findings = presentTotal(in: store, failure) }
        }
        return sums + findings.sorted { $0.relevance > $1.relevance }.prefix(3)
    }

    /// Returns the groups whose sum differs from the sum of nearly all others by what the assertion was off.
    ///
    /// The postings of each transfer add up to 0, for example.
    private static func unbalancedGroups(
        in store: StoreEvidence, _ failure: FailureEvidence
    ) throws -> [Finding] {
        guard let numbers = failure.message.numbers, numbers.left != numbers.right else { return [] }
        let delta = abs(numbers.left - numbers.right)
        for table in store.tables {
            for column in Outliers.columns(of: table) where !Relevance.isReference(column.name) {
                guard [.integer, .real, .numeric].contains(Affinity(declaredType: column.type)) else {
                    continue
                }
                for group in table.columns
                where Relevance.isReference(group.name) && group.keyPosition == 0 {
                    let finding = try unbalancedGroup(
                        of: table, column, by: group, delta: delta, in: store)
                    if let finding { return [finding] }
                }
            }
        }
        return []
    }

    private static func unbalancedGroup(
        of table: TableShape, _ column: TableShape.Column, by group: TableShape.Column, delta: Double,
        in store: StoreEvidence
    ) throws -> Finding? {
        let (name, value, by) = (
            quotedIdentifier(table.name), quotedIdentifier(column.name), quotedIdentifier(group.name)
        )
        let groups = try store.rows(
            "SELECT \(by), sum(\(value)) FROM \(name) GROUP BY 1 HAVING count(*) > 1", limit: 5000)
        let sums = Dictionary(grouping: groups.compactMap { $0[1].number }, by: { $0 })
        guard let (usual, same) = sums.max(by: { $0.value.count < $1.value.count }), same.count >= 3,
            groups.count - same.count == 1, let odd = groups.first(where: { $0[1].number != usual }),
            let sum = odd[1].number, abs(abs(sum - usual) - delta) < 1e-6, let target = odd[0].bindable
        else { return nil }
        let key = store.keyColumns(of: table.name)
        let rows = try store.rows(
            "SELECT \((key + [column.name]).map(quotedIdentifier).joined(separator: ", ")) FROM \(name) "
                + "WHERE \(by) IS ?", [target], limit: 20)
        let keys = Set(rows.map { Array($0.prefix(key.count)) })
        let last = store.lastStep(
            where: { _, change in change.kind != .deleted && keys.contains(change.key) }, of: table.name)
        let origin = store.origin(inStep: last?.index, of: table.name, by: [.insert, .update])
        let text = (
            StoredText.text(of: odd[0], width: 40), ValueText.plain(usual), ValueText.plain(sum)
        )
        return Finding(
            code: code,
            title:
                "The sum of \(table.name).\(column.name) is \(text.1) for each \(group.name) but \(text.0), "
                + "where it is \(text.2)",
            confidence: .likely, store: store.name,
            rows: rows.map { row in
                Finding.Row(
                    table: table.name, key: Finding.Row.key(key, row),
                    change: .present,
                    columns: [.init(column: column.name, old: nil, new: row[key.count])])
            }, transaction: origin.transaction, statement: origin.statement?.record,
            explanation:
                "\(same.count) other groups of rows have this sum, and the difference is the one that the "
                + "assertion saw.",
            query: "SELECT \(by), sum(\(value)) FROM \(name) GROUP BY 1 "
                + "HAVING count(*) > 1 AND sum(\(value)) <> \(text.1)",
            relevance: 60)
    }

    /// Returns the rows of a store without a history that have a significant value now.
    private static func presentValues(
        _ values: [FailureMessage.Value], in store: StoreEvidence
    ) throws -> [Finding] {
        let written = Set(store.testStatements.filter(\.writes).compactMap(\.outline.table))
        var findings: [Finding] = []
        // Some copies of SQLite report no statements.
        let isUnknown = store.statements.isEmpty
        for table in store.tables where isUnknown || written.contains(folded(table.name)) {
            let key = store.keyColumns(of: table.name)
            for column in Outliers.columns(of: table) where !Relevance.isReference(column.name) {
                for value in values where !value.isCommon {
                    let name = quotedIdentifier(column.name)
                    let selected = (key + [column.name]).map(quotedIdentifier).joined(separator: ", ")
                    let rows = try store.rows(
                        "SELECT \(selected) FROM \(quotedIdentifier(table.name)) WHERE \(name) = ?1 OR "
                            + "(typeof(\(name)) <> 'text' AND CAST(\(name) AS TEXT) = ?1)",
                        [.text(value.text)], limit: 3)
                    guard !rows.isEmpty, rows.count < 3, value.matches(rows[0][key.count]) else {
                        continue
                    }
                    let writers = store.testStatements.filter {
                        $0.outline.table == folded(table.name) && $0.writes && $0.record.changes != 0
                            && $0.record.sql.lowercased().contains(folded(column.name))
                    }
                    let isOne = Set(writers.map { $0.record.source?.place ?? "" }).count == 1
                    let text = StoredText.text(of: rows[0][key.count], width: 40)
                    findings.append(
                        Finding(
                            code: code, title: "\(table.name).\(column.name) is \(text)",
                            confidence: .possible, store: store.name,
                            rows: rows.map { row in
                                Finding.Row(
                                    table: table.name,
                                    key: Finding.Row.key(key, row),
                                    change: .present,
                                    columns: [.init(column: column.name, old: nil, new: row[key.count])])
                            },
                            statement: isOne ? writers.last?.record : nil,
                            explanation:
                                "The message names this value. The store has no history, so its transaction "
                                + "isn't known.",
                            relevance: 12))
                }
            }
        }
        return findings
    }

    /// Returns the sum of a column or the number of a table's rows that the message names, if there is only one.
    ///
    /// The test's last statement that changed it is the first one to look at.
    private static func presentTotal(in store: StoreEvidence, _ failure: FailureEvidence) -> [Finding] {
        let links = store.relevance(to: failure.message).links.filter(\.isTotal)
        guard let link = links.first, links.count == 1,
            let table = store.tables.first(where: { folded($0.name) == link.table })
        else { return [] }
        let writers = store.testStatements.filter { statement in
            guard statement.writes, statement.outline.table == link.table, statement.record.changes != 0
            else { return false }
            guard let column = link.column else { return statement.outline.kind != .update }
            return statement.outline.kind != .update
                || statement.record.sql.lowercased().contains(column)
        }
        guard let last = writers.last else { return [] }
        let column = table.columns.first { folded($0.name) == link.column }?.name
        let number = ValueText.plain(link.actual)
        let title =
            column.map { "\(table.name).\($0) adds up to \(number)" }
            ?? "\(table.name) has \(Counted.items(Int64(link.actual), "row"))"
        let others =
            writers.count == 1
            ? "One statement of the test wrote it."
            : "Of the \(writers.count) statements of the test that wrote it, this is the last one."
        return [
            Finding(
                code: code, title: title, confidence: .possible, store: store.name,
                statement: last.record,
                explanation:
                    "The message names this number and \(ValueText.plain(link.expected)). \(others) "
                    + "The store has no history, so the effect of each is unknown.",
                relevance: 12)
        ]
    }

    private static func title(_ cell: RowChange.Cell, _ kind: RowChange.Kind) -> String {
        let old = cell.old.map { StoredText.text(of: $0, width: 40) } ?? ""
        let new = cell.new.map { StoredText.text(of: $0, width: 40) } ?? ""
        return switch kind {
        case .inserted: "was inserted as \(new)"
        case .updated: "changed from \(old) to \(new)"
        case .deleted: "\(old) was deleted"
        }
    }

    /// Returns the cell that has the most significant values.
    private static func match(
        _ row: RowChange, _ values: [FailureMessage.Value]
    ) -> (cell: RowChange.Cell, values: [String], strength: Int)? {
        var best: (cell: RowChange.Cell, values: [String], strength: Int)?
        for cell in row.cells where !Relevance.isReference(cell.column) {
            func found(_ stored: StoredValue?) -> FailureMessage.Value? {
                guard let stored, !stored.isNull else { return nil }
                return values.first { value in
                    value.matches(stored)
                        && (value.label == nil || folded(value.label ?? "") == folded(cell.column))
                }
            }
            let match = ValueMatch(old: found(cell.old), new: found(cell.new))
            if let strength = match.strength, strength > best?.strength ?? 0 {
                best = (cell, match.texts, strength)
            }
        }
        return best
    }
}
