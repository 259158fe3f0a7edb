internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The findings that the experiments about a question give.
struct ExperimentFindings {
    let experiment: Experiment
    /// True if the question is the first one, which titles needn't name.
    var isFirst = true
    /// True if the first question is a query of the same line.
    var hasLineOfFirst = false

    private static let variantLimit = 3

    private var question: Question { experiment.question }
    private var store: Timeline { question.store }
    /// The query, inside a sentence.
    private var asked: String {
        guard !isFirst else { return "the query" }
        return question.record.source.map {
            "the query at \(SafeText.line(String($0.file.split(separator: "/").last ?? ""))):\($0.line)"
                + (hasLineOfFirst ? question.parameters : "")
        } ?? "another query of this test"
    }
    /// The query, at the start of a sentence.
    private var subject: String { asked.prefix(1).uppercased() + asked.dropFirst() }

    var all: [Finding] {
        var findings = experiment.trials.map(finding) + [otherTests, setting].compactMap(\.self)
        findings += experiment.variants.prefix(Self.variantLimit).map { variant, result in
            finding(variant, result)
        }
        if !question.isSource { findings += withoutEffect }
        if experiment.trials.isEmpty, store.steps.isEmpty { findings += lastWrites }
        if !question.isSource || question.writer != nil { findings.append(query) }
        return findings
    }

    private func finding(_ trial: Experiment.Trial) -> Finding {
        let (title, evidence, note) = description(of: trial)
        var explanation = question.statedResult + note
        if isOtherResult(of: trial), trial.partCount == nil, let obstacle = trial.obstacle {
            explanation += " The rest of it can't be undone alone: \(obstacle)."
        }
        let isFixOfOthers =
            experiment.others != nil && trial.effect == .fixes && trial.step.isOfOtherTest
        let kinds = Set(trial.rows.map(\.change))
        var finding = Finding(
            code: kinds == [.deleted] && trial.step.changes.schema.isEmpty
                ? .unexpectedDelete : .resultChanged, title: title,
            confidence: isFixOfOthers && isSignificant && question.isFailing
                || evidence == .fix && isSignificant && kinds != [.inserted]
                    && (trial.partCount != nil || !experiment.wasExpected)
                ? .likely : .possible, store: store.name, rows: trial.rows,
            transaction: trial.step.number, explanation: explanation)
        finding.evidence =
            question.isSource ? max(evidence, question.writer?.evidence ?? .source, .source) : evidence
        finding.isFixOfOthers = isFixOfOthers
        finding.isExactFix = trial.effect == .fixes && isSignificant && question.isFailing
        if let result = trial.result, result != question.result || trial.effect == .fixes {
            finding.undone = Finding.Undone(
                transactions: trial.step.number.map { [$0] } ?? [],
                rows: Array(trial.rows.prefix(trial.partCount ?? 0)),
                result: question.text(of: result), isExpected: trial.effect == .fixes)
        }
        finding.take(
            trial.effect == .migrates
                ? experiment.migrated(in: trial.step).suffix(Timeline.maximumCandidates)
                : writers(in: trial.step)[...])
        return finding
    }

    /// The finding that the result is the expected one without all that other tests wrote; nil if it isn't, or if undoing
    /// one of their transactions is enough.
    private var otherTests: Finding? {
        guard let others = experiment.others,
            !experiment.trials.contains(where: { $0.effect == .fixes && $0.step.isOfOtherTest })
        else { return nil }
        let (steps, result) = (others.steps, others.result)
        let rows = steps.flatMap { $0.rows.filter { question.reads[folded($0.table)] != nil } }
        let object = steps.count == 1 ? "the transaction" : "the \(steps.count) transactions"
        var finding = Finding(
            code: .resultChanged,
            title:
                "Without \(object) of other tests\(others.isRenumbered ? " and their numbers" : ""), \(asked) returns \(question.expectedText(of: result))",
            confidence: isSignificant && question.isFailing ? .likely : .possible, store: store.name,
            rows: Array(rows.prefix(5)), explanation: question.statedResult, evidence: .fix)
        finding.undone = Finding.Undone(
            transactions: steps.compactMap(\.number).reversed(), rows: [],
            result: question.text(of: result), isExpected: true)
        finding.isFixOfOthers = true
        finding.add(steps.compactMap(store.otherTest), "They are")
        finding.take(Timeline.distinct(steps.reversed().flatMap(\.statements).filter(\.hasChangedRows)))
        return finding
    }

