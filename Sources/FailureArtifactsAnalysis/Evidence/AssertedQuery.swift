internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A query of the test that returns the actual value of the failed assertion.
///
/// If the log doesn't have the values of its parameters, they are searched for. A parameter that is compared with a column
/// is most likely a value that the column has or had, and few of them give the actual value.
struct AssertedQuery {
    /// The part of a result that is the actual value.
    enum Shape: Equatable {
        /// The values of a column, one for each row.
        case column(Int)
        /// The values of the columns that have the labels of a structure's properties.
        case properties
        /// The number of rows.
        case rowCount
    }

    /// The result of the query in one state.
    struct Result: Equatable {
        var columns: [String] = []
        var rows: [[StoredValue]] = []
    }

    let record: StatementRecord
    /// The columns that the parameters are compared with, in the order of the parameters, in lower case.
    private let columns: [String]
    /// The values that the parameters can have had, each in the order of the parameters; one empty list if there are no
    /// parameters.
    private(set) var parameters: [[StoredValue]]
    /// The parts of the result that equal the actual value: several only if the result has no rows.
    private let shapes: [Shape]
    private let operands: FailureMessage.Comparison

    /// The maximum number of rows of a result.
    private static let rowLimit = 100
    /// The maximum numbers of parameters and of combinations of their values.
    private static let limits = (parameters: 2, combinations: 500)
    /// Functions and names of times that don't have the same value each time.
    private static let unsteady: Set = [
        "random", "randomblob", "now", "current_timestamp", "current_date", "current_time", "changes",
        "total_changes", "last_insert_rowid",
    ]

    /// Finds the values of the parameters with which a query returns the actual value in the state at the failure.
    ///
    /// The result is nil if there are none, or if both operands can be results of the query.
    ///
    /// - Parameters:
    ///   - query: One of the last queries of the test.
    ///   - store: The store.
    ///   - message: The message of the assertion.
    /// - Throws: An error if a query fails.
    init?(_ query: StoreEvidence.Statement, in store: StoreEvidence, _ message: FailureMessage) throws {
        let words = query.parts.words
        guard query.record.cut != true, query.record.error == nil, Self.unsteady.isDisjoint(with: words),
            words.count < StatementOutline.Parts.maximumWords,
            let (columns, candidates) = try Self.parameters(of: query, in: store)
        else { return nil }
        var found: [AssertedQuery] = []
        for operands in message.comparisons {
            var match: AssertedQuery?
            for values in candidates {
                guard let result = try Self.run(query.record.sql, values, on: store.connection)
                else { continue }
                let shapes = Self.shapes(of: result, operands.actual)
                if match == nil, !shapes.isEmpty {
                    match = AssertedQuery(
                        record: query.record, columns: columns, parameters: [], shapes: shapes,
                        operands: operands)
                }
                if !shapes.isEmpty, match?.shapes == shapes { match?.parameters.append(values) }
            }
            if let match { found.append(match) }
        }
        guard found.count == 1 else { return nil }
        self = found[0]
    }

    private init(
        record: StatementRecord, columns: [String], parameters: [[StoredValue]], shapes: [Shape],
        operands: FailureMessage.Comparison
    ) {
        self.record = record
        self.columns = columns
        self.parameters = parameters
        self.shapes = shapes
        self.operands = operands
    }

    /// True if only one list of ``parameters`` is possible.
    ///
    /// Otherwise the query had the list with which it returned the expected value in an earlier state, if that value is
    /// rare enough. A query that returned nothing or zero may have had parameters that are not in the list.
    var isCertain: Bool {
        let isNothing = operands.actual.allSatisfy { $0.text == "nil" || $0.number == 0 }
        return parameters.count == 1 && (columns.isEmpty || !isNothing || record.values != nil)
    }

    /// Returns the part of the results that is compared: the one that has the expected value, if there is one.
    func shape(of results: [Result]) -> Shape {
        shapes.first { shape in results.contains { isExpected($0, shape) } } ?? shapes[0]
    }

    /// True if a part of a result is the expected value, and says enough about the values of the parameters.
    func isExpected(_ result: Result, _ shape: Shape) -> Bool {
        switch operands.expected {
        case .none: return false
        case .anything:
            return isCertain && result.rows.contains { row in row.contains { !$0.isNull } }
        case .values(let values):
            let isRare = values.contains { !$0.isCommon && $0.text != "nil" }
            return (isCertain || isRare) && Self.matches(result, values, shape)
        }
    }

    // MARK: - Parameters

    /// Returns the columns that the parameters are compared with, and their values, as text such as `id = 3`.
    ///
    /// - Parameters:
    ///   - values: The values of the parameters.
    ///   - tables: The tables of the store.
    /// - Returns: The texts.
    func texts(of values: [StoredValue], _ tables: [TableShape]) -> [String] {
        zip(columns, values).map { column, value in
            let names = tables.lazy.flatMap(\.columns).map(\.name)
            let name = names.first { folded($0) == column } ?? column
            return "\(SafeText.line(name)) = \(StoredText.text(of: value, width: 40))"
        }
    }

    /// Returns the columns that the parameters are compared with, and the values that they had or can have had.
    private static func parameters(of query: StoreEvidence.Statement, in store: StoreEvidence) throws
        -> (columns: [String], values: [[StoredValue]])?
    {
        let columns = comparedColumns(query.parts.words)
        if let values = query.record.values {
            let isWhole = values.allSatisfy { $0.bytes == nil }
            let names = columns?.count == values.count ? columns : nil
            let numbers = values.indices.map { "?\($0 + 1)" }
            return isWhole ? (names ?? numbers, [values.map { StoredValue($0) }]) : nil
        }
        guard let columns, columns.count <= limits.parameters,
            let found = try candidates(columns, Set(query.parts.words), in: store)
        else { return nil }
        return (columns, found)
    }

