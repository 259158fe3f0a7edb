internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The findings about the differences from the test's last passing run, or about the lack of them.
struct BaselineFindings {
    /// The maximum number of differences that are findings.
    private static let limit = 2
    private static let maximumTests = 5
    /// The number of differences of passing tests above which code was edited in several places: after one edit, there were
    /// at most 6, but for a migration that had changed.
    private static let maximumCommon = 8
    /// The maximum number of differences that are described.
    private static let maximumDifferences = 1000

    private let failure: FailureEvidence
    private let comparison: BaselineComparison
    private let baseline: Baseline
    /// The stores of the statements, and their indices in them, by the statements' orders.
    private var places: [UInt64: (store: Timeline, index: Int)] = [:]
    /// The differences that only this test has, the first one first, and those that passing tests have, too.
    private(set) var own: [Finding] = []
    private(set) var common: [Finding] = []
    /// Those of ``common`` about a table that a question or a later query reads, by their closeness to the question.
    private var relevant: [(closeness: Int, definition: String?, isEdit: Bool, finding: Finding)] = []
    /// The tables that the questions read.
    private let asked: Set<String>
    /// These, and the tables whose triggers may change their rows.
    private let affecting: Set<String>
    private let failingQueries: Set<UInt64>
    /// True if an edit of code is among ``own``.
    private var hasEdit = false
    /// True if one of ``own`` is about what the test reads.
    private var hasRelevant = false

    /// Returns nil without a baseline, or if nothing can be compared.
    init?(_ failure: FailureEvidence) {
        guard
            let comparison = BaselineComparison(
                failure.own, failure.baselines, common: failure.commonDifferences,
                failedAt: failure.place,
                views: failure.usedStores.reduce(into: [:]) {
                    $0.merge($1.tablesOfViews) { $0.union($1) }
                })
        else { return nil }
        self.failure = failure
        self.comparison = comparison
        baseline = failure.baselines[0]
        asked = failure.usedStores.reduce(into: []) { $0.formUnion($1.asked.tables) }
        affecting = failure.usedStores.reduce(into: []) {
            $0.formUnion($1.tables(affecting: $1.asked.tables))
        }
        failingQueries = Set(failure.usedStores.flatMap(\.asked.failingQueries))
        for store in failure.usedStores.reversed() {
            for (index, statement) in store.statements.enumerated() {
                places[statement.order] = (store, index)
            }
        }
        let differences = comparison.differences.prefix(Self.maximumDifferences)
        let start = differences.filter { !$0.isCommon }.map(\.position).min()
        var (edits, origins): ([Finding], [Finding]) = ([], [])
        var scanned: [Finding] = []
        var leading: Int?
        for difference in differences {
            let missing = difference.kind == .missing ? difference.passing?.record : nil
            let isRelevant =
                !(difference.isCommon && hasSameResult(difference))
                && (!comparison.tables(of: difference).isDisjoint(with: affecting)
                    || comparison.isReadLater(difference)
                    || missing.map { failure.place?.isCaller(of: $0) ?? false } ?? false)
            let closeness = closeness(of: difference)
            // Another text is no consequence, and may have an effect only in this test.
            let isEdit =
                difference.isCommon && isRelevant && difference.isEdit
                && (closeness == 0 || start.map { difference.position <= $0 } ?? false)
            let finding = finding(difference, isRelevant: isRelevant, isEdit: isEdit)
            if isEdit {
                edits.append(finding)
            } else if difference.isOrigin(of: start), isRelevant {
                origins.append(finding)
            } else if difference.isCommon {
                common.append(finding)
                if isRelevant {
                    relevant.append(
                        (
                            closeness, difference.definition, comparison.isEffectiveEdit(difference),
                            finding
                        ))
                }
            } else if difference.kind == .scanned, !comparison.isOfSameCode {
                scanned.append(finding)
            } else {
                // Code may have used what an earlier query had returned.
                if difference.isFirst, difference.isOfQuery { leading = own.count }
                own.append(finding)
            }
        }
        if let leading, own.contains(where: { $0.confidence == .likely }) {
            own[leading].confidence = .likely
        }
        // What the test reads comes first, and other numbers of rows, which are consequences, last.
        hasEdit = !edits.isEmpty || differences.contains { !$0.isCommon && $0.isEdit }
        if edits.isEmpty, origins.count == 1 { origins[0].confidence = .likely }
        own = edits + origins + own + scanned
        if !comparison.isOfSameCode { own.sort { $0.confidence > $1.confidence } }
        relevant.sort { $0.closeness < $1.closeness }
        hasRelevant = own.contains { $0.confidence == .likely }
        if areMany {
            for index in own.indices where own[index].confidence == .likely {
                own[index].confidence = .possible
                own[index].explanation +=
                    "\nPassing tests differ from their last runs in many ways, so it may be one of several edits."
            }
        }
    }

