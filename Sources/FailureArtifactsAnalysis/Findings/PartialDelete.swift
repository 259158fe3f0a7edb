internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A transaction that deleted many rows, but not all, of a table that the queries before the failure read.
enum PartialDelete: FindingRule {
    static let code = Finding.Code.broadWrite

    /// The smallest number of rows that count as many.
    private static let minimum = 2
    /// The smallest part of the table's rows that counts as many, as its inverse.
    private static let maximumRatio: Int64 = 5

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let relevance = store.relevance(to: failure.message)
        var findings: [Finding] = []
        for table in store.tables where relevance.readTables.contains(folded(table.name)) {
            let missed = relevance.links.filter {
                $0.table == folded(table.name) && $0.column == nil && $0.isTotal
            }.map(\.delta)
            findings += try Self.findings(in: table, missing: missed, of: store, failure)
        }
        return findings
    }

    /// Returns the findings about a table.
    ///
    /// - Parameters:
    ///   - table: The table.
    ///   - missing: The numbers of rows that the assertion missed in the table, if it counted them.
    ///   - store: The table's store.
    ///   - failure: The failure.
    /// - Returns: The findings, the last transaction first.
    /// - Throws: An error if a query fails or the time is up.
    private static func findings(
        in table: TableShape, missing: [Double], of store: StoreEvidence, _ failure: FailureEvidence
    ) throws -> [Finding] {
        var count = try store.count("SELECT count(*) FROM \(quotedIdentifier(table.name))")
        guard count > 0 else { return [] }
        var findings: [Finding] = []
        // The keys of the rows that later transactions inserted.
        var inserted: Set<[StoredValue]> = []
        for (index, step) in store.steps.enumerated().reversed() {
            try store.checkTime()
            guard let changed = step.table(table.name) else { continue }
            count += changed.counts.deleted - changed.counts.inserted
            let isMigration = !step.changes.schema.isEmpty
            inserted.formUnion(changed.rows.filter { $0.kind == .inserted }.map(\.key))
            let deleted = changed.rows.filter { $0.kind == .deleted && !inserted.contains($0.key) }
            guard !step.isEarlier, !isMigration, deleted.count >= minimum,
                Int64(deleted.count) * maximumRatio >= count, mayBeDirect(step, table.name)
            else { continue }
            let number = changed.isComplete ? Int64(deleted.count) : changed.counts.deleted
            let name = store.title(of: step)
            let later = store.steps.count - 1 - index
            findings.append(
                Finding(
                    code: code,
                    title: "\(name) deleted \(number) of \(Counted.items(count, "row")) "
                        + "of \(table.name)",
                    confidence: missing.contains(Double(number)) ? .likely : .possible,
                    store: store.name,
                    rows: deleted.prefix(20).map { StoreEvidence.row($0, in: changed) },
                    transaction: step.number,
                    statement: store.origin(inStep: index, of: table.name, by: [.delete]).statement?
                        .record,
                    explanation: "\(store.lastQueries) read \(table.name). "
                        + (later == 0
                            ? "No later transaction changed the store."
                            : "\(Counted.items(Int64(later), "later transaction")) changed the store."),
                    relevance: 15 + max(0, 10 - later) + (failure.message.mentionsNil ? 30 : 0),
                    // A message that is not about two numbers may name a value of a deleted row.
                    likelyFrom: failure.message.numbers == nil ? 90 : nil))
        }
        return Array(findings.prefix(2))
    }

    /// True if a `DELETE` of the step names the table, or if the step's statements are unknown.
    ///
    /// ``UnexpectedDelete`` finds other deletions.
    private static func mayBeDirect(_ step: StoreEvidence.Step, _ table: String) -> Bool {
        step.statements.isEmpty
            || step.statements.contains { $0.deletes(from: table) && $0.record.error == nil }
    }
}