    /// The finding that the result is the expected one without settings of the query's connection; nil if it isn't.
    private var setting: Finding? {
        guard let result = experiment.withoutSettings,
            let (name, statement) = question.settings.max(by: { $0.value.order < $1.value.order })
        else { return nil }
        return Finding(
            code: .resultChanged,
            title: "Without PRAGMA \(name), \(asked) returns \(question.expectedText(of: result))",
            confidence: isSignificant && question.isFailing ? .likely : .possible, store: store.name,
            statement: statement.record, explanation: question.statedResult, evidence: .fix)
    }

    /// Returns the title and the evidence of an effect, and a sentence to add to the query's result.
    private func description(
        of trial: Experiment.Trial
    ) -> (title: String, evidence: Finding.Evidence, note: String) {
        let name = store.title(of: trial.step)
        switch trial.effect {
        case .fixes:
            let result = question.expectedText(of: trial.result ?? question.result)
            return (withoutChange(trial, result), .fix, "")
        case .leaves:
            let step = store.subject(of: trial.step)
            return (
                "Before \(step), \(asked) returned \(question.claim.shown.map { "the expected \($0)" } ?? "the expected result")",
                .end,
                isOtherResult(of: trial) ? "" : sameResult(trial)
            )
        case .changes where !isOtherResult(of: trial):
            return ("\(name) changed the schema, and the result of \(asked)", .change, "")
        case .approaches, .changes, .recedes, .named:
            guard isOtherResult(of: trial) || trial.partCount != nil else {
                let isOfQuery = trial.changes.contains(where: experiment.named.contains)
                let value =
                    question.isReversed
                    ? "the assertion's other"
                    : question.claim.expected?.isList == true ? "an expected" : "the expected"
                let row =
                    isOfQuery
                    ? "that \(asked) names"
                    : "with \(value) value"
                        + (question.claim.expected?.isList == true ? " that the result lacks" : "")
                return ("\(name) changed a row \(row)", .named, sameResult(trial))
            }
            let evidence: Finding.Evidence =
                switch trial.effect {
                case .approaches: .approach
                case .changes: .change
                case .recedes: .recession
                default: .otherValue
                }
            if let result = trial.result, trial.partCount == nil,
                !question.differ(result, question.result)
            {
                return (
                    "Without \(store.subject(of: trial.step)), the result of \(asked) differs in other values",
                    evidence, ""
                )
            }
            let result = trial.result.map(question.text) ?? "another result"
            return (withoutChange(trial, result), evidence, "")
        case .migrates:
            return ("\(name) changed the schema, and rows that \(asked) reads", .migration, "")
        case .excludes, .excludesOther:
            let evidence: Finding.Evidence =
                trial.isExpectedWithoutTerm && !question.isCommon
                ? .expectedExclusion
                : trial.effect == .excludes || question.result.rows.isEmpty ? .exclusion : .touched
            return (
                "\(name) changed rows that \(asked) leaves out", evidence,
                " It leaves them out because of \(SafeText.line(trial.term ?? "a term"))."
            )
        case .touches:
            let isLoss =
                question.expectsRows && question.result.rows.isEmpty
                && trial.rows.contains { $0.change == .deleted }
            return (
                "\(name) \(isLoss ? "deleted rows of" : "changed") a table that \(asked) reads",
                isLoss ? .exclusion : .touched, sameResult(trial)
            )
        }
    }

    private func isOtherResult(of trial: Experiment.Trial) -> Bool {
        trial.result != nil && trial.result != question.result
    }

    private func withoutChange(_ trial: Experiment.Trial, _ result: String) -> String {
        let part =
            trial.partCount.map { count in
                let row = count == 1 ? trial.rows.first : nil
                let columns =
                    trial.partColumns.map { SafeText.line($0.joined(separator: ", ")) + " of " } ?? ""
                return row.map { "the change of \(columns)\($0.title) in " } ?? "\(count) changes of "
            } ?? (trial.obstacle == nil ? "" : "a part of ")
        let again = trial.isReplayed ? ", and with everything after it run again" : ""
        return "Without \(part)\(store.subject(of: trial.step))\(again), \(asked) returns \(result)"
    }

    /// A sentence about undoing a transaction without an effect on the result, or about the reason why it wasn't undone.
    private func sameResult(_ trial: Experiment.Trial) -> String {
        if let obstacle = trial.obstacle { return " It can't be undone alone: \(obstacle)." }
        if !trial.step.isComplete { return " The transaction has too many changes to be undone." }
        return trial.result == nil ? "" : " Its result is the same without the transaction."
    }

