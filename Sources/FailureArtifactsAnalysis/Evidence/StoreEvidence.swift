package import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store of a failure, with everything that findings are derived from.
package final class StoreEvidence {
    /// A transaction that changed the store, or the one that was open at the failure.
    package struct Step {
        /// The transaction's number in the history; nil for the transaction that was open at the failure, or that was
        /// rolled back by the error that failed the test.
        package let number: Int?
        /// The number of pages that the transaction wrote; 0 if unknown.
        package let pages: Int
        package let changes: StateChanges
        package let tables: [ChangedTable]
        /// The transaction's statements; empty if they are unknown.
        package fileprivate(set) var statements: [Statement] = []

        /// True if it ran before the test.
        var isEarlier: Bool {
            !statements.isEmpty && statements.allSatisfy { $0.record.phase == .earlier }
        }

        func table(_ name: String) -> ChangedTable? {
            tables.first { folded($0.table.name) == folded(name) }
        }

        func counts(of name: String) -> StateChanges.Table? {
            changes.tables.first { folded($0.name) == folded(name) }
        }
    }

    /// A logged statement.
    package struct Statement {
        package let record: StatementRecord
        let outline: StatementOutline
        let parts: StatementOutline.Parts

        init(_ record: StatementRecord) {
            self.record = record
            outline = StatementOutline(record.sql)
            parts = StatementOutline.Parts(record.sql)
        }

        var order: UInt64 { record.order }
        /// True if it inserts, updates or deletes rows.
        var writes: Bool { outline.isWrite }

        /// True for a `DELETE` that names the table.
        func deletes(from table: String) -> Bool {
            outline.kind == .delete && outline.table == folded(table)
        }
    }

    let store: BundleMetadata.Store
    /// The path of the copy with the content that the test saw.
    package let path: String
    /// The copy with the content that the test saw, for reading.
    let connection: Connection
    package let schema: DatabaseSchema
    /// The statements on the store's connections, oldest first.
    package let statements: [Statement]
    /// The last transactions of the history, oldest first, and the transaction that was open at the failure.
    ///
    /// All of the history's transactions are there unless the time was up. If there was no time for the last ones, none
    /// are there.
    package let steps: [Step]
    /// The number of transactions that the history has.
    package let transactionCount: Int
    /// The maximum number of changed rows to keep for a table and a transaction.
    static let rowLimit: Int64 = 500

    private var knownRelevance: Relevance?
    private lazy var knownTestStatements = statements.filter { $0.record.phase == .test }
    /// The transactions of all connections, as indices of ``statements``.
    private(set) lazy var connectionTransactions = ConnectionTransaction.all(in: statements.outlined)
    private(set) lazy var transactions = StatementTransactions(
        statements, connectionTransactions, steps)
    private(set) lazy var effects = StatementEffects(self)
    private(set) lazy var locks = StatementLocks(statements)
    /// The point in time after which ``checkTime()`` fails; nil for no limit.
    var deadline: Instant? {
        didSet { connection.setDeadline(deadline) }
    }

    package var name: String { store.name }

    /// Reads a store.
    ///
    /// - Parameters:
    ///   - choice: The store's copy with the content that the test saw.
    ///   - bundle: The bundle.
    ///   - scratch: An existing directory for temporary files.
    ///   - limits: The limits on resources that a state can use.
    ///   - deadline: The point in time after which the remaining transactions are left out.
    /// - Throws: An error if the copy can't be read. A history that can't be read is left out.
    init(
        _ choice: StoreChoice, of bundle: BundleReader, scratch: String, limits: UntrustedLimits,
        deadline: Instant
    ) throws {
        store = choice.store
        path = try bundle.extract(choice, below: scratch)
        connection = try Connection.untrusted(path, limits: limits)
        schema = try DatabaseSchema("main", of: connection)
        let records = StatementLines.applied(to: (try? bundle.statements(of: choice.store)) ?? [])
        let statements = records.map { Statement($0) }
        self.statements = statements
        var steps: [Step] = []
        var count = 0
        let committed = choice.committed(among: bundle.metadata.storeChoices)
        if choice.store.history?.entry != nil, let base = committed ?? Optional(choice),
            let history = try? bundle.extractHistory(of: base, below: scratch)
        {
            count = history.reader.transactions.count
            steps = (try? Self.steps(of: history, base.store, limits, deadline, records)) ?? []
        }
        if let committed,
            let open = try? Self.openTransaction(
                from: try bundle.extract(committed, below: scratch), to: path, limits, deadline)
        {
            steps.append(open)
        }
        if let last = steps.indices.last, steps[last].number == nil {
            steps[last].statements = UncommittedTransaction(in: statements.outlined)
                .statements(beforeRollback: store.isBeforeRollback).map { statements[$0] }
        }
        self.steps = steps
        transactionCount = count
    }

    /// The number of transactions that are read first, because they matter most.
    private static let recentCount = 40

    /// Reads the last transactions, and then the ones before them if there is time for all of those.
    private static func steps(
        of history: borrowing ExtractedHistory, _ store: BundleMetadata.Store, _ limits: UntrustedLimits,
        _ deadline: Instant, _ records: [StatementRecord]
    ) throws -> [Step] {
        let count = history.reader.transactions.count
        let first = max(0, count - recentCount)
        let recent = try steps(of: history, first..<count, limits, deadline)
        // Steps that don't lead to the state at the failure would be taken for ones that do.
        guard recent.count == count - first else { return [] }
        let earlier = first > 0 ? (try? steps(of: history, 0..<first, limits, deadline)) ?? [] : []
        var steps = earlier.count == first ? earlier + recent : recent
        let found = LoggedTransactions(records, of: store).statements(
            of: steps.map { .init(pages: $0.pages, changes: $0.changes) },
            isWhole: steps.count == count && store.history?.reason == nil)
        for (index, statements) in found.enumerated() {
            steps[index].statements = statements.map { Statement($0) }
        }
        return steps
    }

    private static func steps(
        of history: borrowing ExtractedHistory, _ range: Range<Int>, _ limits: UntrustedLimits,
        _ deadline: Instant
    ) throws -> [Step] {
        var steps: [Step] = []
        guard !range.isEmpty else { return steps }
        do {
            try history.forEachTransaction(
                after: range.lowerBound, rowLimit: rowLimit, limits: limits, deadline: deadline
            ) { transaction in
                steps.append(
                    Step(
                        number: transaction.number, pages: transaction.pages,
                        changes: transaction.changes, tables: transaction.tables))
                return steps.count < range.count && Instant.now < deadline
            }
        } catch let error as SQLiteError where error.isInterrupted {
            // The transactions before this one are known.
        }
        return steps
    }

    private static func openTransaction(
        from committed: String, to seen: String, _ limits: UntrustedLimits, _ deadline: Instant
    ) throws -> Step? {
        let comparison = try StoreComparison(
            a: .init(path: committed, isPrivate: true), b: .init(path: seen, isPrivate: true),
            deadline: deadline, limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: rowLimit)
        guard !tables.isEmpty || !changes.schema.isEmpty else { return nil }
        return Step(number: nil, pages: 0, changes: changes, tables: tables)
    }
}

