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
        var findings = changes(in: store, failure).map { finding($0, in: store) }
        if store.steps.isEmpty {
            findings = try presentValues(values, in: store, failure)
            if findings.isEmpty, sums.isEmpty { findings = presentTotal(in: store, failure) }
        }
        return sums + findings.sorted { $0.relevance > $1.relevance }.prefix(3)
    }

    // MARK: - Changes

    /// A changed cell with values of the message.
    private struct Change {
        let step: Int
        let table: ChangedTable
        let row: RowChange
        let cell: RowChange.Cell
        let match: ValueMatch
        let strength: Int
        /// The last change of a row that the test didn't find, if it is another one; otherwise nil.
        var last: RowMove?
        /// True if the failing query read the table, the values don't agree by chance, and nothing suggests that the
        /// change is meant.
        var isLikely = false
    }

    /// A change of a row's other columns, which may have taken it out of the query's result.
    private struct RowMove {
        let step: Int
        let table: ChangedTable
        let row: RowChange
        /// The columns that the query names, or all that changed.
        let columns: Set<String>
    }

    /// A row of a table.
    private struct RowPlace: Hashable {
        let table: String
        let key: [StoredValue]
    }

    /// A cell of a table.
    private struct Place: Hashable {
        let table: String
        let key: [StoredValue]
        let column: String
    }

    /// Returns the changes that can explain the message, the last one first.
    ///
    /// Those that can explain it only if the assertion has its operands in the other order are left out if there are
    /// others.
    private static func changes(in store: StoreEvidence, _ failure: FailureEvidence) -> [Change] {
        var changes: [Change] = []
        // A value that many rows have, such as a default, must not keep a rare one out.
        var counts: [String: Int] = [:]
        // The values at the failure of the cells that later steps changed.
        var last: [Place: StoredValue] = [:]
        var moves: [RowPlace: RowMove] = [:]
        // The tables of which not all later changes are known.
        var cut: Set<String> = []
        let relevance = store.relevance(to: failure.message)
        for (index, step) in store.steps.enumerated().reversed() where !step.isEarlier {
            for table in step.tables where !MigrationTables.contains(table.table.name) {
                let name = folded(table.table.name)
                for row in table.rows {
                    let found = match(row, in: table, failure.message, isGone: cut.contains(name)) {
                        column in
                        last[Place(table: name, key: row.key, column: folded(column))]
                    }
                    guard let found, let strength = found.match.strength else { continue }
                    let group = "\(name)\u{0}\(found.cell.column)\u{0}\(found.match.texts)"
                    counts[group, default: 0] += 1
                    guard counts[group] ?? 0 <= 3 else { continue }
                    changes.append(
                        Change(
                            step: index, table: table, row: row, cell: found.cell, match: found.match,
                            strength: strength,
                            last: found.match.isUnfound
                                ? moves[RowPlace(table: name, key: row.key)] : nil))
                }
            }
            for table in step.tables {
                if !table.isComplete { cut.insert(folded(table.table.name)) }
                for row in table.rows {
                    let rowPlace = RowPlace(table: folded(table.table.name), key: row.key)
                    let columns = relevance.queried(row.cells.map(\.column))
                    if row.kind == .updated, !columns.isEmpty, moves[rowPlace] == nil {
                        moves[rowPlace] = RowMove(step: index, table: table, row: row, columns: columns)
                    }
                    for cell in row.cells {
                        let place = Place(
                            table: folded(table.table.name), key: row.key, column: folded(cell.column))
                        if last[place] == nil { last[place] = cell.new ?? StoredValue(.null) }
                    }
                }
            }
        }
        if changes.contains(where: { !$0.match.isInOtherOrder }) {
            changes.removeAll(where: \.match.isInOtherOrder)
        }
        let read = relevance.readTables
        let both = changes.indices.filter { changes[$0].match.isBoth && changes[$0].strength >= 30 }
        if both.count == 1 {
            let change = changes[both[0]]
            changes[both[0]].isLikely =
                read.contains(folded(change.table.table.name)) && !change.match.isSmallStep
                && isSideEffect(change, in: store, failure)
        }
        return changes
    }

    /// True if several columns of a row changed, and this one got a value that the row had before or in another store.
    ///
    /// The expected value is the one before the change. If a caller gave a new one, the expectation may be outdated.
    private static func isSideEffect(
        _ change: Change, in store: StoreEvidence, _ failure: FailureEvidence
    ) -> Bool {
        guard change.row.kind == .updated, change.row.cells.count > 1, let new = change.cell.new else {
            return false
        }
        let (table, column) = (change.table.table.name, change.cell.column)
        // A caller that gave both values to the same statement wanted the last one.
        func statement(_ step: Int) -> StatementRecord? {
            store.origin(inStep: step, of: table, by: [.insert, .update]).statement?.record
        }
        let earlier = store.steps[..<change.step].lastIndex { step in
            step.table(table)?.rows.contains {
                $0.key == change.row.key && $0.cell(column)?.new == change.cell.old
            } ?? false
        }
        if let last = statement(change.step), let earlier = earlier.flatMap(statement),
            (last.sql, last.source) == (earlier.sql, earlier.source)
        {
            return false
        }
        func hadValue(_ steps: some Sequence<StoreEvidence.Step>) -> Bool {
            steps.contains { step in
                step.table(table)?.rows.contains { row in
                    row.key == change.row.key
                        && row.cell(column).map { $0.new == new || $0.old == new } ?? false
                } ?? false
            }
        }
        return change.row.cells.contains { $0.column != column && $0.old == new }
            || hadValue(store.steps[..<change.step])
            || failure.stores.contains { $0 !== store && hadValue($0.steps) }
    }

    private static func finding(_ change: Change, in store: StoreEvidence) -> Finding {
        if let last = change.last { return finding(change, last, in: store) }
        let table = change.table.table.name
        let origin = store.origin(
            inStep: change.step, of: table,
            by: change.row.kind == .deleted ? [.delete] : [.insert, .update])
        let names = change.match.texts.map {
            $0 == "nil" ? $0 : "'\(SafeText.line(String($0.prefix(40))))'"
        }
        let evidence =
            if change.row.kind == .deleted {
                "\(names[0]), which this row had" + (names.count > 1 ? ", and \(names[1])." : ".")
            } else if change.match.lost == nil {
                "\(names[0]), which is the value in this row."
            } else if change.match.written == nil {
                "\(names[0]), which this row had before."
            } else {
                "\(names[0]) and \(names[1]), the values in this row before and after."
            }
        return Finding(
            code: code, title: "\(table).\(change.cell.column) " + title(change.cell, change.row.kind),
            confidence: .possible, store: store.name,
            rows: [
                StoreEvidence.row(change.row, in: change.table, columns: [folded(change.cell.column)])
            ],
            transaction: store.steps[change.step].number, statement: origin.statement?.record,
            explanation: "The message names \(evidence)",
            relevance: change.strength, likelyFrom: change.isLikely ? 30 : nil)
    }

    /// Returns the finding about the last change of a row that the test didn't find.
    private static func finding(
        _ change: Change, _ last: RowMove, in store: StoreEvidence
    ) -> Finding {
        let table = change.table.table.name
        let cells = last.row.cells.filter { last.columns.contains(folded($0.column)) }
        let name = change.match.texts.last ?? ""
        return Finding(
            code: code,
            title: "\(table).\(cells.first?.column ?? "") "
                + (cells.first.map { title($0, .updated) } ?? "changed"),
            confidence: .possible, store: store.name,
            rows: [StoreEvidence.row(last.row, in: last.table, columns: last.columns)],
            transaction: store.steps[last.step].number,
            statement: store.origin(inStep: last.step, of: table, by: [.insert, .update]).statement?
                .record,
            explanation:
                "The message names '\(SafeText.line(String(name.prefix(40))))', which is the row's "
                + "\(SafeText.line(change.cell.column)). This later change may have taken the row out of the result.",
            relevance: change.strength)
    }

    // MARK: - Sums

    /// Returns the groups whose sum differs from the sum of nearly all others by what the assertion was off.
    ///
    /// The postings of each transfer add up to 0, for example.
    private static func unbalancedGroups(
        in store: StoreEvidence, _ failure: FailureEvidence
    ) throws -> [Finding] {
        guard let numbers = failure.message.numbers, numbers.left != numbers.right else { return [] }
        let delta = abs(numbers.left - numbers.right)
        let read = store.relevance(to: failure.message).readTables
        for table in store.tables {
            for column in Outliers.columns(of: table) where !Relevance.isReference(column.name) {
                guard [.integer, .real, .numeric].contains(Affinity(declaredType: column.type)) else {
                    continue
                }
                for group in table.columns
                where Relevance.isReference(group.name) && group.keyPosition == 0 {
                    let finding = try unbalancedGroup(
                        of: table, column, by: group, delta: delta, in: store,
                        isRead: read.contains(folded(table.name)))
                    if let finding { return [finding] }
                }
            }
        }
        return []
    }

    private static func unbalancedGroup(
        of table: TableShape, _ column: TableShape.Column, by group: TableShape.Column, delta: Double,
        in store: StoreEvidence, isRead: Bool
    ) throws -> Finding? {
        let (name, value, by) = (
            quotedIdentifier(table.name), quotedIdentifier(column.name), quotedIdentifier(group.name)
        )
        let groups = try store.rows(
            "SELECT \(by), sum(\(value)) FROM \(name) GROUP BY 1 HAVING count(*) > 1", limit: 5000)
        let sums = Dictionary(grouping: groups.compactMap { $0[1].number }, by: { $0 })
        guard let (usual, same) = sums.max(by: { $0.value.count < $1.value.count }), same.count >= 3,
            groups.count - same.count == 1, let odd = groups.first(where: { $0[1].number != usual }),
            let sum = odd[1].number, abs(abs(sum - usual) - delta) < 1e-6, let target = odd[0].bindable,
            // Groups of a few flags or counters have the same sum by chance; a balance of 0 is kept on purpose.
            usual == 0 || abs(usual) >= 4
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
            // The sums of a few groups are equal by chance.
            confidence: isRead && same.count >= 8 ? .likely : .possible, store: store.name,
            rows: rows.filter { $0[key.count].number != 0 }.map { row in
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
        _ values: [FailureMessage.Value], in store: StoreEvidence, _ failure: FailureEvidence
    ) throws -> [Finding] {
        let actual = Set(failure.message.actual)
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
                    let writers = store.statements.filter {
                        $0.outline.table == folded(table.name) && $0.hasChangedRows
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
                            statement: isOne && store.hasAllWrites(of: table.name)
                                ? writers.last?.record : nil,
                            explanation:
                                "The message names this value. \(store.missingSteps), so its transaction isn't known.",
                            relevance: rows.count == 1 && actual.contains(value) ? 60 : 12))
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
            ? "In the log, one statement of the test wrote it."
            : "Of the \(writers.count) statements of the test in the log that wrote it, this is the last one."
        return [
            Finding(
                code: code, title: title, confidence: .possible, store: store.name,
                statement: last.record,
                explanation:
                    "The message names this number and \(ValueText.plain(link.expected)). \(others) "
                    + "\(store.missingSteps), so the effect of each is unknown.",
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
    ///
    /// - Parameters:
    ///   - row: The row's change.
    ///   - table: The changes of its table in the same step.
    ///   - message: The message.
    ///   - isGone: True if a later step may have changed the row.
    ///   - last: Returns the value at the failure of a column that a later step changed; nil for other columns.
    /// - Returns: The cell and its values; nil if no cell can explain the message.
    private static func match(
        _ row: RowChange, in table: ChangedTable, _ message: FailureMessage, isGone: Bool,
        last: (String) -> StoredValue?
    ) -> (cell: RowChange.Cell, match: ValueMatch)? {
        var best: (cell: RowChange.Cell, match: ValueMatch)?
        for cell in row.cells where !Relevance.isReference(cell.column) {
            func isNamed(_ value: FailureMessage.Value, _ stored: StoredValue?) -> Bool {
                guard let stored, !value.text.isEmpty, value.matches(stored) else { return false }
                return value.label == nil || folded(value.label ?? "") == folded(cell.column)
            }
            // A value is nil, too, if its row is deleted.
            let new = cell.new ?? StoredValue(.null)
            let later = last(cell.column)
            // A later step wrote the value that the row has now, even if it is the same again.
            let isGone = isGone || later != nil
            let isBack =
                later.map { $0 == cell.old } ?? (row.kind == .deleted && isWritten(cell, in: table))
            let match = ValueMatch(
                message, old: { !isBack && $0.text != "nil" && isNamed($0, cell.old) },
                new: { !isGone && isNamed($0, new) })
            guard let match, match.texts != ["nil"], let strength = match.strength else { continue }
            // A counter leaves many values behind.
            let isCounter = row.kind == .updated && match.written == nil && match.lost?.number != nil
            if isCounter { continue }
            if strength > best?.match.strength ?? 0 { best = (cell, match) }
        }
        return best
    }

    /// True if the step wrote the value of a deleted row to another row, as if the row had moved.
    private static func isWritten(_ cell: RowChange.Cell, in table: ChangedTable) -> Bool {
        table.rows.contains { $0.kind != .deleted && $0.cell(cell.column)?.new == cell.old }
    }
}
