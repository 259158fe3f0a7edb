internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Damage that SQLite's own check reports, and rows that violate `NOT NULL` and `CHECK` constraints.
enum Integrity: FindingRule {
    static let code = Finding.Code.integrity

    /// The maximum size of a store that is checked, in bytes.
    private static let maximumBytes: Int64 = 16 << 20
    /// The maximum number of rows of a finding.
    private static let rowLimit = 20

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        let size = try store.count("PRAGMA page_count") * store.count("PRAGMA page_size")
        guard size <= maximumBytes else {
            return damage(
                store.store.integrity?.split(separator: "\n").map(String.init) ?? [], in: store)
        }
        // SQLite checks constraints only in a file that can be written.
        let copy = store.path + ".checked"
        try FileSystem.copy(store.path, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        let connection = try Connection.untrustedForWriting(copy, limits: store.limits)
        var lines: [String] = []
        let check = try connection.prepare("PRAGMA integrity_check(1000)")
        while try check.step() { lines.append(check.text(at: 0)) }
        let findings = damage(lines, in: store)
        // Redacted values can violate a constraint.
        guard findings.isEmpty, store.store.redactions == nil else { return findings }
        return try store.tables.filter { table in
            lines.contains {
                $0 == "CHECK constraint failed in \(table.name)"
                    || $0.hasPrefix("NULL value in \(table.name).")
            }
        }.flatMap { table in
            try violations(of: table, connection).map { try finding($0, of: table, in: store) }
        }
    }

    private static func damage(_ lines: [String], in store: Timeline) -> [Finding] {
        let signs = [
            "malformed", "not a database", "*** in database", "missing from index", "wrong # of entries",
            "Tree ", "Page ", "non-unique entry", "out of order", "row not in PRIMARY KEY",
        ]
        let reports = lines.filter { line in signs.contains(where: line.contains) }
        guard let first = reports.first else { return [] }
        let rest = Int64(reports.count - 1)
        return [
            Finding(
                code: .integrity, title: "Store \(store.name) is damaged", confidence: .certain,
                store: store.name, statement: dangerousStatement(in: store)?.record,
                explanation: "SQLite's check reports: \(SafeText.line(String(first.prefix(200))))"
                    + (rest > 0 ? " and \(Counted.items(rest, "more problem"))." : "."),
                evidence: .brokenRule)
        ]
    }

    /// Returns the last statement that can damage a store or switch constraints off, according to SQLite's documentation
    /// (<https://www.sqlite.org/howtocorrupt.html>).
    private static func dangerousStatement(
        in store: Timeline, after order: UInt64 = 0
    ) -> Timeline.Statement? {
        let dangerous = store.statements.filter { statement in
            guard statement.order > order, statement.record.error == nil else { return false }
            let words = statement.outline.words.prefix(12)
            return ["sqlite_master", "sqlite_schema"].contains(statement.outline.table)
                || words.first == "pragma" && words.contains("journal_mode") && words.last == "off"
        }
        // Changing the schema's text does the damage that a pragma allows.
        return dangerous.last { $0.outline.kind == .update } ?? dangerous.last
    }

    private struct Violation {
        /// SQLite's message, such as `CHECK constraint failed: amount >= 0`.
        let message: String
        /// The condition that selects a row by its rowid, or by the primary key of a table without rowids.
        let condition: String
        /// The values of the condition for the first rows.
        var keys: [[Value]] = []
        var count: Int64 = 0
    }

    /// Writes each row of a table again, and returns the constraints that reject rows.
    private static func violations(
        of table: TableShape, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Violation] {
        let key =
            table.kind == .withoutRowid
            ? table.primaryKey.map(\.name) : [table.rowidName ?? table.integerKey].compactMap(\.self)
        let condition = key.map { "\(quotedIdentifier($0)) = ?" }.joined(separator: " AND ")
        let columns = table.writableColumns.map { quotedIdentifier($0.name) }
        let name = quotedIdentifier(table.name)
        let rows = try connection.prepare(
            "SELECT \(key.map(quotedIdentifier).joined(separator: ", ")) FROM \(name)")
        let update = try connection.prepare(
            "UPDATE \(name) SET \(columns.map { "\($0) = \($0)" }.joined(separator: ", ")) WHERE \(condition)"
        )
        var found: [Violation] = []
        while try rows.step() {
            let values = key.indices.map { rows.value(at: $0) }
            update.reset()
            try update.bind(values)
            do throws(SQLiteError) {
                _ = try update.step()
            } catch {
                guard error.message.contains("constraint failed: ") else { throw error }
                var index = found.firstIndex { $0.message == error.message }
                if index == nil {
                    index = found.count
                    found.append(Violation(message: error.message, condition: condition))
                }
                guard let index else { continue }
                found[index].count += 1
                if found[index].keys.count < rowLimit { found[index].keys.append(values) }
            }
        }
        return found
    }

