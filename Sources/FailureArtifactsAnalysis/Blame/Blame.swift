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
    /// True if the uncommitted transaction is one that the error which failed the test had rolled back.
    package var isRolledBack = false
    /// A sentence about the statements that the log doesn't have; nil if it has all.
    package let logNote: String?
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
        func check() throws {
            if isOver() {
                throw CommandError(
                    .inputOutput, "The history took too long. " + CommandError.limitsHint)
            }
        }
        let pageSize = states.history.reader.pageSize
        var search = RowSearch(address, states.limits)
        var reads = StateReads(
            pageSize: pageSize, seesHeader: folded(address.condition ?? "").contains("pragma"))
        try states.forEachState { number, path in
            try check()
            if try reads.begin(in: path, changed: states.changedPages(number)) {
                try search.find(in: path, vfs: reads.vfs())
            }
            return true
        }
        table = try search.tableName()
        var touches: [(number: Int?, rows: [Finding.Row])] = []
        reads = StateReads(pageSize: pageSize)
        try states.forEachState { number, path in
            try check()
            guard try reads.begin(in: path, changed: states.changedPages(number)) else { return true }
            let rows = try search.follow(in: path, vfs: reads.vfs())
            if number != 0, !rows.isEmpty { touches.append((number, rows)) }
            return true
        }
        let statements = try states.statements(of: touches.map(\.number))
        store = states.store.name
        reason = states.store.history?.reason
        transactionCount = states.transactionCount
        isRolledBack = states.store.isBeforeRollback
        logNote = states.store.olderStatements
        isCut = search.isCut
        rows = search.rows
        let name = folded(table)
        transactions = zip(touches, statements).map { touch, statements in
            Transaction(
                number: touch.number, rows: touch.rows,
                statements: Self.statements(
                    statements, changing: name, Set(touch.rows.map(\.change)), of: touch.rows,
                    columns: Self.updatedColumns(of: touch.rows), among: search.linked))
        }
    }

    /// Describes rows of a store without a history.
    ///
    /// If a transaction was open at the failure, its changes of the rows are known.
    ///
    /// - Parameters:
    ///   - address: The rows.
    ///   - path: The copy at the failure, with the changes of the open transaction.
    ///   - committed: The copy without these changes; nil without one.
    ///   - choice: The store.
    ///   - reason: The reason why there is no history, as a full sentence.
    ///   - log: The store's statements.
    ///   - limits: The limits on resources that the store can use.
    /// - Throws: A ``CommandError`` if there is no such table or row, or an error if a copy can't be read.
    package init(
        _ address: RowAddress, inCopy path: String, committed: String?, of choice: StoreChoice,
        reason: String, log: [StatementRecord], limits: UntrustedLimits
    ) throws {
        var search = RowSearch(address, limits)
        for state in [committed, path].compactMap(\.self) { try search.find(in: state) }
        table = try search.tableName()
        if let committed { _ = try search.follow(in: committed) }
        let touched = try search.follow(in: path)
        let outlined = log.map { (record: $0, outline: StatementOutline($0.sql)) }
        let isRolledBack = choice.store.isBeforeRollback
        // A log without some statements may lack the COMMIT.
        let mayBeOpen = choice.store.transactionOpen ?? (choice.store.statements?.reason == nil)
        let open =
            mayBeOpen || isRolledBack
            ? UncommittedTransaction(in: outlined).statements(beforeRollback: isRolledBack) : []
        let name = folded(table)
        store = choice.store.name
        self.reason = reason
        self.isRolledBack = isRolledBack
        transactionCount = nil
        isCut = search.isCut
        rows = search.rows
        logNote = choice.store.olderStatements
        let all: Set<Finding.Row.Change> = [.inserted, .updated, .deleted]
        let isKnown = committed != nil && !touched.isEmpty
        let changes = isKnown ? Set(touched.map(\.change)) : all
        let own = Self.statements(
            open.map { log[$0] }, changing: name, changes, of: isKnown ? touched : [],
            among: search.linked, isOnly: !isKnown)
        // Without the committed copy, the statements of the transaction are known, but not their effect.
        transactions =
            isKnown || committed == nil && !own.isEmpty
            ? [Transaction(number: nil, rows: isKnown ? touched : [], statements: own)] : []
        let shown = Set(transactions.isEmpty ? [] : open)
        otherStatements = Self.statements(
            log.indices.filter { !shown.contains($0) }.map { log[$0] }, changing: name, all, isOnly: true
        )
    }

    /// Returns the statements that can have changed rows of a table, each text and line once.
    ///
    /// A row that was inserted is the outcome of its `INSERT` and of later `UPDATE`s.
    ///
    /// - Parameters:
    ///   - statements: The statements of one transaction.
    ///   - table: The folded name of the table.
    ///   - changes: The changes.
    ///   - rows: The changed rows with all that is known of them; empty if they are unknown.
    ///   - columns: The folded names of the columns that matter; empty for all.
    ///   - linked: The tables whose statements can change rows of other tables; nil if they are unknown.
    ///   - isOnly: True to leave out statements on other tables, which may have changed the rows.
    /// - Returns: The statements on the table that fit the changes; without such ones, those that may have caused them.
    static func statements(
        _ statements: [StatementRecord], changing table: String, _ changes: Set<Finding.Row.Change>,
        of rows: [Finding.Row] = [], columns: Set<String> = [], among linked: LinkedTables? = nil,
        isOnly: Bool = false
    ) -> [StatementRecord] {
        let outlined = statements.map { (record: $0, outline: StatementOutline($0.sql)) }
            .filter {
                // SQLite counts no rows of a table that is dropped or gets another name.
                $0.record.error == nil && ($0.record.changes != 0 || $0.outline.kind == .definition)
            }
        let own = outlined.filter { $0.outline.table == table && $0.outline.isWrite }
        let firstInsert = own.firstIndex { $0.outline.kind == .insert } ?? own.endIndex
        func fits(_ index: Int, _ changes: Set<Finding.Row.Change>) -> Bool {
            switch own[index].outline.kind {
            // REPLACE and ON CONFLICT update and delete rows.
            case .insert: changes.contains(.inserted) || own[index].outline.mayHaveNoEffect
            case .update:
                changes.contains(.updated) || changes.contains(.inserted) && index > firstInsert
            case .delete: changes.contains(.deleted)
            default: false
            }
        }
        let fitting = own.indices.filter { fits($0, changes) }
        var choices = [fitting.map { own[$0] }, own]
        // A trigger or a foreign key may have set other columns than the statement, or other values.
        if let linked, linked.isSetDirectly(table) {
            let writes = TableWrites(own, columns: linked.columns(of: table))
            let possible = fitting.filter { index in
                (columns.isEmpty || mayUpdate(columns, own[index].record, own[index].outline))
                    && (rows.isEmpty
                        || rows.contains {
                            fits(index, [$0.change]) && writes.mayHaveChanged($0, at: index)
                        })
            }
            let last = possible.last { index in
                !rows.isEmpty && rows.allSatisfy { writes.hasSet(columns, of: $0, at: index) }
            }
            choices.insert(possible.drop { $0 < last ?? 0 }.map { own[$0] }, at: 0)
        }
        if !isOnly {
            let renamed = Set(outlined.map(\.outline).filter(\.alters).map(\.table))
            let writing = outlined.filter(\.outline.isWrite)
            choices += [
                writing.filter { statement in
                    linked?.mayChangeOthers(statement.outline) ?? true
                        || renamed.contains(statement.outline.table)
                },
                writing, outlined.filter { !$0.outline.isQuery },
            ]
        }
        var seen: Set<String> = []
        return (choices.first { !$0.isEmpty } ?? []).map(\.record).filter {
            seen.insert($0.textAndPlace).inserted
        }
    }

    /// True unless the statement is an `UPDATE` that sets other columns only.
    private static func mayUpdate(
        _ columns: Set<String>, _ record: StatementRecord, _ outline: StatementOutline
    ) -> Bool {
        guard outline.kind == .update, record.cut != true,
            record.sql.utf8.count <= StatementOutline.maximumLength
        else { return true }
        let parts = StatementOutline.Parts(record.sql)
        // `SET (a, b) = (1, 2)` isn't taken apart.
        guard !parts.assigned.isEmpty, parts.words.count < StatementOutline.Parts.maximumWords,
            !parts.hasRowAssignment
        else { return true }
        return !columns.isDisjoint(with: parts.assigned)
    }

    /// True unless the statement is an `UPDATE` or an `INSERT` that names other columns only.
    static func mayWrite(
        _ columns: Set<String>, _ record: StatementRecord, _ outline: StatementOutline
    ) -> Bool {
        guard outline.kind == .insert, !outline.mayHaveNoEffect, record.cut != true,
            record.sql.utf8.count <= StatementOutline.maximumLength
        else { return outline.kind == .delete ? false : mayUpdate(columns, record, outline) }
        let words = StatementOutline.Parts(record.sql).words
        guard let table = outline.table, let name = words.firstIndex(of: table),
            name + 1 < words.count, words[name + 1] == "(",
            let end = words[name...].firstIndex(of: ")")
        else { return true }
        return !columns.isDisjoint(with: words[(name + 2)..<end])
    }

    /// Returns the folded names of the columns of updated rows; empty if rows were also changed in other ways.
    static func updatedColumns(of rows: [Finding.Row]) -> Set<String> {
        guard rows.allSatisfy({ $0.change == .updated }) else { return [] }
        return Set(rows.flatMap(\.columns).map { folded($0.column) })
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
    /// The tables whose statements can change rows of other tables.
    private(set) var linked = LinkedTables()
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
        if let schema { linked.add(schema) }
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
