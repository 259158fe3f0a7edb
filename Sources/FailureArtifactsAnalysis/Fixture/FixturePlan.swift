package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The content of a regression test: the state of a store before the transaction that broke it, the statements of that
/// transaction, and a query for what is wrong.
package struct FixturePlan {
    /// Statements that broke the store, or failed to change it.
    package struct Culprit {
        /// The place of the statements among the transactions.
        package enum Place: Equatable, Sendable {
            case transaction(Int)
            case openTransaction
            /// A statement that changed nothing, after the transaction with this number.
            case statement(after: Int)
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

        fileprivate init(_ statement: StatementRecord, after number: Int) {
            place = .statement(after: number)
            step = nil
            statements = [statement]
        }
    }

    package let finding: Finding
    package let store: BundleMetadata.Store
    /// The transaction or statement after the state that the test starts with.
    package private(set) var culprit: Culprit
    /// A query that returns rows if the store is broken; nil if no query can tell.
    package var query: String? { queries.first }
    /// The queries that may tell, the best one first.
    private var queries: [String]

    /// Finds the transaction that broke the store with a name, or else the store of the best finding; nil if none of
    /// the findings with the highest confidence names one that had an effect.
    package init?(_ evidence: FailureEvidence, _ explanation: Explanation, store name: String?) {
        let findings = explanation.findings.filter { name == nil || $0.store == name }
        let highest = findings.map(\.confidence).max()
        for finding in findings
        where finding.confidence == highest && finding.evidence.isOfEffect {
            guard let store = evidence.stores.first(where: { $0.name == finding.store }) else {
                continue
            }
            guard let culprit = Self.culprit(of: finding, in: store) else { continue }
            self.finding = finding
            self.store = store.store
            self.culprit = culprit
            // A source file has the same line ends throughout.
            queries = [finding.query, try? Self.lostRows(of: finding, in: store)].compactMap(\.self)
                .map { $0.replacing("\r\n", with: "\n") }
            return
        }
        return nil
    }

    private static func culprit(of finding: Finding, in store: Timeline) -> Culprit? {
        if let number = finding.transaction {
            guard let index = store.steps.firstIndex(where: { $0.number == number }) else { return nil }
            return Culprit(.transaction(number), store.steps[index])
        }
        guard let statement = finding.statement, !store.steps.isEmpty else { return nil }
        if let last = store.steps.last, last.number == nil,
            last.statements.contains(where: { $0.order == statement.order })
        {
            return Culprit(.openTransaction, last)
        }
        guard statement.error != nil || (statement.changes ?? 0) == 0 else { return nil }
        let earlier = store.steps.last { step in
            step.number != nil && step.statements.contains { $0.order < statement.order }
        }
        return earlier?.number.map { Culprit(statement, after: $0) }
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
        case .statement(let number):
            let path = try state(number)
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

    /// Leaves out the rows of the state before the transaction that the transaction has nothing to do with; false if
    /// all rows stay, because the store is damaged, or nothing is known about the rows that matter.
    package func slice(
        _ before: String, after: String, limits: UntrustedLimits
    ) throws -> Bool {
        guard let step = culprit.step else { return false }
        return try FixtureSlice(finding: finding, step: step, query: query, limits: limits)
            .apply(to: before, after: after)
    }

    /// Removes the queries that don't tell the broken state after the transaction from the fixture.
    package mutating func verifyQuery(fixture: String, broken: String, limits: UntrustedLimits) {
        let first = queries.first { query in
            let check = QueryCheck(query, limits: limits)
            return (try? check.holds(for: broken) && !check.holds(for: fixture)) ?? false
        }
        queries = first.map { [$0] } ?? []
    }

    /// Returns a query for the rows that should not have been deleted; nil for findings about something else.
    private static func lostRows(of finding: Finding, in store: Timeline) throws -> String? {
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
        return queries.isEmpty ? nil : queries.joined(separator: "\nUNION ALL ")
    }
}

/// The rows of a store that a transaction had something to do with: the rows of the finding, those that the transaction
/// changed, those that the query needs to return a row, and those that all of these refer to.
private struct FixtureSlice {
    /// The maximum number of further rows that the query needs.
    private static let neededLimit = 10

    let finding: Finding
    let step: Timeline.Step
    /// A query that returns a row after the transaction; nil if no query can tell.
    let query: String?
    let limits: UntrustedLimits

    /// Leaves out all other rows of the state before the transaction, which nothing else uses; false if it can't.
    func apply(to before: String, after: String) throws -> Bool {
        let copy = before + ".slice"
        try FileSystem.copy(before, toNewFile: copy)
        defer { try? FileSystem.remove(copy) }
        do throws(SQLiteError) {
            let connection = try Connection.untrustedForWriting(copy, limits: limits)
            let rows = try ReducibleRows(DatabaseSchema("main", of: connection), of: connection)
            let violations = try Self.violations(of: connection)
            guard let kept = try kept(among: rows, connection, of: before, after: after) else {
                return false
            }
            try rows.delete(from: connection, keeping: kept, of: rows.all)
            // An index without texts can show those of rows that are left out.
            guard try FullTextTables.rebuild(in: connection) else { return false }
            try connection.execute("VACUUM")
            guard try connection.text(of: "PRAGMA integrity_check(1)") == "ok",
                try Self.violations(of: connection) <= violations
            else { return false }
        } catch {
            return false
        }
        try FileSystem.remove(before)
        try FileSystem.rename(copy, to: before)
        return true
    }

    private static func violations(of connection: borrowing Connection) throws(SQLiteError) -> Int64 {
        try connection.integer(of: "SELECT count(*) FROM pragma_foreign_key_check")
    }

    private func kept(
        among rows: ReducibleRows, _ connection: borrowing Connection, of before: String, after: String
    ) throws(SQLiteError) -> [Bool]? {
        let later = try Connection.untrusted(after, limits: limits)
        let laterRows = try ReducibleRows(DatabaseSchema("main", of: later), of: later)
        // What a new row refers to was there before.
        let found = laterRows.closure(of: try changed(among: laterRows, later))
        let wanted = try changed(among: rows, connection) + rows.numbers(of: found, in: laterRows)
        // Whether foreign keys were enforced isn't recorded.
        let needed =
            needed(among: rows, beside: wanted, in: before, foreignKeys: true)
            ?? needed(among: rows, beside: wanted, in: before, foreignKeys: false)
        // A migration may read any row.
        guard needed != nil || step.changes.schema.isEmpty else { return nil }
        return rows.closure(of: wanted + (needed ?? []))
    }

    /// Returns the rows without which the query returns no row once the transaction has run again: a statement can read
    /// rows that it doesn't change; nil if the query returns none anyway.
    private func needed(
        among rows: ReducibleRows, beside wanted: [Int], in path: String, foreignKeys: Bool
    ) -> [Int]? {
        func isBroken(_ kept: [Bool]) -> Bool {
            guard let query else { return false }
            let copy = path + ".try"
            defer { try? FileSystem.remove(copy) }
            do {
                try FileSystem.copy(path, toNewFile: copy)
                try rows.delete(
                    from: Connection.untrustedForWriting(copy, limits: limits), keeping: kept,
                    of: rows.all)
                return try Rerun(
                    step.statements, foreignKeys, on: copy, limits,
                    StepBudget(steps: Effort.standard.steps)
                ).givesRow(to: query)
            } catch {
                return false
            }
        }
        guard isBroken(rows.all) else { return nil }
        let needed = minimized(Array(0..<rows.count)) { isBroken(rows.closure(of: wanted + $0)) }
        return needed.count <= Self.neededLimit ? needed : []
    }

    /// Returns the rows of the finding, and those that the transaction changed, as far as a state has them.
    private func changed(
        among rows: ReducibleRows, _ connection: borrowing Connection
    ) throws(SQLiteError) -> [Int] {
        var found: [Int] = []
        for row in finding.rows {
            found += try rows.numbers(
                of: row.table, where: row.key.map(\.column), row.key.map(\.value), connection)
        }
        for table in step.tables {
            for change in table.rows {
                found += try rows.numbers(
                    of: table.table.name, where: table.table.keyNames, change.key, connection)
            }
        }
        return found
    }
}