    /// Returns the column that each parameter is compared with, in the order of the parameters; nil if one is used in
    /// another way.
    private static func comparedColumns(_ words: [String]) -> [String]? {
        var columns: [String] = []
        var names: Set<String> = []
        for (index, word) in words.enumerated() where ["?", ":", "@", "$"].contains(word) {
            let next = index + 1 < words.count ? words[index + 1] : ""
            if word == "?" {
                // Numbered parameters may come in any order.
                guard next.isEmpty || !next.allSatisfy(\.isNumber) else { return nil }
            } else if !names.insert(word + next).inserted {
                continue
            }
            guard index >= 2, ["=", "is"].contains(words[index - 1]),
                let first = words[index - 2].first, first.isLetter || first == "_"
            else { return nil }
            columns.append(words[index - 2])
        }
        return columns
    }

    /// Returns the combinations of values that the parameters can have had; nil if there are too many.
    private static func candidates(
        _ columns: [String], _ words: Set<String>, in store: StoreEvidence
    ) throws -> [[StoredValue]]? {
        var combinations: [[StoredValue]] = [[]]
        for column in columns {
            var values: Set<StoredValue> = []
            for table in store.tables where words.contains(folded(table.name)) {
                for found in table.columns where folded(found.name) == column {
                    let name = quotedIdentifier(found.name)
                    let sql =
                        "SELECT DISTINCT \(name) FROM \(quotedIdentifier(table.name)) WHERE \(name) NOT NULL"
                    values.formUnion(try store.rows(sql, limit: limits.combinations + 1).map { $0[0] })
                }
                // The values of rows that the test deleted or changed.
                for step in store.steps {
                    let old = step.table(table.name)?.rows.compactMap { $0.cell(column)?.old } ?? []
                    values.formUnion(old.filter { !$0.isNull })
                }
            }
            guard combinations.count * values.count <= limits.combinations else { return nil }
            combinations = combinations.flatMap { start in values.map { start + [$0] } }
        }
        return combinations
    }

    // MARK: - Results

    /// Runs a query in one state.
    ///
    /// - Parameters:
    ///   - sql: The query.
    ///   - values: The values of the parameters.
    ///   - connection: A connection to the state.
    /// - Returns: The result; nil if it isn't a query, if it has too many rows, or if it has another number of parameters.
    /// - Throws: An error if it fails.
    static func run(
        _ sql: String, _ values: [StoredValue], on connection: borrowing Connection
    ) throws -> Result? {
        let statement = try connection.prepare(sql)
        let bound = values.compactMap(\.bindable)
        guard statement.isReadOnly, bound.count == values.count, statement.parameterCount == bound.count
        else { return nil }
        try statement.bind(bound)
        var result = Result(columns: statement.columnNames)
        while try statement.step() {
            guard result.rows.count < rowLimit else { return nil }
            result.rows.append(
                (0..<statement.columnCount).map { statement.storedValue(at: $0, limit: 256) })
        }
        return result
    }

    /// Returns the parts of a result that an operand can show: the first one, or all columns of a result without rows.
    private static func shapes(of result: Result, _ operand: [FailureMessage.Value]) -> [Shape] {
        let all = result.columns.indices.map { Shape.column($0) } + [.properties, .rowCount]
        let shapes = all.filter { matches(result, operand, $0) }
        return result.rows.isEmpty ? shapes : Array(shapes.prefix(1))
    }

    /// True if a part of a result is what an operand shows, in any order of the rows.
    private static func matches(
        _ result: Result, _ operand: [FailureMessage.Value], _ shape: Shape
    ) -> Bool {
        switch shape {
        case .column(let column):
            let cells = result.rows.map { $0[column] }
            // Code returns nil for a row that doesn't exist.
            if cells.isEmpty, operand.count == 1 { return operand[0].text == "nil" }
            var rest = operand
            for cell in cells {
                guard let place = rest.firstIndex(where: { $0.matches(cell) }) else { return false }
                rest.remove(at: place)
            }
            return rest.isEmpty
        case .properties:
            let count = result.rows.count
            guard count > 0, operand.count.isMultiple(of: count) else { return false }
            let width = operand.count / count
            let names = result.columns.map(label)
            return result.rows.indices.allSatisfy { row in
                let cells = operand[(row * width)..<((row + 1) * width)].compactMap { value in
                    value.label.flatMap { names.firstIndex(of: label($0)) }.map { (value, $0) }
                }
                return cells.count >= 2 && cells.allSatisfy { $0.matches(result.rows[row][$1]) }
            }
        case .rowCount:
            return operand.count == 1 && result.columns.count > 1 && !result.rows.isEmpty
                && operand[0].number == Double(result.rows.count)
        }
    }

    /// Returns a part of a result as text.
    func texts(of result: Result, _ shape: Shape) -> [String] {
        func text(_ value: StoredValue) -> String { StoredText.text(of: value, width: 40) }
        switch shape {
        case .rowCount: return [Counted.items(Int64(result.rows.count), "row")]
        case .column(let column): return result.rows.map { text($0[column]) }
        case .properties:
            let labels = Set(operands.actual.compactMap(\.label).map(Self.label))
            let places = result.columns.indices.filter {
                labels.contains(Self.label(result.columns[$0]))
            }
            return result.rows.map { row in
                let cells = places.map { "\(SafeText.line(result.columns[$0])) \(text(row[$0]))" }
                return "(" + cells.joined(separator: ", ") + ")"
            }
        }
    }

    /// Returns a name for comparing columns such as `folder_id` with properties such as `folderID`.
    private static func label(_ name: String) -> String { folded(name).filter { $0 != "_" } }
}
