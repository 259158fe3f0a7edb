package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The content of a regression test: the state of a store before the transaction that broke it, the statements of that
/// transaction, and an assertion that fails after them.
package struct FixturePlan {
    /// Statements that broke the store, or failed to change it.
    package struct Culprit {
        /// The place of the statements among the transactions.
        package enum Place: Equatable, Sendable {
            case transaction(Int)
            case openTransaction
            /// A statement that failed or changed nothing, after the transaction with this number.
            case statement(after: Int)
            /// The query, after the transaction with this number; nil for the store at the failure.
            case query(after: Int?)
        }

        package let place: Place
        /// The transaction's statements that wrote, or the statement that failed or had no effect, oldest first.
        package let statements: [StatementRecord]
        /// The transaction's changes; nil for a statement that changed nothing.
        let step: Timeline.Step?

        /// Descriptions of the first rows that the transaction changed.
        package var changes: [String] { step?.rows.prefix(12).map(\.text) ?? [] }
        package var changeCount: Int {
            step?.tables.reduce(0) { $0 + Int($1.counts.total) } ?? 0
        }

        fileprivate init(_ place: Place, _ step: Timeline.Step) {
            self.place = place
            self.step = step
            statements = step.statements.filter { $0.writes && $0.record.error == nil }.map(\.record)
        }

        fileprivate init(_ place: Place, _ statement: StatementRecord) {
            self.place = place
            step = nil
            statements = [statement]
        }
    }

    /// The finding about the culprit; nil if the store is only known to give the query's wrong result.
    package let finding: Finding?
    package let store: BundleMetadata.Store
    /// The transaction or statement after the state that the test starts with.
    package private(set) var culprit: Culprit
    /// The assertion that fails; nil for a statement that fails, or if no assertion is known.
    package private(set) var assertion: RowAssertion?
    /// The statements after which the assertion fails; nil if none are known completely, so that the test is incomplete.
    package private(set) var run: FixtureRun?
    /// True if the last statement of ``run`` fails with the error that failed the test.
    package let fails: Bool
    /// The message that names the error.
    private let message: FailureMessage
    /// The assertions and the statements to try, the best ones first.
    private let assertions: [RowAssertion]
    private let runs: [FixtureRun]
    private let laterSteps: [Timeline.Step]
    /// The statements of ``FixtureRun/later``.
    package var later: [StatementRecord] { laterSteps.flatMap(\.statements).map(\.record) }

    /// Finds the transaction that broke the store with a name, or else the store of the best finding; nil if none of
    /// the findings with the highest confidence names one that had an effect, and the question isn't known either.
    package init?(_ evidence: FailureEvidence, _ explanation: Explanation, store name: String?) {
        let findings = explanation.findings.filter { name == nil || $0.store == name }
        let highest = findings.map(\.confidence).max()
        let question = explanation.question.flatMap { name == nil || $0.store == name ? $0 : nil }
        for finding in findings
        where finding.confidence == highest && finding.evidence.isOfEffect {
            guard let store = evidence.stores.first(where: { $0.name == finding.store }) else {
                continue
            }
            guard let culprit = Self.culprit(of: finding, in: store) else { continue }
            let asked = question.flatMap { $0.store == store.name ? $0 : nil }
            let assertions = [
                finding.assertion, asked?.assertion, try? Self.lostRows(of: finding, in: store),
            ].compactMap(\.self)
            self.init(evidence, finding, culprit, in: store, assertions, before: asked?.query)
            return
        }
        guard let question, let assertion = question.assertion,
            let store = evidence.stores.first(where: { $0.name == question.store })
        else { return nil }
        let culprit = Self.culprit(of: question.query, in: store)
        self.init(evidence, nil, culprit, in: store, [assertion], before: question.query)
    }

    private init(
        _ evidence: FailureEvidence, _ finding: Finding?, _ culprit: Culprit, in store: Timeline,
        _ assertions: [RowAssertion], before query: StatementRecord?
    ) {
        self.finding = finding
        self.store = store.store
        self.culprit = culprit
        self.assertions = assertions
        message = evidence.message
        fails = culprit.step == nil && finding?.evidence == .error
        let first = culprit.statements.first
        let own: [Timeline.Statement]
        if let step = culprit.step {
            own = step.statements.filter { $0.record.error == nil && $0.runsAgain }
        } else {
            let statement = store.statements.first { $0.order == first?.order }
            // The statements before it in its transaction can have caused the error.
            let earlier = statement.map(store.statements(ofTransactionWith:)) ?? []
            own =
                earlier.filter {
                    $0.order < first?.order ?? 0 && $0.record.error == nil && $0.runsAgain
                } + [statement].compactMap(\.self)
        }
        let (start, end) = (own.last?.order ?? 0, query?.order ?? .max)
        laterSteps = store.steps.filter { step in
            step.number != culprit.step?.number && !step.statements.isEmpty
                && step.statements.allSatisfy { start < $0.order && $0.order < end }
        }
        let later = laterSteps.flatMap(\.statements).filter { $0.record.error == nil && $0.runsAgain }
        let failsUnnoticed = culprit.step == nil && first?.error != nil && !fails
        runs =
            switch culprit.place {
            case .query: [FixtureRun(statements: [])]
            case .statement:
                [own.suffix(1), own[...]].flatMap {
                    FixtureRun.all(of: Array($0), later: later, ignoresErrors: failsUnnoticed)
                }
            case .transaction, .openTransaction: FixtureRun.all(of: own, later: later)
            }
    }

    private static func culprit(of finding: Finding, in store: Timeline) -> Culprit? {
        if let number = finding.transaction {
            guard let index = store.steps.firstIndex(where: { $0.number == number }) else { return nil }
            return Culprit(.transaction(number), store.steps[index])
        }
        guard let statement = finding.statement else { return nil }
        if StatementOutline(statement.sql).isQuery, statement.error == nil {
            return culprit(of: statement, in: store)
        }
        guard !store.steps.isEmpty else { return nil }
        if let last = store.steps.last, last.number == nil,
            last.statements.contains(where: { $0.order == statement.order })
        {
            return Culprit(.openTransaction, last)
        }
        guard statement.error != nil || (statement.changes ?? 0) == 0 else { return nil }
        let earlier = store.steps.last { step in
            step.number != nil && step.statements.contains { $0.order < statement.order }
        }
        return Culprit(.statement(after: earlier?.number ?? 0), statement)
    }

    /// Returns the place of a query.
    private static func culprit(of query: StatementRecord, in store: Timeline) -> Culprit {
        let earlier = store.statements.first { $0.order == query.order }.map(store.steps)
        let next = earlier.flatMap { store.steps[safe: $0.endIndex]?.number }
        return Culprit(.query(after: next.map { $0 - 1 }), query)
    }

    /// Extracts the state before the culprit and the state after it; the paths are equal if it changed nothing.
    package func states(
        in bundle: BundleReader, below directory: String
    ) throws -> (before: String, after: String) {
        let seen = try bundle.store(named: store.name)
        func state(_ number: Int) throws -> String {
            try bundle.extract(seen, at: CommitReference(number), below: directory).path
        }
        switch culprit.place {
        case .transaction(let number): return try (state(number - 1), state(number))
        case .statement(let number), .query(let number?):
            let path = try state(number)
            return (path, path)
        case .query(nil):
            let path = try bundle.extract(seen, below: directory)
            return (path, path)
        case .openTransaction:
            guard let committed = seen.committed(among: bundle.metadata.storeChoices) else {
                throw CommandError(.badData, "The bundle has no committed copy of '\(store.name)'.")
            }
            return try (
                bundle.extract(committed, below: directory), bundle.extract(seen, below: directory)
            )
        }
    }

    /// Finds statements that break the state before the culprit, and an assertion that fails then.
    package mutating func verify(_ before: String, after: String, limits: UntrustedLimits) {
        if fails {
            let known = culprit.statements.first?.error
            run = runs.first { run in
                run.error(onCopyOf: before, limits).map { error in
                    known.map { $0.message == error.message } ?? message.names(error)
                } ?? false
            }
            return
        }
        let nothing = FixtureRun(statements: [])
        // A rule that was broken before says nothing about the culprit.
        let assertions = assertions.filter { assertion in
            assertion.failed != nil
                || nothing.value(of: assertion, onCopyOf: before, limits).map(assertion.holds) ?? false
        }
        for assertion in assertions {
            let values = runs.map { $0.value(of: assertion, onCopyOf: before, limits) }
            let same = assertion.failed.flatMap { values.firstIndex(of: $0) }
            if let index = same
                ?? values.firstIndex(where: { $0.map { !assertion.holds(for: $0) } ?? false })
            {
                (self.assertion, run) = (assertion, runs[index])
                return
            }
        }
        assertion = assertions.first { assertion in
            let value = nothing.value(of: assertion, onCopyOf: after, limits)
            return value.map { !assertion.holds(for: $0) } ?? false
        }
    }

    /// Leaves out the rows of the state before the transaction that the test doesn't need; false if all rows stay, because
    /// the store is damaged or large, or nothing is known about the rows that matter.
    package func slice(
        _ before: String, after: String, limits: UntrustedLimits
    ) throws -> Bool {
        guard let step = culprit.step else { return false }
        let value = assertion.flatMap { run?.value(of: $0, onCopyOf: before, limits) }
        return try FixtureSlice(
            named: finding?.rows ?? [], steps: [step] + (run?.later.isEmpty == false ? laterSteps : []),
            tables: assertion?.tables ?? [], limits: limits,
            isSame: value == nil
                ? nil
                : { path, delete in
                    assertion.flatMap { run?.value(of: $0, onCopyOf: path, limits, prepared: delete) }
                        == value
                }
        ).apply(to: before, after: after)
    }

    /// Returns the assertion that no row is lost that should not have been deleted; nil for findings about something else.
    private static func lostRows(of finding: Finding, in store: Timeline) throws -> RowAssertion? {
        guard finding.code == .unexpectedDelete else { return nil }
        let literals = try SQLLiterals(store.connection)
        let rows = finding.rows.filter { row in
            row.change == .deleted && store.schema.tables[folded(row.table)] != nil && !row.key.isEmpty
                && !row.key.contains { $0.value.isCut }
        }
        let queries = try rows.prefix(5).map { row in
            let condition = try row.key.map {
                "\(quotedIdentifier($0.column)) IS \(try literals.literal($0.value))"
            }.joined(separator: " AND ")
            let title = try literals.literal(StoredValue(.text(Array(row.title.utf8))))
            return "SELECT \(title) AS missing WHERE NOT EXISTS "
                + "(SELECT 1 FROM \(quotedIdentifier(row.table)) WHERE \(condition))"
        }
        return queries.isEmpty
            ? nil : RowAssertion(noRowOf: queries.joined(separator: "\nUNION ALL "))
    }
}
