package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The transactions that touched certain rows of a table, in order.
package struct Blame: Sendable {
    /// A row that was named, by its key.
    package struct Row: Sendable {
        package var key: [Finding.Row.KeyValue]
        /// The values at the failure; nil if the row didn't exist then.
        package var values: [Column]?
    }

    /// A column and its value.
    package struct Column: Equatable, Sendable {
        package var name: String
        package var value: StoredValue
    }

    /// A transaction that touched rows.
    package struct Transaction: Sendable {
        /// The number in the history; nil for the transaction that was open at the failure.
        package var number: Int?
        /// The touched rows.
        package var rows: [Finding.Row]
        /// The statements that can have made the changes, without repetitions; empty if they are unknown.
        package var statements: [StatementRecord]
    }

    /// The maximum number of rows that are followed.
    static let rowLimit = 1000
    /// The steps that SQLite may use to run transactions again.
    private static let steps = 1_000_000_000
    /// The maximum number of bytes that are compared and shown of a text or a blob.
    static let valueLimit = 4096

    package let store: String
    /// The table's name in the schema.
    package let table: String
    /// The reason why there is no history, or why it is short; nil if there is nothing to add.
    package let reason: String?
    /// The number of transactions in the history; nil without a history.
    package let transactionCount: Int?
    /// True if more rows were named than can be followed.
    package let isCut: Bool
    package let rows: [Row]
    package let transactions: [Transaction]
    /// The statements that wrote to the table, if there is no history to assign them to.
    package var otherStatements: [StatementRecord] = []
    /// True if the uncommitted transaction is one that the error which failed the test had rolled back.
    package var isRolledBack = false
    /// A sentence about the statements that the log doesn't have; nil if it has all.
    package let logNote: String?
}

extension Blame {
    /// Follows rows through the states of a store.
    ///
    /// A row is followed by its key if it matches the address in any state. Without a history, only the changes that were
    /// not committed are known.
    ///
    /// - Parameters:
    ///   - address: The rows.
    ///   - store: The store.
    ///   - isOver: Returns true when the time is up.
    /// - Throws: A ``CommandError`` if there is no such table or row, or an error if a state can't be read.
    package init(_ address: RowAddress, in store: Timeline, isOver: () -> Bool) throws {
        var search = RowSearch(address, store.limits)
        var reads = StateReads(
            pageSize: store.pageSize ?? 4096,
            seesHeader: folded(address.condition ?? "").contains("pragma"))
        func visit(_ body: (_ number: Int?, _ path: String, _ vfs: String?) throws -> Void) throws {
            if let error = store.historyError {
                guard case .noHistory = error.reason else { throw error }
                for path in [store.committedPath, store.path].compactMap(\.self) {
                    try body(path == store.path ? nil : 0, path, nil)
                }
                return
            }
            try store.forEachState { number, path in
                if isOver() {
                    throw CommandError(
                        .inputOutput, "The history took too long. " + CommandError.limitsHint)
                }
                if try reads.begin(in: path, changed: store.changedPages(number)) {
                    try body(number, path, reads.vfs())
                }
                return true
            }
        }
        try visit { try search.find(in: $1, vfs: $2) }
        table = try search.tableName()
        var touches: [(number: Int?, rows: [Finding.Row])] = []
        reads = StateReads(pageSize: store.pageSize ?? 4096)
        // Without a history and without a committed copy, nothing is known about the changes.
        let isCompared = store.historyError == nil || store.committedPath != nil
        try visit { number, path, vfs in
            let rows = try search.follow(in: path, vfs: vfs)
            if number != 0, !rows.isEmpty, isCompared { touches.append((number, rows)) }
        }
        let changes = touches.compactMap { touch in
            try? store.readSteps(isOver: isOver).first { $0.number == touch.number }.map {
                Timeline.ChangedRows(step: $0, rows: touch.rows)
            }
        }
        let found = store.writers(of: changes, StepBudget(steps: Self.steps))
        let writers = Dictionary(
            zip(changes.map(\.step.number), found).map { ($0, $1) },
            uniquingKeysWith: { first, _ in first })
        var transactions = touches.map {
            Transaction(number: $0.number, rows: $0.rows, statements: writers[$0.number] ?? [])
        }
        let name = folded(table)
        // A log without some statements may lack the COMMIT.
        let mayBeOpen =
            store.store.transactionOpen ?? (store.store.statements?.reason == nil)
            || store.store.isBeforeRollback
        if !isCompared, mayBeOpen {
            // The statements are known, but not their effect.
            let own = store.uncommittedStatements.filter { $0.outline.table == name }
            if !own.isEmpty {
                transactions = [
                    Transaction(number: nil, rows: [], statements: Timeline.distinct(own))
                ]
            }
        }
        self.transactions = transactions
        self.store = store.name
        reason = store.historyError?.description ?? store.store.history?.reason
        transactionCount = store.historyError == nil ? store.transactionCount : nil
        isRolledBack = store.store.isBeforeRollback
        logNote = store.store.olderStatements
        isCut = search.isCut
        rows = search.rows
        if transactionCount == nil {
            let listed = Set(transactions.flatMap(\.statements).map(\.order))
            otherStatements = Timeline.distinct(
                store.statements.filter {
                    $0.hasChangedRows && $0.outline.table == name && !listed.contains($0.order)
                })
        }
    }
}