    /// The statements of a transaction that wrote to the tables that the query reads.
    private func writers(in step: Timeline.Step) -> [StatementRecord] {
        step.statements.filter {
            $0.record.error == nil && ($0.outline.table.map { question.reads[$0] != nil } ?? false)
                && !$0.outline.isQuery
        }.map(\.record)
    }

    /// True if an expected result is no coincidence.
    private var isSignificant: Bool {
        !question.isChance && !question.parts.allSatisfy(\.isEmbedded)
            && question.parts[0].columns(of: question.claim.expected, in: question.result) == nil
    }

    private func finding(_ variant: QueryVariants.Variant, _ result: QueryResult) -> Finding {
        let isStrong =
            variant.family == .nulls
            || question.isFailing && !question.isCommon && variant.family == .form
        let count = experiment.variants.count
        let isClear =
            variant.family == .nulls || count == 1 && !question.isChance
            || question.claim.expected?.telling.count ?? 0 > 1
                && experiment.variants.allSatisfy { $0.variant.family == variant.family }
        let frequency =
            question.claim.shown == nil
            ? ""
            : " Of \(Counted.items(Int64(experiment.variantCount), "variant")) of the query that were tried, "
                + (count == 1 ? "only this one returns" : "\(count) return") + " the expected result."
        return Finding(
            code: .wrongQuery,
            title:
                "\(subject) returns \(question.claim.shown != nil && question.isExpected(result) ? question.expectedText(of: result) : question.text(of: result)) "
                + SafeText.line(TextWidth.shortened(variant.text, to: 120)),
            confidence: isStrong && question.claim.shown != nil && isClear ? .likely : .possible,
            store: store.name, statement: question.record,
            explanation:
                "\(question.title) returned \(question.text(of: question.result))\(question.parameters)."
                + frequency, evidence: isStrong ? .variant : .commonVariant)
    }

    /// The last statements on the tables of the query that changed no row.
    private var withoutEffect: [Finding] {
        let statements = store.testStatements
        var seen: Set<String> = []
        var findings: [Finding] = []
        for (index, statement) in statements.enumerated().reversed() where findings.count < 3 {
            guard statement.writes, statement.record.error == nil, statement.record.changes == 0,
                let table = statement.outline.table, question.reads[table] != nil,
                statement.order < question.statement.order || !question.isFailing
            else { continue }
            let next = statements[(index + 1)...].prefix(4).first(where: \.writes)
            let isUpsert =
                next?.outline.kind == .insert && next?.outline.table == table
                && statement.outline.kind == .update
            guard !isUpsert, seen.insert(statement.record.textAndPlace).inserted,
                !store.isMigration(statement),
                statement.outline.kind == .insert || store.hadRows(table, before: statement)
            else { continue }
            let name = store.tableName(of: statement)
            let verb =
                switch statement.outline.kind {
                case .insert: "An INSERT into \(name) inserted no row"
                case .update: "An UPDATE of \(name) changed no row"
                default: "A DELETE of \(name) changed no row"
                }
            let isRoutine = statements.contains {
                $0.record.sql == statement.record.sql && $0.record.changes ?? 0 > 0
            }
            let isNamed = (statement.record.values ?? []).contains {
                $0.value != .null && question.values.contains($0.value)
            }
            let isUpdate = statement.outline.kind == .update && isNamed && !isRoutine
            findings.append(
                Finding(
                    code: .noEffect, title: verb, confidence: .possible, store: store.name,
                    statement: statement.record,
                    explanation:
                        "\(question.title) reads this table. SQLite counted no changed row, and the "
                        + "log has no error.", evidence: isUpdate ? .noUpdate : .noEffect))
        }
        return findings
    }

    /// The last statements that changed the tables of the query, in a store without a history.
    private var lastWrites: [Finding] {
        store.lastWrites(of: Set(question.reads.keys)).map { statement in
            Finding(
                code: .resultChanged,
                title: "A statement changed \(store.tableName(of: statement)), which \(asked) reads",
                confidence: .possible, store: store.name, statement: statement.record,
                explanation: question.statedResult
                    + " \(store.missingSteps), so the effect of the statement is unknown.",
                evidence: .touched)
        }
    }