    /// True if the query of the passing run would have returned the same in the failing one; false if that is unknown.
    private func hasSameResult(_ difference: RunComparison.Difference) -> Bool {
        guard !areMany, difference.kind == .text, difference.times == 1, let own = difference.failing,
            let other = difference.passing, own.text.outline.isSelect, other.text.outline.isSelect,
            let place = places[own.record.order]
        else { return false }
        let path = place.store.path(at: place.store.statements[place.index])
        let budget = StepBudget(steps: failure.effort.steps)
        let results = [own.record, other.record].map { record in
            record.boundValues.flatMap {
                QueryResult.of(record.sql, $0, inFile: path, place.store.limits, budget)
            }
        }
        return results[0] != nil && results[0] == results[1]
    }

    /// True if code was edited in several places.
    private var areMany: Bool { failure.commonDifferences.count > Self.maximumCommon }

    /// Returns 0 for the failing query, 1 for another statement on rows, and 2 for one on the schema or a setting.
    private func closeness(of difference: RunComparison.Difference) -> Int {
        guard let text = (difference.failing ?? difference.passing)?.text else { return 2 }
        if let order = difference.failing?.record.order, failingQueries.contains(order) { return 0 }
        return text.isControl || text.outline.kind == .definition ? 2 : 1
    }

    /// Puts the differences into their places among other findings, which are in order.
    ///
    /// What only this test has comes first, and what passing tests have, too, last. A finding about the statement of a
    /// difference becomes a part of it.
    func added(to findings: [Finding]) -> [Finding] {
        var others = findings
        for index in others.indices where others[index].code == .wrongQuery {
            // The query is as it was when the test passed.
            if let order = others[index].statement?.order, !comparison.isOtherText(order) {
                others[index].confidence = .possible
            }
        }
        var first = own
        let triggers = Set(
            others.filter { $0.undone != nil }.flatMap(\.means).filter { $0.kind == .trigger }
                .map { folded($0.name) })
        let isOfTrigger = { (definition: String?) in definition.map(triggers.contains) ?? false }
        let effective = relevant.filter { isOfTrigger($0.definition) }.map(\.finding)
        let relevant = relevant.filter { !isOfTrigger($0.definition) }
        if !comparison.isOfSameCode, !hasRelevant, isConclusive {
            // What the test doesn't read, and other numbers of rows, say less than an edit that other tests have, too.
            let split = relevant.firstIndex { $0.closeness == 2 } ?? relevant.endIndex
            first = relevant[..<split].map(\.finding) + own + relevant[split...].map(\.finding)
        }
        first = effective + first
        // The runs differ only in this text.
        if own.isEmpty, relevant.count == 1, relevant[0].isEdit, !areMany,
            first.first == relevant[0].finding
        {
            first[0].confidence = .likely
        }
        // With the same code, the others are consequences of the first.
        first = Array(first.prefix(comparison.isOfSameCode ? 1 : Self.limit))
        let rest = common.filter { !first.contains($0) }.prefix(Self.limit)
        for index in first.indices {
            guard let other = others.firstIndex(where: { $0.isAbout(first[index]) }) else { continue }
            first[index].take(others.remove(at: other))
        }
        // The others may be consequences of the first.
        for index in first.indices.dropFirst() { first[index].confidence = .possible }
        for index in effective.indices.prefix(first.count) where !areMany {
            first[index].confidence = .likely
        }
        // What another test changed leads to differences, unless code was edited.
        let other = others.firstIndex { $0.code == .otherTest || $0.isLeftBehind }
        if let other, !hasEdit, effective.isEmpty {
            for index in first.indices { first[index].confidence = .possible }
            first.insert(others.remove(at: other), at: 0)
            if !own.isEmpty { first[0].confidence = .likely }
        }
        if own.isEmpty, isConclusive {
            if !first.contains(where: { $0.code == .differenceFromPass }) { first.append(same) }
            for index in others.indices { others[index].confidence = .possible }
        }
        return first + others + rest
    }