/// A search for rows, first in one state after the other, and then for their content in each state.
private struct RowSearch {
    /// A value of a row, of which only the beginning may be kept.
    private struct Cell: Equatable {
        var column: String
        var value: StoredValue
        /// The hash of the whole value, if it was cut.
        var hash: Int
    }

    private let address: RowAddress
    private let budget: TimeBudget
    /// The rows that were found.
    private(set) var rows: [Blame.Row] = []
    private(set) var isCut = false
    private var keys: Set<[StoredValue]> = []
    /// The content of each row in the state that was followed last; nil for a row that didn't exist.
    private var contents: [[Cell]?] = []
    private var schema: DatabaseSchema?
    /// The table's structure in the state that was opened last; nil without the table.
    private var currentShape: TableShape?
    /// The table's structure in the last state that had it.
    private var lastShape: TableShape?
    /// The names of all tables.
    private var names: [String] = []
    private var views: Set<String> = []
    /// The reason why the rows can't be searched for in a state.
    private var failure: (any Error)?
    private var hasRun = false

    init(_ address: RowAddress, _ limits: UntrustedLimits) {
        self.address = address
        budget = TimeBudget(limits)
    }

    /// Opens a state and reads its schema.
    private mutating func open(_ path: String, vfs: String?) throws -> Connection {
        let connection = try Connection.untrusted(path, vfs: vfs, limits: budget.remaining())
        let schema = try DatabaseSchema("main", of: connection, reusing: schema)
        self.schema = schema
        let shape = schema.tables[folded(address.table)]
        currentShape = shape?.kind == .virtual ? nil : shape
        return connection
    }

    /// Adds the rows of a state that match.
    ///
    /// - Parameters:
    ///   - path: The state.
    ///   - vfs: The name of the VFS that reads it; nil for the system's own.
    /// - Throws: An error if the state can't be read.
    mutating func find(in path: String, vfs: String? = nil) throws {
        let connection = try open(path, vfs: vfs)
        for object in schema?.objects ?? [] {
            if object.type == "view" { views.insert(folded(object.name)) }
            if object.type == "table", !names.contains(object.name) { names.append(object.name) }
        }
        guard let shape = currentShape else { return }
        lastShape = shape
        do {
            let filter = try address.filter(in: shape)
            let columns = shape.blameKey
            let query = try connection.prepare(
                "SELECT \(columns.map(quotedIdentifier).joined(separator: ", ")) FROM "
                    + "\(quotedIdentifier(shape.name)) WHERE \(filter.sql)")
            try query.bind(filter.values)
            while try query.step() {
                let key = columns.indices.map { query.storedValue(at: $0, limit: .max) }
                guard !keys.contains(key) else { continue }
                guard rows.count < Blame.rowLimit else {
                    isCut = true
                    break
                }
                keys.insert(key)
                rows.append(
                    Blame.Row(key: zip(columns, key).map { .init(column: $0, value: $1) }))
            }
            hasRun = true
        } catch let error as SQLiteError where error.isMissingName {
            failure = error
        } catch let error as RowAddress.Mismatch {
            failure = error
        }
    }