    private var query: Finding {
        // A value that many queries return may be another one by chance.
        let isRight =
            question.isAlone && !question.isCommon && question.known.map(question.isExpected) ?? false
        let title: String
        var explanation: String
        if question.writer != nil {
            let result = question.text(of: question.result)
            title = "Values that were written come from a query that returned \(result)"
            explanation = "\(question.title) has them\(question.parameters)."
        } else if isRight {
            title = "\(subject) returns \(question.expectedText(of: question.result))"
            explanation =
                "The store has the expected value, so the code that reads it, "
                + "or what it does with the result, is wrong."
        } else {
            title =
                question.known.map { "\(subject) returned \(question.text(of: $0))" }
                ?? "The result of \(asked) is unknown"
            let relation =
                if question.parts == [.all], question.claim.tested != nil, question.known != nil {
                    "has another result than the assertion compared, which may be computed from it"
                } else if question.parts == [.all], question.known != nil {
                    "\(question.isFailing ? "ran" : "may have run") for the assertion\(question.parameters)"
                } else {
                    (question.isFailing ? "has " : "may have ")
                        + (question.parts[0] == question.parts[0].ordered
                            || question.claim.tested.map { !$0.hasOrder(in: question.result) } ?? false
                            ? "the result that the assertion compared"
                            : "the elements that the assertion compared in another order")
                        + question.parameters
                }
            explanation = "\(question.title) \(relation)."
            if question.known == nil { explanation += " It \(question.obstacle)." }
        }
        var finding = Finding(
            code: question.isFailing ? .failingQuery : .query, title: title, confidence: .possible,
            store: store.name,
            rows: namedRows, statement: question.record, explanation: explanation,
            evidence: isRight ? .rightData : .query)
        if let writer = question.writer {
            finding.evidence = max(writer.evidence, .source)
            finding.writer = writer.transaction
        }
        return finding
    }

    /// The rows that the query names by their key, and those with a value that only one of the operands has.
    private var namedRows: [Finding.Row] {
        var rows: [Finding.Row] = []
        for table in store.tables where question.reads[folded(table.name)] != nil {
            let key = store.keyColumns(of: table.name)
            guard key.count == 1 else { continue }
            func add(where column: String, is value: Value) {
                let found = try? store.rows(
                    "SELECT \(quotedIdentifier(key[0])) FROM \(quotedIdentifier(table.name)) WHERE "
                        + "\(quotedIdentifier(column)) IS ?", [value], limit: 2)
                for values in found ?? [] {
                    let row = Finding.Row(
                        table: table.name, key: Finding.Row.key(key, values), change: .present)
                    if !rows.contains(row) { rows.append(row) }
                }
            }
            let values = experiment.named.values(of: key[0], in: table.name)
            for value in question.values.prefix(5) where values.contains(value) {
                add(where: key[0], is: value)
            }
            guard case .list(let index, _) = question.parts[0],
                let name = question.result.columns[safe: index],
                let column = table.columns.first(where: { folded($0.name) == folded(name) })
            else { continue }
            let actual = question.claim.tested?.values ?? []
            let expected = question.claim.expected?.values ?? []
            for value in actual.filter({ !expected.contains($0) })
                + expected.filter({ !actual.contains($0) })
            {
                add(where: column.name, is: value.number.map { .real($0) } ?? .text(value.text))
            }
        }
        return Array(rows.prefix(5))
    }
}

extension Question {
    /// The query as the beginning of a sentence.
    var title: String {
        let place = record.source.map { " at \(SafeText.line($0.place))" } ?? ""
        return (isFailing ? "The failing query" : "A query of this test") + place
    }

    /// The reason why the result isn't known, as a clause that follows the query.
    var obstacle: String {
        if statement.localSQL == nil { return "reads another database of its connection" }
        return record.knownValues == nil
            ? "can't be repeated without the values of its parameters" : "can't run outside of the test"
    }

    /// The result at the failure as a sentence.
    var statedResult: String {
        guard let known else {
            return "\(title) \(obstacle), so its result is unknown."
        }
        let time = isFailing && path == store.path ? "at the failure" : "when it ran"
        return "\(title) returned \(text(of: known)) \(time)\(parameters)."
    }

    var parameters: String {
        guard !values.isEmpty else { return "" }
        let texts = (record.values ?? []).prefix(5).map {
            StoredText.text(of: StoredValue($0), width: 40)
        }
        let rest = values.count - texts.count
        return " (parameters: " + texts.joined(separator: ", ") + (rest > 0 ? " and \(rest) more)" : ")")
    }
}

extension Finding {
    /// Takes statements that can have changed the rows: one as the cause, several as candidates.
    mutating func take(_ found: some BidirectionalCollection<StatementRecord>) {
        guard let last = found.last else { return }
        if found.allSatisfy({ $0.sql == last.sql && $0.source == last.source }) {
            statement = last
        } else if found.count <= Timeline.maximumCandidates {
            statements = Array(found)
        }
    }
}