// MARK: - Finding a change's statement

extension StoreEvidence {
    /// A transaction and the statement in it that made a change, as far as they are known.
    struct Origin {
        var step: Int?
        var transaction: Int?
        var statement: Statement?
    }

    /// Returns the last step that changed a row in a certain way.
    func lastStep(where isMatch: (ChangedTable, RowChange) -> Bool, of table: String) -> (
        index: Int, row: RowChange
    )? {
        for (index, step) in steps.enumerated().reversed() {
            guard let changed = step.table(table) else { continue }
            if let row = changed.rows.last(where: { isMatch(changed, $0) }) { return (index, row) }
        }
        return nil
    }

    /// Returns the origin of a change in a step.
    ///
    /// - Parameters:
    ///   - step: The step's index; nil if it is unknown.
    ///   - table: The table.
    ///   - kinds: The kinds of statements that can make the change.
    /// - Returns: The step's transaction. The statement is nil unless exactly one kind of statement can have made the
    ///   change.
    func origin(
        inStep step: Int?, of table: String, by kinds: Set<StatementOutline.Kind>
    ) -> Origin {
        guard let step else {
            // Without a history, one statement may be the only one that can have made the change.
            return Origin(
                statement: steps.isEmpty ? Self.only(testStatements, writing: table, kinds) : nil)
        }
        return Origin(
            step: step, transaction: steps[step].number,
            statement: Self.only(steps[step].statements, writing: table, kinds))
    }

    /// Returns the last of the statements that write to a table, if all of them have the same text and source.
    private static func only(
        _ statements: [Statement], writing table: String, _ kinds: Set<StatementOutline.Kind>
    ) -> Statement? {
        let writing = statements.filter { $0.record.error == nil && $0.record.changes != 0 }
        let exact = writing.filter {
            kinds.contains($0.outline.kind) && $0.outline.table == folded(table)
        }
        if let last = exact.last {
            let isOne = exact.allSatisfy {
                $0.record.sql == last.record.sql && $0.record.source == last.record.source
            }
            return isOne ? last : nil
        }
        // A migration rebuilds a table under another name, and foreign keys act when a table is dropped.
        if kinds.contains(.definition) {
            let copies = writing.filter { statement in
                statement.outline.kind == .insert
                    && statement.parts.words.contains(folded(table))
            }
            if copies.count == 1 { return copies[0] }
            let drops = statements.filter { $0.outline.drops && $0.record.error == nil }
            if drops.count == 1 { return drops[0] }
        }
        // A trigger or a foreign key's action made the change.
        let others = writing.filter { $0.writes }
        return others.count == 1 ? others[0] : nil
    }