    /// True if the lack of a difference says something.
    private var isConclusive: Bool {
        comparison.isConclusive
            && failure.metadata.stores.allSatisfy { $0.statements?.reason == nil }
    }

    /// The finding that nothing differs.
    private var same: Finding {
        let count = common.count
        // A known query of the assertion did run.
        let next = failingQueries.isEmpty ? comparison.next : nil
        let others = otherTests(writingTo: asked, "a table that its query reads", before: .max)
        return Finding(
            code: .noDifference,
            title: (next == nil ? "The" : "Until it failed, the")
                + " test ran the same statements with the same values as when it passed at \(baseline.title)",
            confidence: .possible,
            explanation: (comparison.isOfSameCode ? "Both runs are of the same code. " : "")
                + (next?.source.map {
                    "The passing run went on with the query at \(SafeText.line($0.place)). If the assertion runs it, "
                        + "this run answered without the database. Otherwise, look"
                } ?? "Look") + " at the expectation, or at code after the query"
                + (others == nil ? "." : ", or at what other tests left.")
                + (count == 0
                    ? ""
                    : " \(Counted.items(Int64(count), "difference is", "differences are")) not counted: "
                        + "passing tests have \(count == 1 ? "it" : "them"), too.")
                + (others.map { "\n" + $0.sentence } ?? ""),
            evidence: .difference)
    }

    private func finding(
        _ difference: RunComparison.Difference, isRelevant: Bool, isEdit: Bool
    ) -> Finding {
        let other =
            difference.isFirst && (difference.isOfResult || comparison.isOfSameCode)
            ? otherTests(
                writingTo: difference.tables, before: comparison.order(of: difference),
                isOfResult: difference.isOfResult) : nil
        let isOfOtherTest = other.map { $0.isMeanwhile && $0.isOfTable } ?? false
        // With the same statements, another number of rows is only a consequence, and so is what follows with the same code.
        let isLikely =
            (!difference.isCommon || isEdit) && (difference.kind != .scanned || isOfOtherTest)
            && (difference.isFirst || !comparison.isOfSameCode)
            && isRelevant
        let text = DifferenceText(
            difference, baseline, after: comparison.neighbors(of: difference))
        let known = (difference.effective ?? difference.failing).flatMap { places[$0.record.order] }
        let store =
            known?.store
            ?? failure.usedStores.first { !difference.tables.isDisjoint(with: $0.schema.tables.keys) }
        let statement = known.map { $0.store.statements[$0.index] }
        let step = statement.flatMap { store?.step(of: $0) }.flatMap { store?.steps[$0] }
        let record = statement?.record ?? comparison.record(of: difference)
        var finding = Finding(
            code: .differenceFromPass, title: text.title, confidence: isLikely ? .likely : .possible,
            store: store?.name, rows: statement.flatMap { step?.rows(of: $0) } ?? [],
            transaction: step?.number, statement: record,
            explanation: ([text.explanation, place(of: difference, record?.source)].compactMap(\.self)
                + (difference.isCommon
                    ? [
                        "Tests that passed have this difference, too, where it may have no effect."
                    ] : [])
                + circumstances(of: difference, other)).joined(separator: "\n"),
            evidence: .difference)
        finding.comparison = text.comparison
        finding.isBeside =
            difference.failing == nil && record?.source != difference.passing?.record.source
        return finding
    }

    /// Returns a sentence about the line beside the place of a missing statement; nil without one.
    private func place(
        of difference: RunComparison.Difference, _ source: StatementRecord.Source?
    ) -> String? {
        guard difference.failing == nil, let source, source != difference.passing?.record.source else {
            return nil
        }
        return "In this run, its place is beside the statement at \(SafeText.line(source.place))."
    }

    /// Returns sentences about what may have led to the first difference: other content, or another test.
    private func circumstances(
        of difference: RunComparison.Difference, _ other: OtherTests?
    ) -> [String] {
        guard difference.isFirst else { return [] }
        var sentences: [String] = []
        if comparison.isOfSameCode {
            let connection = (difference.failing ?? difference.passing)?.record.connection
            let place = difference.failing == nil ? "" : connection.map { ", on connection \($0)" } ?? ""
            sentences.append(
                "Both runs are of the same code. This is their first difference: statement "
                    + "\(difference.position + 1) of the test\(place).")
        }
        if difference.isOfResult {
            sentences.append(
                "All statements before it are the same, so "
                    + (other?.isMeanwhile == true
                        ? "the content differed." : "the content differed when the test began."))
        } else if comparison.isOfSameCode {
            sentences.append(
                "Look for what changes from run to run: random values, the time, the environment, tasks, or the "
                    + "order of a Set or of rows without ORDER BY.")
        }
        return sentences + (other.map { [$0.sentence] } ?? [])
    }

