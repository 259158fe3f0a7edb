package import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The transactions that touched certain rows of a table, in order.
package struct Blame: Sendable {
    /// A row that was named, by its key.
    package struct Row: Sendable {
        package var key: [Finding.Row.KeyValue]
        /// The values at the failure; nil if the row didn't exist then.
        package var values: [Finding.Row.KeyValue]?
    }

    /// A transaction that touched rows.
    package struct Transaction: Sendable {
        /// The number in the history; nil for the transaction that was open at the failure.
        package var number: Int?
        package var rows: [Finding.Row]
        /// The statements that can have made the changes, without repetitions; empty if they are unknown.
        package var statements: [StatementRecord]
    }

    static let rowLimit = 1000
    private static let steps = 1_000_000_000
    /// The maximum number of bytes of a key's values, as in the rows of a transaction.
    static let valueLimit = 256
    package static let changeLimit: Int64 = 100_000

    package let store: String
    package let table: String
    /// The reason why there is no history, or why it is short; nil if there is nothing to add.
    package let reason: String?
    package let transactionCount: Int?
    /// True if more rows were named, or changed in one transaction, than can be followed.
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
    /// Follows rows by their keys through the states of a store, if they match the address in any of them.
    package init(_ address: RowAddress, in store: Timeline) throws {
        let steps = try store.readSteps()
        var search = RowSearch(address, in: store)
        if let error = store.historyError, case .noHistory = error.reason {
            for path in [store.committedPath, store.path].compactMap(\.self) {
                try search.find(in: path)
            }
        } else {
            try store.forEachState { _, path in
                try search.find(in: path)
                return true
            }
        }
        let table = try search.tableName()
        var isIncomplete = false
        let changes = steps.compactMap { step -> Timeline.RowsOfStep? in
            guard let changed = step.table(table) else { return nil }
            if !changed.isComplete { isIncomplete = true }
            let rows = changed.rows.filter { search.keys.contains($0.key) }
            return rows.isEmpty
                ? nil : .init(step: step, rows: rows.map { Timeline.row($0, in: changed) })
        }
        let found = store.writers(of: changes, StepBudget(steps: Self.steps))
        var transactions = zip(changes, found).map {
            Transaction(number: $0.step.number, rows: $0.rows, statements: $1.statements)
        }
        let name = folded(table)
        // A log without some statements may lack the COMMIT.
        let mayBeOpen =
            store.store.transactionOpen ?? (store.store.statements?.reason == nil)
            || store.store.isBeforeRollback
        if store.historyError != nil, store.committedPath == nil, mayBeOpen {
            // The statements are known, but not their effect.
            let own = store.uncommittedStatements.filter { $0.outline.table == name }
            if !own.isEmpty {
                transactions = [
                    Transaction(number: nil, rows: [], statements: Timeline.distinct(own))
                ]
            }
        }
        self.transactions = transactions
        self.table = table
        self.store = store.name
        reason = store.historyError?.description ?? store.store.history?.reason
        transactionCount = store.historyError == nil ? store.transactionCount : nil
        isRolledBack = store.store.isBeforeRollback
        logNote = store.store.olderStatements
        isCut = search.isCut || isIncomplete
        rows = search.rows(of: store)
        if transactionCount == nil {
            let listed = Set(transactions.flatMap(\.statements).map(\.order))
            otherStatements = Timeline.distinct(
                store.statements.filter {
                    $0.hasChangedRows && $0.outline.table == name && !listed.contains($0.order)
                })
        }
    }
}

/// A search for rows in one state after the other.
private struct RowSearch {
    private let address: RowAddress
    private let budget: TimeBudget
    private var rows: [Blame.Row] = []
    private(set) var isCut = false
    private(set) var keys: Set<[StoredValue]> = []
    private var schema: DatabaseSchema?
    /// The table's structure in the last state that had it.
    private var lastShape: TableShape?
    /// The reason why the rows can't be searched for in a state.
    private var failure: (any Error)?
    private var hasRun = false

    init(_ address: RowAddress, in store: Timeline) {
        self.address = address
        budget = TimeBudget(store.limits)
    }