    /// Returns the statement that inserted a row of a store without a history, if the log leaves no doubt.
    ///
    /// SQLite numbers rows from 1 if no statement names the key. The log must reach back to the creation of the table.
    ///
    /// - Parameters:
    ///   - key: The row's key.
    ///   - table: The table.
    ///   - columns: The columns that no later statement may have changed.
    /// - Returns: The statement; nil if it is uncertain.
    func insertion(of key: [StoredValue], in table: TableShape, unchanged columns: [String])
        -> Statement?
    {
        guard let name = table.integerKey, key.count == 1, case .integer(let number) = key[0].content,
            statements.contains(where: { $0.outline.creates && $0.outline.table == folded(table.name) })
        else { return nil }
        let writing = statements.filter {
            $0.writes && $0.outline.table == folded(table.name) && $0.record.error == nil
                && $0.record.changes != 0
        }
        for statement in writing where statement.outline.kind == .update {
            guard !columns.contains(where: { statement.parts.assigned.contains(folded($0)) }) else {
                return nil
            }
        }
        let inserts = writing.filter { $0.outline.kind != .update }
        let isPlain = inserts.allSatisfy { statement in
            let words = statement.parts.words.prefix(200)
            return statement.outline.kind == .insert && statement.record.changes == 1
                && !statement.outline.mayHaveNoEffect && !isRolledBack(statement)
                && words.prefix(while: { $0 != "values" }).contains("(")
                && !words.prefix(while: { $0 != "values" }).contains(folded(name))
        }
        let quoted = (quotedIdentifier(name), quotedIdentifier(table.name))
        guard isPlain, inserts.indices.contains(Int(number) - 1),
            (try? count("SELECT count(*) FROM \(quoted.1)")) == Int64(inserts.count),
            (try? count("SELECT max(\(quoted.0)) FROM \(quoted.1)")) == Int64(inserts.count)
        else { return nil }
        return inserts[Int(number) - 1]
    }

    /// Returns the last statement of the test whose text is in a message, as in GRDB's errors; nil for other messages.
    func statement(namedIn message: FailureMessage) -> Statement? {
        let text = message.text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return testStatements.last { statement in
            let sql = statement.record.sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            return sql.utf8.count >= 5 && text.contains(sql)
        }
    }

    /// Throws ``TimeIsUp`` after the deadline, for loops that run no query.
    func checkTime() throws(TimeIsUp) {
        if let deadline, Instant.now > deadline { throw TimeIsUp() }
    }

    struct TimeIsUp: Error {}

    /// The statements that ran during the test.
    var testStatements: [Statement] { knownTestStatements }
}

// MARK: - Rows and keys

extension StoreEvidence {
    /// Returns the row of a finding for a changed row.
    static func row(
        _ change: RowChange, in table: ChangedTable, columns: Set<String>? = nil
    ) -> Finding.Row {
        let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
        let cells = change.cells.filter { columns?.contains(folded($0.column)) ?? true }
        return Finding.Row(
            table: table.table.name,
            key: Finding.Row.key(names, change.key),
            change: .init(change.kind), columns: cells)
    }

    /// Returns the columns that identify a row of a table: its primary key, or the rowid.
    func keyColumns(of table: String) -> [String] { schema.keyColumns(of: table) }

    /// The application's tables that have rows of their own.
    var tables: [TableShape] { schema.applicationTables }

    /// Runs a query and returns its rows.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - values: The values to bind.
    ///   - limit: The maximum number of rows.
    /// - Returns: The rows' values, with long ones cut.
    /// - Throws: An error if the query fails or the time is up.
    func rows(
        _ sql: String, _ values: [Value] = [], limit: Int = 100
    ) throws(SQLiteError) -> [[StoredValue]] {
        let statement = try connection.prepare(sql)
        try statement.bind(values)
        var rows: [[StoredValue]] = []
        while rows.count < limit, try statement.step() {
            rows.append((0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
        }
        return rows
    }

    /// Returns the relation between findings about the store and a failure, which takes time only once.
    ///
    /// It lifts the connection's deadline, so a rule must not be the first to ask for it.
    ///
    /// - Parameters:
    ///   - message: The failure's message, which is the same in all calls.
    ///   - seconds: The time limit for searching for sums.
    /// - Returns: The relation.
    func relevance(to message: FailureMessage, seconds: Double = 0.1) -> Relevance {
        if let knownRelevance { return knownRelevance }
        let relevance = Relevance(self, message, deadline: Instant.now.advanced(bySeconds: seconds))
        knownRelevance = relevance
        return relevance
    }

    /// Returns the number in the only row of a query.
    func count(_ sql: String) throws(SQLiteError) -> Int64 { try connection.integer(of: sql) }
}

extension Finding.Row.Change {
    init(_ kind: RowChange.Kind) {
        self =
            switch kind {
            case .inserted: .inserted
            case .updated: .updated
            case .deleted: .deleted
            }
    }
}

extension RowChange {
    /// Returns the change of a column.
    func cell(_ column: String) -> Cell? { cells.first { folded($0.column) == folded(column) } }
}

extension StoredValue {
    /// The value to bind in a query; nil for a value that was cut.
    package var bindable: Value? {
        if isCut { return nil }
        return switch content {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let bytes): .text(String(decoding: bytes, as: UTF8.self))
        case .blob(let bytes): .blob(bytes)
        }
    }

    var isNull: Bool { content == .null }

    /// The text; nil if the value isn't one.
    var string: String? {
        guard case .text(let bytes) = content else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The value as a number; nil if it isn't one.
    var number: Double? {
        switch content {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}