    private static func finding(
        _ violation: Violation, of table: TableShape, in store: Timeline
    ) throws -> Finding {
        let name = quotedIdentifier(table.name)
        let isNull = violation.message.hasPrefix("NOT NULL")
        // A column such as `budget.month`, an expression, or the name of a constraint.
        let rule =
            violation.message.ranges(of: "failed: ").first.map {
                String(violation.message[$0.upperBound...])
            } ?? ""
        let expression = expression(of: rule, in: table, store) ?? rule
        let words = Set(SQLText(expression).words)
        let named = table.columns.map(\.name).filter { words.contains(folded($0)) }
        let columns = named.isEmpty ? table.writableColumns.map(\.name) : named
        let key = store.keyColumns(of: table.name)
        let selected = (key + columns).map(quotedIdentifier).joined(separator: ", ")
        let rows = try violation.keys.flatMap {
            try store.rows("SELECT \(selected) FROM \(name) WHERE \(violation.condition)", $0)
        }
        let last = rows.first.flatMap { first in
            store.lastStep(
                where: { _, change in
                    change.key == Array(first.prefix(key.count)) && change.kind != .deleted
                        && columns.contains { change.cell($0) != nil }
                }, of: table.name)
        }
        let origin = last.map { store.origin(inStep: $0.index, of: table.name, by: [.insert, .update]) }
        // The constraint may be newer than the row.
        let edit = dangerousStatement(in: store, after: origin?.statement?.order ?? 0).flatMap {
            $0.outline.kind == .update ? $0 : nil
        }
        let count = Counted.items(violation.count, "row")
        let isOne = violation.count == 1
        let query =
            isNull
            ? "SELECT * FROM \(name) WHERE typeof(\(quotedIdentifier(columns[0]))) = 'null'"
            : query(for: violation, of: expression, in: name, store)
        return Finding(
            code: isNull ? .notNullViolation : .checkViolation,
            title: "\(count) of \(table.name) "
                + (isNull
                    ? "\(isOne ? "has" : "have") NULL in \(columns[0])"
                    : "\(isOne ? "violates" : "violate") CHECK (\(SafeText.line(rule)))"),
            confidence: .certain, store: store.name,
            rows: rows.map { values in
                Finding.Row(
                    table: table.name, key: Finding.Row.key(key, values), change: .present,
                    columns: zip(columns, values.dropFirst(key.count)).map {
                        .init(column: $0, old: nil, new: $1)
                    })
            }, transaction: origin?.transaction, statement: (edit ?? origin?.statement)?.record,
            explanation: isNull
                ? "The column \(columns[0]) is declared NOT NULL."
                : "The table declares this constraint, but it was off or newer than the row.",
            assertion: query.map { RowAssertion(noRowOf: $0) }, evidence: .brokenRule)
    }

    /// Returns the expression of a constraint that has a name, which SQLite's message has in place of the expression.
    private static func expression(
        of constraint: String, in table: TableShape, _ store: Timeline
    ) -> String? {
        let object = store.schema.objects.first { $0.type == "table" && $0.name == table.name }
        let definition = SQLText(object?.sql ?? "")
        let tokens = definition.tokens
        for start in tokens.indices.dropLast(4)
        where tokens[start].isWord("constraint") && tokens[start + 1].text == folded(constraint)
            && tokens[start + 2].isWord("check")
        {
            let end = tokens[(start + 4)...].firstIndex {
                $0.text == ")" && $0.depth == tokens[start + 3].depth
            }
            if let end { return definition.text((start + 4)..<end) }
        }
        return nil
    }

    /// Returns a query for the rows that violate a constraint; nil if it doesn't return as many as SQLite has found.
    private static func query(
        for violation: Violation, of rule: String, in table: String, _ store: Timeline
    ) -> String? {
        let query = "SELECT * FROM \(table) WHERE NOT (\(rule))"
        let rows = try? store.rows(query, limit: rowLimit + 1)
        return rows?.count == Int(min(violation.count, Int64(rowLimit) + 1)) ? query : nil
    }
}
