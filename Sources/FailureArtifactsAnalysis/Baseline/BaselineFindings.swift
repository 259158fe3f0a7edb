internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// The findings about the differences from the test's last passing run, or about the lack of them.
struct BaselineFindings {
    /// The maximum number of differences that are findings.
    private static let limit = 2
    private static let maximumTests = 5
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

    /// Returns nil without a baseline, or if nothing can be compared.
    init?(_ failure: FailureEvidence) {
        guard
            let comparison = BaselineComparison(
                failure.own, failure.baselines, common: failure.commonShapes)
        else { return nil }
        self.failure = failure
        self.comparison = comparison
        baseline = failure.baselines[0]
        let asked = failure.usedStores.reduce(into: Set<String>()) { $0.formUnion($1.asked.tables) }
        for store in failure.usedStores.reversed() {
            for (index, statement) in store.statements.enumerated() {
                places[statement.order] = (store, index)
            }
        }
        for difference in comparison.differences.prefix(Self.maximumDifferences) {
            let finding = finding(difference, asked)
            if difference.isCommon { common.append(finding) } else { own.append(finding) }
        }
    }

    /// Puts the differences into their places among other findings, which are in order.
    ///
    /// What only this test has comes first, and what passing tests have, too, last. A finding about the statement of a
    /// difference becomes a part of it.
    func added(to findings: [Finding]) -> [Finding] {
        var others = findings
        var first = Array(own.prefix(Self.limit))
        for index in first.indices {
            guard let other = others.firstIndex(where: { $0.isAbout(first[index]) }) else { continue }
            first[index].take(others.remove(at: other))
        }
        let hasLogs = failure.metadata.stores.allSatisfy { $0.statements?.reason == nil }
        if own.isEmpty, comparison.isConclusive, hasLogs {
            first = [same]
            for index in others.indices { others[index].confidence = .possible }
        }
        return first + others + common.prefix(Self.limit)
    }

    /// The finding that nothing differs.
    private var same: Finding {
        let count = common.count
        return Finding(
            code: .noDifference,
            title:
                "The database was asked the same, and did the same, as when this test passed at \(baseline.title)",
            confidence: .possible,
            explanation:
                "Look at the expectation, at code after the query, or at what other tests left."
                + (count == 0
                    ? ""
                    : " \(Counted.items(Int64(count), "difference is", "differences are")) not counted: "
                        + "passing tests have \(count == 1 ? "it" : "them"), too."),
            evidence: .difference)
    }

    private func finding(
        _ difference: RunComparison.Difference, _ asked: Set<String>
    ) -> Finding {
        // With the same statements, another number of rows is only a consequence.
        let isLikely =
            !difference.isCommon && difference.kind != .scanned
            && !difference.tables.isDisjoint(with: asked)
        let text = DifferenceText(difference, baseline)
        let known = difference.failing.flatMap { places[$0.record.order] }
        let store =
            known?.store
            ?? failure.usedStores.first { !difference.tables.isDisjoint(with: $0.schema.tables.keys) }
        let statement = known.map { $0.store.statements[$0.index] }
        let step = statement.flatMap { store?.step(of: $0) }.flatMap { store?.steps[$0] }
        return Finding(
            code: .differenceFromPass, title: text.title, confidence: isLikely ? .likely : .possible,
            store: store?.name, rows: statement.flatMap { step?.rows(of: $0) } ?? [],
            transaction: step?.number, statement: statement?.record ?? comparison.record(of: difference),
            explanation: text.explanation
                + (difference.isCommon ? "\nPassing tests have this difference, too." : "")
                + (contentAtStart(difference).map { "\n" + $0 } ?? ""),
            evidence: .difference)
    }

    /// Returns sentences about a result that differs although all statements are the same.
    private func contentAtStart(_ difference: RunComparison.Difference) -> String? {
        guard own.isEmpty, comparison.differences.allSatisfy(\.isOfResult) else { return nil }
        let writers = failure.usedStores.flatMap { store in
            store.statements.filter { statement in
                !statement.isOfTest && statement.hasChangedRows
                    && statement.outline.table.map(difference.tables.contains) ?? false
            }.compactMap(\.record.test)
        }
        let tests = (failure.metadata.tests ?? []).filter { Set(writers).contains($0.id) }
        let names = tests.prefix(Self.maximumTests).map { SafeText.line("\($0.suite).\($0.name)") }
        let more = tests.count - names.count
        return "All statements are the same, so the content differed when the test began."
            + (names.isEmpty
                ? ""
                : " Other tests wrote to this table: \(names.joined(separator: ", "))"
                    + (more > 0 ? " and \(more) more." : "."))
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
        if let order = statement?.order, order == difference.statement?.order { return true }
        return transaction != nil && transaction == difference.transaction
    }

    /// Adds what another finding says about the same statement.
    fileprivate mutating func take(_ other: Finding) {
        rows = other.rows.isEmpty ? rows : other.rows
        (rowsOfTransaction, undone, query) = (other.rowsOfTransaction, other.undone, other.query)
        explanation += "\n" + SafeText.line(other.title) + ": " + other.explanation
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