    mutating func find(in path: String) throws {
        let connection = try Connection.untrusted(path, limits: budget.remaining())
        let schema = try DatabaseSchema("main", of: connection, reusing: schema)
        self.schema = schema
        guard let shape = schema.tables[folded(address.table)], shape.kind != .virtual else { return }
        lastShape = shape
        do {
            let filter = try address.filter(in: shape)
            let columns = shape.blameKey
            let sql =
                "SELECT \(columns.map(quotedIdentifier).joined(separator: ", ")) FROM "
                + "\(quotedIdentifier(shape.name)) WHERE \(filter.sql)"
            let query = try connection.prepare(sql)
            try query.bind(filter.values)
            while try query.step() {
                let key = columns.indices.map { query.storedValue(at: $0, limit: Blame.valueLimit) }
                guard !keys.contains(key) else { continue }
                guard rows.count < Blame.rowLimit else {
                    isCut = true
                    break
                }
                keys.insert(key)
                rows.append(
                    Blame.Row(key: Finding.Row.key(columns, key)))
            }
            hasRun = true
        } catch let error as SQLiteError where error.isMissingName {
            failure = error
        } catch let error as RowAddress.Mismatch {
            failure = error
        }
    }

    func rows(of store: Timeline) -> [Blame.Row] {
        guard let shape = store.schema.tables[folded(address.table)], shape.kind != .virtual else {
            return rows
        }
        // A virtual column may need a function of the application.
        let columns = shape.columns.filter { !$0.isVirtual }.map(\.name)
        let selected = columns.map(quotedIdentifier).joined(separator: ", ")
        return rows.map { row in
            let found = try? store.rows(
                "SELECT \(selected) FROM \(quotedIdentifier(shape.name)) WHERE "
                    + rowCondition(row.key.map(\.column)), row.key.compactMap(\.value.bindable), limit: 1
            )
            let values = found?.first.map { Finding.Row.key(columns, $0) }
            return Blame.Row(key: row.key, values: values)
        }
    }

