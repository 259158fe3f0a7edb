package import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
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
}

extension Blame {
    /// Follows rows through the history of a store.
    ///
    /// A row is followed by its key if it matches the address in any state.
    ///
    /// - Parameters:
    ///   - address: The rows.
    ///   - states: The store's states.
    ///   - isOver: Returns true when the time is up.
    /// - Throws: A ``CommandError`` if there is no such table or row, or an error if a state can't be read.
    package init(
        _ address: RowAddress, in states: borrowing StoreStates, isOver: () -> Bool
    ) throws {
        var search = RowSearch(address, states.limits)
        let last = states.open == nil ? states.transactionCount : nil
        try states.forEachState { number, path in
            try search.visit(path, isLast: number == last)
            return true
        }
        let table = try search.tableName()
        let found = search.found
        let transactions = try states.transactions(
            keeping: RowSelection(
                table: folded(table), limit: nil, valueLimit: Self.valueLimit,
                isKept: { found.contains(row: $1.key, of: $0) }), isOver: isOver)
        store = states.store.name
        self.table = table
        reason = states.store.history?.reason
        transactionCount = states.transactionCount
        isCut = search.isCut
        rows = search.rows
        self.transactions = transactions.compactMap { transaction in
            let rows = transaction.rows
            guard !rows.isEmpty else { return nil }
            return Transaction(
                number: transaction.number, rows: rows,
                statements: Self.statements(
                    transaction.statements, changing: folded(table), Set(rows.map(\.change))))
        }
    }

    /// Describes rows of a store without a history.
    ///
    /// - Parameters:
    ///   - address: The rows.
    ///   - path: The copy at the failure.
    ///   - choice: The store.
    ///   - reason: The reason why there is no history, as a full sentence.
    ///   - log: The store's statements.
    ///   - limits: The limits on resources that the store can use.
    /// - Throws: A ``CommandError`` if there is no such table or row, or an error if the copy can't be read.
    package init(
        _ address: RowAddress, inCopy path: String, of choice: StoreChoice, reason: String,
        log: [StatementRecord], limits: UntrustedLimits
    ) throws {
        var search = RowSearch(address, limits)
        try search.visit(path, isLast: true)
        let table = try search.tableName()
        store = choice.store.name
        self.table = table
        self.reason = reason
        transactionCount = nil
        isCut = search.isCut
        rows = search.rows
        transactions = []
        otherStatements = Self.statements(
            log, changing: folded(table), [.inserted, .updated, .deleted], isOnly: true)
    }

    /// Returns the statements that can have changed rows of a table, each text and line once.
    ///
    /// - Parameters:
    ///   - statements: The statements of one transaction.
    ///   - table: The folded name of the table.
    ///   - changes: The changes.
    ///   - isOnly: True to leave out statements on other tables, whose triggers or foreign keys may have changed the rows.
    /// - Returns: The statements on the table that fit the changes; without such ones, those that may have caused them.
    static func statements(
        _ statements: [StatementRecord], changing table: String, _ changes: Set<Finding.Row.Change>,
        isOnly: Bool = false
    ) -> [StatementRecord] {
        let outlined = statements.map { (record: $0, outline: StatementOutline($0.sql)) }
            .filter { $0.record.error == nil && $0.record.changes != 0 }
        func fits(_ outline: StatementOutline) -> Bool {
            switch outline.kind {
            // REPLACE and ON CONFLICT update and delete rows.
            case .insert: changes.contains(.inserted) || outline.mayHaveNoEffect
            case .update: changes.contains(.updated)
            case .delete: changes.contains(.deleted)
            default: false
            }
        }
        let writing: Set<StatementOutline.Kind> = [.insert, .update, .delete]
        let own = outlined.filter { $0.outline.table == table && writing.contains($0.outline.kind) }
        var choices = [own.filter { fits($0.outline) }, own]
        if !isOnly {
            choices += [
                outlined.filter { writing.contains($0.outline.kind) },
                outlined.filter { !$0.outline.isQuery },
            ]
        }
        var seen: Set<String> = []
        return (choices.first { !$0.isEmpty } ?? []).map(\.record).filter { record in
            let place = record.source.map { "\($0.file):\($0.line)" } ?? ""
            return seen.insert(place + "\n" + record.sql).inserted
        }
    }
}

