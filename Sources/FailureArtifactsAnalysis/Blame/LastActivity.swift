package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The last query before a failure, and the last transaction that changed its result or a table that it read.
///
/// Without findings, they are the place to start looking.
package struct LastActivity: Encodable, Sendable {
    /// The name of the store.
    package let store: String
    /// True if the bundle has several stores, so that commands name this one.
    package let isOneOfSeveralStores: Bool
    /// The failing query, or else the last query of the test on one of the store's tables; nil if there was none, or no
    /// log.
    package let query: StatementRecord?
    /// The results of the failing query in the states of the history; nil if they are unknown.
    package let result: AssertedResult?
    /// The number of the transaction in the history; nil for one that was open at the failure, or without a history.
    package let transaction: Int?
    /// True if the changes are only in the copy: the transaction was open at the failure, or was rolled back before.
    package let isOpen: Bool
    /// The test's last snapshot, if the changes are those since then; nil if they are a transaction's.
    private let snapshot: String?
    /// True if the failure rolled the transaction back.
    private let isRolledBack: Bool
    /// True if the log may lack later queries.
    private let isLogCut: Bool
    /// The tables that the query read and the transaction changed; all that it changed if the query's are unknown.
    package let tables: [String]
    /// The statements that can have changed these tables; empty if they are unknown.
    package let statements: [StatementRecord]

    /// The maximum number of tables.
    private static let maximumTables = 3
    /// The maximum number of statements.
    private static let maximumStatements = 5

    /// Finds the activity in the store of the failing query, of the last query, or else in the first one with a history.
    ///
    /// The result is nil if the bundle has neither a query nor a history.
    ///
    /// - Parameter evidence: The failure.
    init?(_ evidence: FailureEvidence) {
        let queries = evidence.stores.map { ($0, $0.relevance(to: evidence.message).queries.first) }
        let last = queries.max { ($0.1?.order ?? 0) < ($1.1?.order ?? 0) }
        let withResult = evidence.stores.first { $0.assertedResult(for: evidence.message) != nil }
        let withQuery = last?.1 == nil ? nil : last?.0
        let withHistory = evidence.stores.first { !$0.steps.isEmpty || $0.sinceSnapshot != nil }
        guard let store = withResult ?? withQuery ?? withHistory else { return nil }
        self.store = store.name
        isOneOfSeveralStores = evidence.metadata.stores.count > 1
        result = store.assertedResult(for: evidence.message)
        query = result?.query ?? last?.1?.record
        let read = store.relevance(to: evidence.message).readTables
        let period = result?.periods.last
        let step =
            period.flatMap { period in store.steps.first { $0.number == period.transaction } }
            ?? store.steps.last { step in read.contains { step.table($0) != nil } }
            ?? store.steps.last { !$0.tables.isEmpty } ?? store.sinceSnapshot?.step
        let all = step?.tables ?? []
        let changedRead = all.filter { read.contains(folded($0.table.name)) }
        let changed = changedRead.isEmpty ? all : changedRead
        transaction = step?.number
        snapshot = store.sinceSnapshot?.label
        isOpen = step != nil && step?.number == nil && snapshot == nil
        isRolledBack = store.store.isBeforeRollback
        isLogCut = store.store.statements?.reason != nil
        tables = changed.prefix(Self.maximumTables).map(\.table.name)
        let rows = changed.flatMap { table in table.rows.map { StoreEvidence.row($0, in: table) } }
        let found = step.map { store.statements(of: $0, changing: rows) } ?? []
        statements = found.count <= Self.maximumStatements ? found : []
    }

    /// The name of the query.
    package var queryTitle: String {
        result != nil ? "failing query" : isLogCut ? "last query in the log" : "last query"
    }

    /// The name of the transaction; nil without one.
    package var transactionTitle: String? {
        if let transaction { return "transaction \(transaction)" }
        if let snapshot { return "the test after its snapshot '\(snapshot)'" }
        guard isOpen else { return nil }
        return isRolledBack ? "the transaction that was rolled back" : "the open transaction"
    }

    /// Returns the commands that show more.
    ///
    /// - Parameter bundle: The path of the bundle.
    /// - Returns: Command lines for a shell: the transaction's changes, and the changes of the query's result.
    package func commands(of bundle: String) -> [String] {
        guard transactionTitle != nil else { return [] }
        let option = isOneOfSeveralStores ? " --store \(ShellWord.quoted(store))" : ""
        let states = transaction.map { " --at \($0 - 1) --at \($0)" } ?? ""
        let bundle = ShellWord.quoted(bundle)
        var commands = ["failure-artifacts diff\(option)\(states) \(bundle)"]
        // The values of parameters are unknown.
        if let query, result == nil, snapshot == nil, query.cut != true, query.sql.utf8.count <= 200,
            query.sql.allSatisfy({ !"?:@$\n".contains($0) })
        {
            commands.append(
                "failure-artifacts bisect --changed\(option) \(bundle) \(ShellWord.quoted(query.sql))")
        }
        return commands
    }

    private enum CodingKeys: String, CodingKey {
        case store, query, result, transaction, isOpen = "open", isRolledBack = "rolledBack"
        case snapshot, tables, statements
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(store, forKey: .store)
        try container.encodeIfPresent(
            query.map { Finding.Statement($0, source: $0.source) }, forKey: .query)
        try container.encodeIfPresent(result, forKey: .result)
        try container.encodeIfPresent(transaction, forKey: .transaction)
        if isOpen { try container.encode(true, forKey: isRolledBack ? .isRolledBack : .isOpen) }
        try container.encodeIfPresent(snapshot, forKey: .snapshot)
        if !tables.isEmpty { try container.encode(tables, forKey: .tables) }
        guard !statements.isEmpty else { return }
        try container.encode(
            statements.map { Finding.Statement($0, source: $0.source) }, forKey: .statements)
    }
}