    func tableName() throws -> String {
        let name = address.table
        guard let shape = lastShape else {
            let objects = schema?.objects ?? []
            if objects.contains(where: { folded($0.name) == folded(name) }) {
                throw CommandError(
                    .usage,
                    "'\(name)' is a view, an index or a virtual table. Pass a table with rows of its own."
                )
            }
            let names = objects.filter { $0.type == "table" }.map(\.name)
            throw CommandError(
                .usage,
                "The store has no table '\(name)'\(Spelling.clause(for: name, among: names)). "
                    + "Its tables are \(names.prefix(20).joined(separator: ", ")).")
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

extension Blame: JSONDocument {
    package var json: JSONObject {
        [
            "store": store, "table": table, "transactionCount": transactionCount, "reason": reason,
            "log": logNote, "cut": isCut ? true : nil, "rows": rows, "transactions": transactions,
            "statements": transactionCount == nil ? otherStatements : nil,
        ]
    }
}

extension Blame.Row: JSONDocument {
    package var json: JSONObject {
        let values: any Encodable =
            if let values {
                JSONCell.object(values.map { ($0.column, $0.value) })
            } else {
                JSONCell(nil)
            }
        return ["key": JSONCell.object(key.map { ($0.column, $0.value) }), "values": values]
    }
}

extension Blame.Transaction: JSONDocument {
    package var json: JSONObject {
        [
            "transaction": number, "open": number == nil ? true : nil, "rows": rows,
            "statements": statements,
        ]
    }
}

/// The rows of a table that a user names: by a key, or by a condition.
package struct RowAddress: Equatable, Sendable {
    package let table: String
    /// The values of a key, each as `value` or `column=value`; empty if there is a condition.
    package let key: [String]
    package let condition: String?

    /// Reads `TABLE KEY…` or `TABLE WHERE …`; nil if there is neither a key nor a condition.
    package init?(_ words: [String]) {
        guard let first = words.first else { return nil }
        let rest = words.dropFirst()
        if let condition = Self.condition(in: rest.joined(separator: " ")) {
            self.init(table: first, key: [], condition: condition)
        } else if !rest.isEmpty {
            self.init(table: first, key: Array(rest), condition: nil)
        } else if let space = first.firstIndex(where: \.isWhitespace),
            let condition = Self.condition(in: String(first[space...]))
        {
            self.init(table: String(first[..<space]), key: [], condition: condition)
        } else {
            return nil
        }
    }

    private init(table: String, key: [String], condition: String?) {
        self.table = table
        self.key = key
        self.condition = condition
    }

    /// Returns the text after `WHERE`; nil if the text doesn't begin with that word.
    private static func condition(in text: String) -> String? {
        let text = text.drop(while: \.isWhitespace)
        guard folded(String(text.prefix(5))) == "where",
            let next = text.dropFirst(5).first, next.isWhitespace || next == "("
        else { return nil }
        return String(text.dropFirst(5).drop(while: \.isWhitespace))
    }
}

extension RowAddress {
    /// A condition in SQL, with the values to bind to its parameters.
    struct Filter {
        var sql: String
        var values: [Value] = []
    }

    /// The reason why a key doesn't fit a table, as a full sentence.
    struct Mismatch: Error {
        var sentence: String
    }

    func filter(in shape: TableShape) throws -> Filter {
        if let condition { return Filter(sql: condition) }
        let columns = shape.columns.map(\.name)
        let rowidNames = shape.rowidName == nil ? [] : ["rowid", "oid", "_rowid_"]
        let names = columns + rowidNames
        let pairs = try key.map { try Self.pair($0, names) }
        var filter = Filter(sql: "")
        var conditions: [String] = []
        func add(_ column: String, _ text: String) {
            let values = Self.values(text)
            let name = quotedIdentifier(column)
            conditions.append(
                values.isEmpty
                    ? "\(name) IS NULL"
                    : "(" + values.map { _ in "\(name) = ?" }.joined(separator: " OR ") + ")")
            filter.values += values
        }
        if pairs.contains(where: { $0.column != nil }) {
            for pair in pairs {
                guard let column = pair.column else {
                    throw Mismatch(
                        sentence: "'\(pair.value)' has no column. Give each value as COLUMN=VALUE.")
                }
                add(column, pair.value)
            }
        } else {
            let columns = shape.blameKey
            guard columns.count == pairs.count else {
                throw Mismatch(
                    sentence: "The key of \(shape.name) is (\(columns.joined(separator: ", "))), but "
                        + "\(pairs.count) \(pairs.count == 1 ? "value was" : "values were") given. "
                        + "Pass one argument for each column.")
            }
            for (column, pair) in zip(columns, pairs) { add(column, pair.value) }
        }
        filter.sql = conditions.joined(separator: " AND ")
        return filter
    }

    /// Splits `column=value`; a text whose beginning isn't a column is a value.
    private static func pair(
        _ text: String, _ names: [String]
    ) throws -> (column: String?, value: String) {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex,
            text.first != "'"
        else { return (nil, text) }
        let name = text[..<equals].filter { !$0.isWhitespace }
        let value = text[text.index(after: equals)...].drop(while: \.isWhitespace)
        if names.contains(where: { folded($0) == folded(name) }) { return (name, String(value)) }
        guard let nearest = Spelling.nearest(to: name, among: names) else { return (nil, text) }
        throw Mismatch(
            sentence: "The table has no column '\(name)'; the nearest name is '\(nearest)'.")
    }

    /// Returns the values that a text may stand for; empty for NULL, and several for a number, which may be a text,
    /// too.
    private static func values(_ text: String) -> [Value] {
        if folded(text) == "null" { return [] }
        if text.count >= 2, text.first == "'", text.last == "'" {
            return [.text(String(text.dropFirst().dropLast()).replacing("''", with: "'"))]
        }
        // X'0A1B'
        if folded(text).hasPrefix("x'"), text.hasSuffix("'"), text.count.isMultiple(of: 2) == false {
            let digits = Array(text.dropFirst(2).dropLast())
            let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
                UInt8(String(digits[$0...($0 + 1)]), radix: 16)
            }
            if bytes.count * 2 == digits.count { return [.blob(bytes), .text(text)] }
        }
        if let number = Int64(text), String(number) == text { return [.integer(number), .text(text)] }
        if let number = Double(text), ValueText.real(number) == text {
            return [.real(number), .text(text)]
        }
        return [.text(text)]
    }
}

extension TableShape {
    /// The columns whose values name a row: the primary key's, or the rowid.
    var blameKey: [String] {
        if let integerKey { return [integerKey] }
        if !primaryKey.isEmpty { return primaryKey.map(\.name) }
        return rowidName.map { [$0] } ?? columns.map(\.name)
    }
}
