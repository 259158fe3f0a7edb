internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A statement that changed no row, such as an `UPDATE` whose condition matched none.
///
/// Several executions of one statement are one finding.
enum NoEffect: FindingRule {
    static let code = Finding.Code.noEffect

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let statements = store.testStatements
        // Others of the same text had an effect, so one without may be routine.
        let effective = Set(statements.filter { ($0.record.changes ?? 0) > 0 }.map(\.record.sql))
        var found: [Execution] = []
        for (index, statement) in statements.enumerated() {
            try store.checkTime()
            guard statement.writes, statement.record.error == nil,
                let table = statement.outline.table.flatMap({ store.schema.tables[$0]?.name })
            else { continue }
            let parts = statement.parts
            let step = store.step(of: statement)
            var relevance = 25
            var title =
                switch statement.outline.kind {
                case .insert: "An INSERT into \(table) inserted no row"
                case .update: "An UPDATE of \(table) changed no row"
                default: "A DELETE of \(table) changed no row"
                }
            let explanation: String
            if statement.record.changes == 0 {
                if statement.outline.kind == .insert {
                    guard isSkippable(statement) else { continue }
                    // Skipping rows is what it is for.
                    relevance = -5
                } else {
                    // Without a condition, the table was empty.
                    if !parts.hasCondition { continue }
                    if isUpsert(statements, index) { continue }
                }
                let isContended = store.locks.contended.contains(statement.order)
                if isContended, store.locks.retried.contains(statement.order) { continue }
                // An error that only the message names is another finding.
                if statement.order == store.statement(namedIn: failure.message)?.order { continue }
                explanation =
                    "SQLite counted 0 changed rows, and the log has no error. Probably, "
                    + "\(reasons(statement, isContended, table, in: store))."
            } else if let step, store.steps[step].counts(of: table) == nil,
                !store.steps[step].changes.schema.contains(where: { folded($0.name) == folded(table) }),
                statement.outline.kind == .update,
                (statement.record.changes ?? 0) > 0
            {
                let others = store.steps[step].statements.filter {
                    $0.hasChangedRows && $0.order != statement.order
                }
                if others.contains(where: { $0.outline.table == folded(table) }) {
                    // One finding for the statements that left the table as it was.
                    if others.contains(where: {
                        $0.order > statement.order && $0.outline.table == folded(table)
                    }) {
                        continue
                    }
                    title = "\(store.title(of: store.steps[step])) wrote \(table), but left it as it was"
                    explanation =
                        "Its statements undid each other's changes, or wrote the values that were there."
                    relevance = 20
                } else if statement.record.ownChanges ?? 0 == 0 && store.effects.spread(from: table)
                    || others.contains(where: { store.effects.spread(from: $0.outline.table ?? "") })
                {
                    explanation =
                        "\(store.title(of: store.steps[step])) left \(table) as it was. SQLite's count of "
                        + "\(Counted.items(Int64(statement.record.changes ?? 0), "changed row")) includes those of "
                        + "triggers and foreign keys."
                } else {
                    // NULL stays NULL if a number is added to it.
                    let isNull =
                        Set(parts.assigned) == parts.relative
                        && (try? hasNull(parts.assigned, of: table, in: store)) == true
                    if isNull { relevance = -30 }
                    explanation =
                        "It matched \(Counted.items(Int64(statement.record.changedRows ?? 0), "row")) of \(table), which had "
                        + "the new values already"
                        + (isNull ? ". A row has NULL there, and NULL plus a number is NULL." : ".")
                }
            } else {
                continue
            }
            // The row that the assertion looked at may be the one that should have been updated.
            let isMissed =
                failure.message.mentionsNil && !parts.assigned.isEmpty
                && (try? hasNull(parts.assigned, of: table, in: store)) == true
            let isRoutine = effective.contains(statement.record.sql)
            let after = statements[(index + 1)...].lazy.filter { $0.writes }.prefix(10).count
            found.append(
                Execution(
                    form: Self.form(of: statement), isSkipped: statement.record.changes == 0,
                    finding: Finding(
                        code: code,
                        title: title,
                        confidence: .possible, store: store.name,
                        transaction: step.flatMap { store.steps[$0].number },
                        statement: statement.record,
                        explanation: explanation,
                        relevance: relevance + (isRoutine ? 0 : 8) + (isMissed ? 30 : 0) + 10 - after,
                        likelyFrom: 90)))
        }
        // How often each form ran, and how often it changed no row.
        var counts: [String: (all: Int, skipped: Int)] = [:]
        if found.contains(where: \.isSkipped) {
            for statement in statements where statement.writes && statement.record.error == nil {
                let form = Self.form(of: statement)
                counts[form, default: (0, 0)].all += 1
                if statement.record.changes == 0 { counts[form]?.skipped += 1 }
            }
        }
        var seen: Set<String> = []
        return found.reversed().filter { seen.insert($0.form).inserted }.map { last in
            guard last.isSkipped else { return last.finding }
            let same = found.filter { $0.form == last.form && $0.isSkipped }
            return joined(
                same, counts[last.form] ?? (same.count, same.count), failure.message,
                in: store.hasWholeLog ? "" : "In the log, ")
        }
    }

    /// An execution of a statement that had no effect.
    private struct Execution {
        /// The statement without its literals, and its line.
        let form: String
        /// True if it changed no row; false if it wrote the values that were there.
        let isSkipped: Bool
        let finding: Finding
    }

    /// Returns the finding for one of the executions of a statement that changed no row: the last one that has a value of
    /// the message, or the first one.
    private static func joined(
        _ executions: [Execution], _ counts: (all: Int, skipped: Int), _ message: FailureMessage,
        in log: String
    ) -> Finding {
        let values = executions.map { named(by: $0.finding, in: message) }
        let related = values.lastIndex { $0 != nil }
        var finding = executions[related ?? 0].finding
        let count = counts.skipped
        guard count > 1 else { return finding }
        finding.relevance = executions.map(\.finding.relevance).max() ?? finding.relevance
        let choice =
            if let related, let value = values[related] {
                "the last one with '\(SafeText.line(String(value.prefix(40))))', which the message names"
            } else {
                count == executions.count ? "the first of them" : "one of them"
            }
        let times = Counted.items(Int64(counts.all), "time")
        finding.explanation +=
            " \(log.isEmpty ? "The" : log + "the") test ran the statement \(times), "
            + (count == counts.all
                ? "always without effect." : "and \(count) of these had no effect.")
            + " This is \(choice)."
        return finding
    }

    /// Returns the first literal of a statement that the message names; nil without one.
    private static func named(by finding: Finding, in message: FailureMessage) -> String? {
        guard let sql = finding.statement?.sql else { return nil }
        let text = message.text.lowercased()
        let values = Set(message.values.filter { !$0.isCommon }.map { $0.text.lowercased() })
        let limit = StatementOutline.Parts.maximumWords
        return StatementOutline.tokens(of: sql, limit: limit).filter(\.isLiteral).map(\.text).first {
            values.contains($0) || $0.count > 1 && text.contains("\"\($0)\"")
        }
    }

    /// Returns the text of a statement without its literals, and its line.
    private static func form(of statement: StoreEvidence.Statement) -> String {
        let words = StatementOutline.tokens(
            of: statement.record.sql, limit: StatementOutline.Parts.maximumWords)
        return words.map { $0.isLiteral ? "?" : $0.text }.joined(separator: " ")
            + "\n" + (statement.record.source?.place ?? "")
    }

    /// Returns the reasons that a statement can have for changing no row, as the second half of a sentence.
    private static func reasons(
        _ statement: StoreEvidence.Statement, _ isContended: Bool, _ table: String,
        in store: StoreEvidence
    ) -> String {
        let words = statement.parts.words
        var reasons: [String] = []
        if statement.outline.kind != .insert {
            reasons.append("its condition matched no row of \(table)")
        } else if words.contains("select") {
            reasons.append("its query returned no row")
        }
        if isSkippable(statement) || words.starts(with: ["update", "or", "ignore"]) {
            reasons.append("it skipped rows that a constraint rejects")
        }
        if store.effects.hasTrigger(table) { reasons.append("a trigger skipped its rows") }
        if store.effects.mayReject(statement) { reasons.append("it failed because of a foreign key") }
        if isContended { reasons.append("it failed because another connection had a lock") }
        return reasons.joined(separator: ", or ")
    }

    /// True for an `INSERT` that skips rows that a constraint rejects.
    private static func isSkippable(_ statement: StoreEvidence.Statement) -> Bool {
        let words = statement.parts.words
        guard statement.outline.kind == .insert else { return false }
        return words.starts(with: ["insert", "or", "ignore"])
            || zip(words, words.dropFirst()).contains { $0 == ("do", "nothing") }
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
