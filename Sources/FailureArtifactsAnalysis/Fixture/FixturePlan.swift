package import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite

/// The content of a regression test: the state of a store before the transaction that broke it, the statements of that
/// transaction, and a query for what is wrong.
package struct FixturePlan {
    /// The statements that broke the store, or failed to change it.
    package enum Culprit: Equatable, Sendable {
        /// The transaction with this number.
        case transaction(Int)
        /// The transaction that was open at the failure.
        case openTransaction
        /// A statement that changed nothing, after the transaction with this number.
        case statement(after: Int)
    }

    /// The finding about the culprit.
    package let finding: Finding
    /// The store.
    package let store: BundleMetadata.Store
    /// The place of the culprit among the transactions.
    package let culprit: Culprit
    /// The transaction's statements that wrote, or the statement that failed or had no effect, oldest first.
    package private(set) var statements: [StatementRecord]
    /// Descriptions of the rows that the transaction changed, of which a limited number is kept.
    package private(set) var changes: [String]
    /// The number of all rows that the transaction changed.
    package let changeCount: Int
    /// A query that returns rows if the store is broken; nil if no query can tell.
    package private(set) var query: String?

    /// The transaction's changes; nil for a statement that changed nothing.
    let step: StoreEvidence.Step?

    /// The maximum number of changes that are described.
    private static let changeLimit = 12

    /// Finds the transaction that broke a store.
    ///
    /// The plan is nil if none of the findings with the highest confidence names a transaction of the store.
    ///
    /// - Parameters:
    ///   - evidence: The failure.
    ///   - explanation: The findings about it, best first.
    ///   - name: The name of the store; nil for the one of the best finding.
    package init?(_ evidence: FailureEvidence, _ explanation: Explanation, store name: String?) {
        let findings = explanation.findings.filter { name == nil || $0.store == name }
        for finding in findings where finding.confidence == findings[0].confidence {
            guard let store = evidence.stores.first(where: { $0.name == finding.store }),
                let (culprit, step) = Self.culprit(of: finding, in: store)
            else { continue }
            self.finding = finding
            self.store = store.store
            self.culprit = culprit
            self.step = step
            statements =
                step?.statements.filter { $0.writes && $0.record.error == nil }.map(\.record)
                ?? [finding.statement].compactMap(\.self)
            let changed = (step?.tables ?? []).flatMap { table in
                table.rows.map { StoreEvidence.row($0, in: table).text }
            }
            changes = Array(changed.prefix(Self.changeLimit))
            changeCount = (step?.tables ?? []).reduce(0) { $0 + Int($1.counts.total) }
            // A source file has the same line ends throughout.
            query = try? FixtureCheck(finding: finding, step: step, store: store).query()?
                .replacing("\r\n", with: "\n")
            return
        }
        return nil
    }

    private static func culprit(
        of finding: Finding, in store: StoreEvidence
    ) -> (Culprit, StoreEvidence.Step?)? {
        if let number = finding.transaction {
            return store.steps.first { $0.number == number }.map { (.transaction(number), $0) }
        }
        guard let order = finding.statement?.order, !store.steps.isEmpty else { return nil }
        if let last = store.steps.last, last.number == nil,
            last.statements.contains(where: { $0.order == order })
        {
            return (.openTransaction, last)
        }
        let earlier = store.steps.last { step in
            step.number != nil && step.statements.contains { $0.order < order }
        }
        return earlier?.number.map { (.statement(after: $0), nil) }
    }

    /// Extracts the state before the culprit and the state after it.
    ///
    /// - Parameters:
    ///   - bundle: The bundle.
    ///   - directory: An existing directory for the files.
    /// - Returns: The paths of the files. They are equal if the culprit changed nothing.
    /// - Throws: An error if a state can't be extracted.
    package func states(
        in bundle: BundleReader, below directory: String
    ) throws -> (before: String, after: String) {
        let seen = try bundle.store(named: store.name)
        func state(_ number: Int) throws -> String {
            try bundle.extract(seen, at: CommitReference(number), below: directory).path
        }
        switch culprit {
        case .transaction(let number): return (try state(number - 1), try state(number))
        case .statement(let number):
            let path = try state(number)
            return (path, path)
        case .openTransaction:
            guard let committed = seen.committed(among: bundle.metadata.storeChoices) else {
                throw CommandError(.badData, "The bundle has no committed copy of '\(store.name)'.")
            }
            return (
                try bundle.extract(committed, below: directory),
                try bundle.extract(seen, below: directory)
            )
        }
    }

    /// Removes the query if it doesn't tell a broken store from a sound one.
    ///
    /// - Parameters:
    ///   - fixture: The store that the test starts with, for which it must return no row.
    ///   - broken: The state after the transaction, for which it must return a row.
    ///   - limits: The resource limits.
    package mutating func verifyQuery(fixture: String, broken: String, limits: UntrustedLimits) {
        guard let query else { return }
        let check = QueryCheck(query, limits: limits)
        let tells = (try? check.holds(for: broken) && !check.holds(for: fixture)) ?? false
        if !tells { self.query = nil }
    }

    /// Removes everything that shows values of the store: the query, the changes, and the values in statements.
    ///
    /// - Parameter rules: The redaction rules that the statements obey.
    package mutating func removeValues(obeying rules: RedactionRules) {
        query = nil
        changes = []
        statements = StatementRecord.redacted(statements, obeying: rules, keeping: [])
    }
}
