package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store of a bundle with all that happened to it: its statements, its transactions and its states.
package final class Timeline {
    package struct Step {
        /// The transaction's number in the history; nil for the one whose changes only the copy has, because it was open
        /// at the failure, or was rolled back by the error that failed the test.
        package let number: Int?
        /// The number of pages that it wrote; 0 if unknown.
        package let pages: Int
        /// The size of the store after it, in bytes; 0 if unknown.
        package var size: UInt64 = 0
        package let changes: StateChanges
        /// The changed tables, with a limited number of changed rows.
        package let tables: [ChangedTable]
        /// The statements that changed something or may have; empty if they are unknown.
        package fileprivate(set) var statements: [Statement] = []
        /// True if it ended before the log began, which has all statements of the test, or before a transaction of another
        /// test that had ended before.
        package fileprivate(set) var precedesLog = false

        /// True if it ended before the test began.
        package var isEarlier: Bool {
            statements.isEmpty ? precedesLog : statements.allSatisfy { $0.record.phase == .earlier }
        }

        /// True if it is a transaction of another test.
        var isOfOtherTest: Bool {
            statements.isEmpty ? precedesLog : !statements.contains(where: \.isOfTest)
        }

        /// True if ``tables`` has all rows that it changed.
        var isComplete: Bool {
            tables.allSatisfy(\.isComplete) && changes.tables.allSatisfy { $0.problem == nil }
        }

        package var rows: [Finding.Row] {
            tables.flatMap { table in table.rows.map { Timeline.row($0, in: table) } }
        }

        func table(_ name: String) -> ChangedTable? {
            tables.first { folded($0.table.name) == folded(name) }
        }

        func counts(of name: String) -> StateChanges.Table? {
            changes.tables.first { folded($0.name) == folded(name) }
        }
    }

    package struct Statement {
        package internal(set) var record: StatementRecord
        let outline: StatementOutline
        /// True if the failing test ran it, as far as known.
        let isOfTest: Bool

        init(_ record: StatementRecord, isOfTest: Bool = true, attached: AttachedDatabase? = nil) {
            self.record = record
            outline = StatementOutline(record.sql, attached: attached)
            self.isOfTest = isOfTest
        }

        var order: UInt64 { record.order }
        /// The text for a connection that opens the store, even if this one attached it; nil if it reads another
        /// database.
        var localSQL: String? {
            SQLText(record.sql).sources.contains(where: outline.isElsewhere)
                ? nil : outline.attached?.opened(record.sql) ?? record.sql
        }
        var writes: Bool { outline.isWrite }
        /// True if it inserted, updated or deleted rows, as far as known.
        var hasChangedRows: Bool { writes && record.error == nil && record.changes != 0 }
    }

    /// Facts about the questions of the failed assertion.
    struct Asked {
        /// The folded names of the tables that the queries read.
        var tables: Set<String> = []
        /// The folded names of those of which they need no row, because they read them with `LEFT JOIN`.
        var optionalTables: Set<String> = []
        var isAnswered = false
        /// The orders of the queries whose results the assertion has compared.
        var failingQueries: [UInt64] = []
    }

    package let store: BundleMetadata.Store
    var asked = Asked()
    /// The path of the copy with the content that the test saw.
    package let path: String
    /// The path of the copy with the committed content, if a transaction was open; otherwise nil.
    let committedPath: String?
    /// The copy with the content that the test saw, for reading.
    let connection: Connection
    package let schema: DatabaseSchema
    /// The statements on the store's connections, oldest first.
    package let statements: [Statement]
    let limits: UntrustedLimits
    let bundle: BundleReader
    let hasLog: Bool
    /// The reason why the store has no history; nil if it has one.
    package let historyError: BundleError?
    private let history: SharedHistory?
    private let choice: StoreChoice
    let scratch: String
    /// The maximum number of transactions that ``steps`` has, the last ones.
    private let maximumSteps: Int
    /// The files with earlier states, by the numbers of their transactions.
    private var rebuilt: [Int: String] = [:]
    private var knownSteps: Result<[Step], any Error>?
    private var knownQuotation: Statement??
    /// The maximum number of changed rows to keep for a table and a transaction.
    private let rowLimit: Int64
    package static let rowLimit: Int64 = 2000

    private(set) lazy var testStatements = statements.filter(\.isOfTest)
    /// True if another test opened the store, and the failing test ran no statement on it.
    private(set) lazy var isOfOtherTest =
        store.openedBy != nil && !statements.isEmpty && testStatements.isEmpty
    /// The transactions of all connections, as indices of ``statements``.
    private(set) lazy var transactions = LoggedTransaction.all(in: statements)
    private lazy var transactionsOfStatements = Dictionary(
        transactions.enumerated().flatMap { index, transaction in
            transaction.statements.map { (statements[$0].order, index) }
        }, uniquingKeysWith: { $1 })
    private lazy var stepsOfStatements = Dictionary(
        steps.enumerated().flatMap { index, step in step.statements.map { ($0.order, index) } },
        uniquingKeysWith: { $1 })
    /// The references between the tables; empty if a table's definition can't be read.
    private(set) lazy var references = (try? Reference.all(in: schema, of: connection)) ?? []
    package var name: String { store.name }

    /// Reads a store from one of its copies; the one with the content that the test saw includes an open transaction.
    package init(
        _ choice: StoreChoice, of bundle: BundleReader, scratch: String, limits: UntrustedLimits,
        transactions: Int = .max, rowLimit: Int64 = Timeline.rowLimit
    ) throws {
        self.rowLimit = rowLimit
        self.choice = choice
        self.bundle = bundle
        self.scratch = scratch
        self.limits = limits
        store = choice.store
        maximumSteps = transactions
        path = try bundle.extract(choice, below: scratch)
        let committed = choice.committed(among: bundle.metadata.storeChoices)
        committedPath = try committed.map { try bundle.extract($0, below: scratch) }
        connection = try Connection.untrusted(path, limits: limits)
        schema = try DatabaseSchema("main", of: connection)
        let log = try? bundle.statements(of: choice.store)
        hasLog = log != nil && choice.store.statements != nil
        var records = StatementLines.applied(to: log ?? [])
        QueryPlan.add(to: &records, from: connection)
        let own = TestStatements(in: records, of: choice.store, bundle.metadata)
        let attached = AttachedDatabase.all(
            choice.store, Set(schema.tables.keys), in: records,
            beside: Self.stores(beside: choice, of: bundle, scratch, limits))
        statements = records.map {
            Statement($0, isOfTest: own.contains($0), attached: attached[$0.connection])
        }
        do throws(BundleError) {
            history = SharedHistory(
                try bundle.extractHistory(of: committed ?? choice, below: scratch))
            historyError = nil
        } catch {
            history = nil
            historyError = error
        }
    }

    private static func stores(
        beside choice: StoreChoice, of bundle: BundleReader, _ scratch: String, _ limits: UntrustedLimits
    ) -> [AttachedDatabase.Other] {
        bundle.metadata.storeChoices.compactMap { other in
            guard other.name == other.store.name, other.name != choice.store.name,
                let log = try? bundle.statements(of: other.store),
                let path = try? bundle.extract(other, below: scratch),
                let connection = try? Connection.untrusted(path, limits: limits),
                let schema = try? DatabaseSchema("main", of: connection)
            else { return nil }
            return (Set(schema.tables.keys), Set(log.map(\.connection)))
        }
    }

    // MARK: - Transactions

    package var transactionCount: Int { history?.value.reader.transactions.count ?? 0 }

    /// The last transactions of the history, oldest first, and the one whose changes only the copy has; or none.
    package var steps: [Step] { (try? readSteps()) ?? [] }

    /// Returns ``steps``, which takes time only once.
    package func readSteps() throws -> [Step] {
        if let knownSteps { return try knownSteps.get() }
        let result = Result { try allSteps() }
        knownSteps = result
        return try result.get()
    }

    private func allSteps() throws -> [Step] {
        var steps: [Step] = []
        let first = max(0, transactionCount - maximumSteps)
        try history?.value.forEachTransaction(after: first, rowLimit: rowLimit, limits: limits) {
            steps.append($0)
            return true
        }
        if store.statements?.reason == nil {
            let found = transactions.statements(of: steps, in: statements, linked: linkedTables)
            for (index, own) in found.enumerated() {
                steps[index].statements = own.map { statements[$0] }
            }
            // The log lacks connections that were closed long before the test.
            if store.history?.source == .pages, hasLog {
                let first = transactions.compactMap(\.number).min() ?? .max
                let isWhole = store.olderStatements == nil
                let earlier = steps.lastIndex { !$0.statements.isEmpty && $0.isEarlier } ?? -1
                for index in steps.indices
                where index < earlier || isWhole && steps[index].number.map({ $0 < first }) ?? false {
                    steps[index].precedesLog = true
                }
            }
        }
        if let committedPath, var open = try step(from: committedPath) {
            open.statements = uncommittedStatements
            steps.append(open)
        }
        return steps
    }

    /// The folded names of the tables whose statements can change other rows than they name: those with a trigger or a
    /// conflict clause, and those that a foreign key refers to.
    var linkedTables: Set<String> {
        let objects = schema.objects.filter {
            $0.type == "trigger" || folded($0.sql).contains("conflict")
        }
        return Set(
            objects.map { folded($0.table) } + references.filter(\.isDeclared).map { folded($0.parent) })
    }

    /// The folded names of the tables that the views read, also through a few other views.
    var tablesOfViews: [String: Set<String>] {
        var found = schema.objects.filter { $0.type == "view" }.reduce(into: [String: Set<String>]()) {
            $0[folded($1.name)] = Set(SQLText($1.sql).tables)
        }
        for _ in 0..<3 {
            let known = found
            found = known.mapValues { tables in
                tables.reduce(into: tables) { $0.formUnion(known[$1] ?? []) }
            }
        }
        return found
    }

    var triggers: [DatabaseSchema.Object] { schema.objects.filter { $0.type == "trigger" } }

    /// The folded names of the triggers' tables, and the words of the triggers.
    private lazy var wordsOfTriggers = triggers.map {
        (table: folded($0.table), words: Set(SQLText($0.sql).words))
    }

    /// Returns tables, and those with triggers that name one of them.
    func tables(affecting tables: Set<String>) -> Set<String> {
        var found = tables
        var count = 0
        while count < found.count {
            count = found.count
            for trigger in wordsOfTriggers where !found.isDisjoint(with: trigger.words) {
                found.insert(trigger.table)
            }
        }
        return found
    }

    /// The statements whose changes only the copy has; empty if they are unknown.
    var uncommittedStatements: [Statement] {
        transactions.uncommittedStatements(beforeRollback: store.isBeforeRollback, in: statements)
            .map { statements[$0] }
    }

    private func step(from other: String) throws -> Step? {
        let comparison = try StoreComparison(
            a: .init(path: other, isPrivate: true), b: .init(path: path, isPrivate: true),
            limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: rowLimit)
        return changes.isEmpty ? nil : Step(number: nil, pages: 0, changes: changes, tables: tables)
    }

    /// The state in which the test began, or the first one, as the number of the history's transactions before it.
    package var stateBeforeTest: Int { (steps.lastIndex(where: \.isEarlier) ?? -1) + 1 }

    func step(ofTransaction number: Int) -> Step? {
        steps[safe: number - 1 - max(0, transactionCount - maximumSteps)]
    }

    func title(of step: Step) -> String { title(ofTransaction: step.number) }

    /// Returns the name of a transaction inside a sentence.
    func subject(of step: Step) -> String {
        let title = title(of: step)
        return title.prefix(1).lowercased() + title.dropFirst()
    }

    /// Returns the name of a transaction, for the start of a sentence; the one whose changes only the copy has has no
    /// number.
    func title(ofTransaction number: Int?) -> String {
        if let number { return "Transaction \(number)" }
        return store.isBeforeRollback ? "The transaction that was rolled back" : "The open transaction"
    }

    /// The reason why ``steps`` has no transactions, as a clause at the start of a sentence.
    var missingSteps: String {
        store.history?.entry == nil
            ? "The store has no history" : "The history can't be read"
    }

    /// The reason why the test's queries on the store aren't known, as full sentences without the last period.
    var missingQuery: String {
        store.statements?.reason.map { "The log lacks statements. \($0.dropLast())" }
            ?? "The log has no query of the test on this store"
    }

    func step(of statement: Statement) -> Int? { stepsOfStatements[statement.order] }

    func transaction(of statement: Statement) -> LoggedTransaction? {
        transactionsOfStatements[statement.order].map { transactions[$0] }
    }

    /// True if a statement is a part of a migration: its transaction changes the schema or notes a version.
    func isMigration(_ statement: Statement) -> Bool {
        statements(ofTransactionWith: statement).contains { other in
            [.definition, .setting].contains(other.outline.kind)
                || other.writes && other.outline.table.map(LibraryTables.contains) ?? false
        }
    }

    /// Returns the statements of a statement's transaction, or only itself outside of one.
    func statements(ofTransactionWith statement: Statement) -> [Statement] {
        transaction(of: statement)?.statements.map { statements[$0] } ?? [statement]
    }

    /// True if a table had rows when a statement ran, as far as known.
    func hadRows(_ table: String, before statement: Statement) -> Bool {
        let isFilled = statements(ofTransactionWith: statement).contains {
            $0.order < statement.order && $0.hasChangedRows && $0.outline.table == table
        }
        guard !isFilled, let connection = try? Connection.untrusted(path(at: statement), limits: limits)
        else { return true }
        let count = try? connection.integer(
            of: "SELECT EXISTS (SELECT 1 FROM \(quotedIdentifier(table)))")
        return count != 0
    }

    func isRolledBack(_ statement: Statement) -> Bool {
        transaction(of: statement)?.end == .rolledBack
    }

    /// Returns the steps that had ended when a statement ran, as far as it is known.
    func steps(before statement: Statement) -> ArraySlice<Step> {
        let order = statement.record.lastOrder ?? statement.order
        let end = steps.firstIndex { step in
            step.statements.contains(where: \.writes) && step.statements.allSatisfy { $0.order > order }
        }
        return steps[..<(end ?? steps.endIndex)]
    }

    /// Returns the last step that changed a row in a certain way; nil if it may be one of which not all rows are known.
    func lastStep(where isMatch: (ChangedTable, RowChange) -> Bool, of table: String) -> (
        index: Int, row: RowChange
    )? {
        for (index, step) in steps.enumerated().reversed() {
            guard let changed = step.table(table) else { continue }
            if let row = changed.rows.last(where: { isMatch(changed, $0) }) { return (index, row) }
            if !changed.isComplete { return nil }
        }
        return nil
    }

    // MARK: - States

    /// True if the last state has changes that no transaction of the history has.
    package var hasUncommittedState: Bool { committedPath != nil }

    /// Visits the states, oldest first, until `body` returns false.
    ///
    /// The transaction before the state has the number: 0 for the first state, and nil for the one that only the
    /// copy has. One file follows the history.
    func forEachState(_ body: (_ number: Int?, _ path: String) throws -> Bool) throws {
        if let historyError { throw historyError }
        if try history?.value.forEachState(body) ?? true, committedPath != nil {
            _ = try body(nil, path)
        }
    }

    /// Returns the path of a file with the state in which a statement ran: the copy, unless later transactions changed the
    /// store.
    func path(at statement: Statement) -> String {
        let earlier = steps(before: statement)
        guard earlier.count < steps.count, let next = steps[earlier.endIndex].number else { return path }
        return (try? self.path(ofState: next - 1)) ?? path
    }

    func path(ofState number: Int) throws -> String {
        if let known = rebuilt[number] { return known }
        guard let history else { return path }
        let state = try history.value.rebuild(number)
        rebuilt[number] = state
        return state
    }

    /// Visits the states before some steps, each in a file of its own.
    func forEachState(before steps: [Step], _ body: (_ index: Int, _ path: String) -> Void) {
        let copy = Path.join(scratch, "before.sqlite")
        for (index, step) in steps.enumerated() {
            defer { try? FileSystem.remove(copy) }
            if let number = step.number {
                guard (try? history?.value.rebuild(number - 1, to: copy)) != nil else { continue }
            } else {
                guard let committedPath,
                    (try? FileSystem.copy(committedPath, toNewFile: copy)) != nil
                else { continue }
            }
            body(index, copy)
        }
    }

    /// Returns the last statement of the test whose text is in a message, as in GRDB's errors, which takes time only
    /// once; nil for other messages.
    func statement(namedIn message: FailureMessage) -> Statement? {
        if let knownQuotation { return knownQuotation }
        let found = testStatements.last { message.quotes($0.record.sql) }
        knownQuotation = .some(found)
        return found
    }
}

private final class SharedHistory {
    let value: ExtractedHistory

    init(_ value: consuming ExtractedHistory) { self.value = value }
}

extension BundleMetadata.Store {
    /// True if the copy has the content that an error's rollback discarded before the failure.
    package var isBeforeRollback: Bool {
        StoreCopy.Method(rawValue: capture.method) == .beforeRollback
    }
}