    /// Reads all rows in a state, and compares them with the state that was followed before.
    ///
    /// - Parameters:
    ///   - path: The state.
    ///   - vfs: The name of the VFS that reads it; nil for the system's own.
    /// - Returns: The rows that differ. In the first state, all its rows are inserted.
    /// - Throws: An error if the state can't be read.
    mutating func follow(in path: String, vfs: String? = nil) throws -> [Finding.Row] {
        let connection = try open(path, vfs: vfs)
        let shape = currentShape
        let old = contents.isEmpty ? [[Cell]?](repeating: nil, count: rows.count) : contents
        contents = try Self.contents(of: rows, shape, connection)
        var found: [Finding.Row] = []
        for (index, row) in rows.enumerated() {
            rows[index].values = contents[index]?.map { .init(name: $0.column, value: $0.value) }
            let change: Finding.Row.Change
            var cells: [RowChange.Cell]
            switch (old[index], contents[index]) {
            case (nil, nil): continue
            case (nil, let new?):
                change = .inserted
                cells = new.map { .init(column: $0.column, old: nil, new: $0.value) }
            case (let old?, nil):
                change = .deleted
                cells = old.map { .init(column: $0.column, old: $0.value, new: nil) }
            case (let old?, let new?):
                change = .updated
                cells = Self.differences(old, new)
                if cells.isEmpty { continue }
            }
            found.append(
                .init(table: shape?.name ?? address.table, key: row.key, change: change, columns: cells))
        }
        return found
    }

    /// Returns the content of each row; nil for a row that doesn't exist.
    private static func contents(
        of rows: [Blame.Row], _ shape: TableShape?, _ connection: borrowing Connection
    ) throws -> [[Cell]?] {
        guard let shape else { return rows.map { _ in nil } }
        let key = shape.blameKey
        // A virtual column may need a function of the application.
        let columns = shape.columns.filter { !$0.isVirtual }.map(\.name)
        let conditions = key.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND ")
        let lookup = try connection.prepare(
            "SELECT \(columns.map(quotedIdentifier).joined(separator: ", ")) FROM "
                + "\(quotedIdentifier(shape.name)) WHERE \(conditions)")
        var contents: [[Cell]?] = []
        for row in rows {
            lookup.reset()
            // A migration may have given the table another key.
            let isSameKey = row.key.map { folded($0.column) } == key.map(folded)
            try lookup.bind(row.key.compactMap(\.value.bindable))
            guard isSameKey, try lookup.step() else {
                contents.append(nil)
                continue
            }
            contents.append(
                columns.enumerated().map { index, name in
                    let value = lookup.storedValue(at: index, limit: Blame.valueLimit)
                    let hash =
                        value.isCut ? lookup.storedValue(at: index, limit: .max).hashValue : 0
                    return Cell(column: name, value: value, hash: hash)
                })
        }
        return contents
    }

    /// Returns the changes of the columns that both contents have.
    private static func differences(_ old: [Cell], _ new: [Cell]) -> [RowChange.Cell] {
        if old == new { return [] }
        return old.compactMap { cell in
            guard let other = new.first(where: { folded($0.column) == folded(cell.column) }),
                other.value != cell.value || other.hash != cell.hash
            else { return nil }
            return RowChange.Cell(column: cell.column, old: cell.value, new: other.value)
        }
    }

    /// Returns the table's name in the schema.
    ///
    /// - Throws: A ``CommandError`` if there is no such table, or no state with the columns of the address.
    func tableName() throws -> String {
        let name = address.table
        guard let shape = lastShape else {
            if views.contains(folded(name)) {
                throw CommandError(
                    .usage, "'\(name)' is a view. Pass one of the tables that it reads.")
            }
            if names.contains(where: { folded($0) == folded(name) }) {
                throw CommandError(
                    .usage,
                    "'\(name)' is a virtual table. Pass one of the tables that keep its content, such as "
                        + "'\(name)_content'.")
            }
            let nearest = Spelling.nearest(to: name, among: names)
            let list = names.prefix(20).joined(separator: ", ")
            throw CommandError(
                .usage,
                "The store has no table '\(name)'"
                    + (nearest.map { "; the nearest name is '\($0)'." } ?? ". Its tables are \(list)."))
        }
        guard hasRun else {
            switch failure {
            case let error as RowAddress.Mismatch: throw CommandError(.usage, error.sentence)
            case let error as SQLiteError:
                throw CommandError(
                    .usage,
                    "The rows cannot be selected: \(error.message)."
                        + Spelling.hint(for: error, among: shape.columns.map(\.name)))
            default: throw CommandError(.usage, "The rows cannot be selected.")
            }
        }
        return shape.name
    }
}