/// A search for rows in one state after the other.
private struct RowSearch {
    /// The keys of rows, in the forms in which a comparison may name them.
    struct Found: Sendable {
        fileprivate(set) var rowids: Set<[StoredValue]> = []
        fileprivate(set) var keys: Set<[StoredValue]> = []

        func contains(row key: [StoredValue], of table: ComparedTable) -> Bool {
            // An INTEGER PRIMARY KEY is the rowid.
            table.key == .rowid ? rowids.contains(key) : keys.contains(key)
        }
    }

    private let address: RowAddress
    private let budget: TimeBudget
    private(set) var found = Found()
    private(set) var rows: [Blame.Row] = []
    private(set) var isCut = false
    private var positions: [[StoredValue]: Int] = [:]
    private var schema: DatabaseSchema?
    private var shape: TableShape?
    /// The names of all tables.
    private var names: [String] = []
    private var views: Set<String> = []
    /// The reason why the rows can't be searched for in any state yet; nil if they could be in one.
    private var failure: (any Error)?
    private var hasRun = false

    init(_ address: RowAddress, _ limits: UntrustedLimits) {
        self.address = address
        budget = TimeBudget(limits)
    }

    /// Searches a state for rows.
    ///
    /// - Parameters:
    ///   - path: The state.
    ///   - isLast: True to read the values of all rows that were found.
    /// - Throws: An error if the state can't be read.
    mutating func visit(_ path: String, isLast: Bool) throws {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        let schema = try DatabaseSchema("main", of: connection, reusing: schema)
        self.schema = schema
        for object in schema.objects {
            if object.type == "view" { views.insert(folded(object.name)) }
            if object.type == "table", !names.contains(object.name) { names.append(object.name) }
        }
        guard let shape = schema.tables[folded(address.table)], shape.kind != .virtual else { return }
        self.shape = shape
        do {
            let filter = try address.filter(in: shape)
            let query = try query(shape, where: filter.sql, connection)
            try query.bind(filter.values)
            while try query.step() { add(query, shape) }
            hasRun = true
        } catch let error as SQLiteError where error.isMissingName {
            failure = error
        } catch let error as RowAddress.Mismatch {
            failure = error
        }
        if isLast { try readValues(shape, connection) }
    }

    private func query(
        _ shape: TableShape, where condition: String, _ connection: borrowing Connection
    ) throws(SQLiteError) -> Statement {
        let names = [shape.rowidName ?? "NULL"] + shape.blameKey.map(quotedIdentifier)
        let list = (names + shape.columns.map { quotedIdentifier($0.name) }).joined(separator: ", ")
        return try connection.prepare(
            "SELECT \(list) FROM \(quotedIdentifier(shape.name)) WHERE \(condition)")
    }

    /// Adds the current row of a query, unless it is known.
    private mutating func add(_ query: borrowing Statement, _ shape: TableShape) {
        let names = shape.blameKey
        let values = (0...names.count).map { query.storedValue(at: $0, limit: Blame.valueLimit) }
        let key = Array(values.dropFirst())
        if positions[key] == nil {
            guard rows.count < Blame.rowLimit else {
                isCut = true
                return
            }
            positions[key] = rows.count
            rows.append(
                Blame.Row(key: zip(names, key).map { .init(column: $0, value: $1) }, values: nil))
        }
        found.rowids.insert([values[0]])
        found.keys.insert(key)
    }

    private mutating func readValues(
        _ shape: TableShape, _ connection: borrowing Connection
    ) throws {
        let names = shape.blameKey
        let condition = names.map { "\(quotedIdentifier($0)) IS ?" }.joined(separator: " AND ")
        let lookup = try query(shape, where: condition, connection)
        for index in rows.indices {
            let values = rows[index].key.compactMap(\.value.bindable)
            guard values.count == names.count else { continue }
            lookup.reset()
            try lookup.bind(values)
            guard try lookup.step() else { continue }
            rows[index].values = shape.columns.enumerated().map { position, column in
                Blame.Column(
                    name: column.name,
                    value: lookup.storedValue(
                        at: 1 + names.count + position, limit: Blame.valueLimit))
            }
        }
    }

    /// Returns the table's name in the schema.
    ///
    /// - Throws: A ``CommandError`` if there is no such table, or no state with the columns of the address.
    func tableName() throws -> String {
        let name = address.table
        guard let shape else {
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