    /// Other tests that may have led to a difference.
    private struct OtherTests {
        let sentence: String
        /// True if one of them did it while the failing test ran.
        let isMeanwhile: Bool
        /// True if they wrote to a table of the difference.
        let isOfTable: Bool
    }

    /// Returns the test that last wrote to tables before a statement, or else used their store, while the failing test
    /// ran; or, if only the result of a statement differs, those that wrote to the tables before the test.
    private func otherTests(
        writingTo tables: Set<String>, _ object: String = "this table", before end: UInt64,
        isOfResult: Bool = true
    ) -> OtherTests? {
        let statements = failure.usedStores.flatMap(\.statements).filter {
            !$0.isOfTest && $0.record.test != nil && $0.order < end
        }
        func closeness(_ statement: Timeline.Statement) -> Int {
            guard statement.hasChangedRows else { return 0 }
            return statement.outline.table.map(tables.contains) ?? false ? 2 : 1
        }
        func names(_ statements: [Timeline.Statement]) -> [String] {
            let numbers = Set(statements.compactMap(\.record.test))
            return (failure.metadata.tests ?? []).filter { numbers.contains($0.id) }
                .map { SafeText.line("\($0.suite).\($0.name)") }
        }
        let last = statements.filter { $0.order > comparison.start }
            .max { (closeness($0), $0.order) < (closeness($1), $1.order) }
        if let last, closeness(last) == 2 || comparison.isOfSameCode, let name = names([last]).first {
            let verb = ["used the same store", "wrote to the same store", "wrote to \(object)"]
            let place = last.record.source.map { ", \(SafeText.line($0.place))" } ?? ""
            let sql = MarkedText(last.record.sqlWithValues).text
            return OtherTests(
                sentence:
                    "Meanwhile, \(name) \(verb[closeness(last)]): \(sql) (connection \(last.record.connection)\(place)).",
                isMeanwhile: true, isOfTable: closeness(last) == 2)
        }
        let writers = names(statements.filter { closeness($0) == 2 })
        guard isOfResult, !writers.isEmpty else { return nil }
        let shown = writers.prefix(Self.maximumTests)
        let more = writers.count - shown.count
        return OtherTests(
            sentence: "Other tests wrote to \(object): \(shown.joined(separator: ", "))"
                + (more > 0 ? " and \(more) more." : "."),
            isMeanwhile: false, isOfTable: true)
    }
}

extension Timeline.Step {
    private static let maximumRows = 5

    /// Returns rows that a statement changed; nil if others of the transaction may have changed them.
    fileprivate func rows(of statement: Timeline.Statement) -> [Finding.Row]? {
        guard statement.writes, let name = statement.outline.table, let table = table(name),
            statements.count(where: { $0.writes && $0.outline.table == name }) == 1
        else { return nil }
        return table.rows.prefix(Self.maximumRows).map { Timeline.row($0, in: table) }
    }
}

extension Finding {
    /// True if a difference is about the same statement or transaction, and this finding says more about it.
    fileprivate func isAbout(_ difference: Finding) -> Bool {
        guard isExperiment || statement?.error != nil, store == difference.store else { return false }
        if let order = statement?.order, let other = difference.statement?.order {
            return order == other
        }
        return transaction != nil && transaction == difference.transaction
    }

    /// Adds what another finding says about the same statement.
    fileprivate mutating func take(_ other: Finding) {
        rows = other.rows.isEmpty ? rows : other.rows
        (rowsOfTransaction, undone, assertion) = (
            other.rowsOfTransaction, other.undone, other.assertion
        )
        (means, otherTests) = (other.means, other.otherTests)
        explanation += "\n" + SafeText.line(other.title) + ". " + other.explanation
        if other.evidence == .fix || other.confidence == .certain {
            confidence = max(confidence, .likely)
        }
    }
}

extension Finding.Confidence {
    fileprivate static func max(_ first: Self, _ second: Self) -> Self {
        first > second ? first : second
    }
}
