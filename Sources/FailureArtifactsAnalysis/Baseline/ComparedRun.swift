internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// The facts about a statement's text and function that a comparison of runs needs, once for all executions.
final class ComparedText {
    let text: String
    let shape: String
    let outline: StatementOutline
    /// The folded names of the tables that the text names.
    let tables: Set<String>
    let hasParameters: Bool
    /// The indices of the parameters that name a row by its key, such as `id = ?`.
    let keys: Set<Int>
    /// Numbers that are equal for statements that are more and more vaguely alike.
    let likeness: [Int]
    /// The limits of the work for a text, which isn't trusted.
    private static let (maximumTokens, maximumParameters) = (2000, 100)
    /// The number of the shape.
    let shapeNumber: Int

    /// True if it only begins or ends a transaction, or is a `PRAGMA`.
    let isControl: Bool
    /// The kind and the table of the statements that start a trigger; nil for other definitions.
    let event: (kind: StatementOutline.Kind, table: String)?
    var isWrite: Bool { outline.isWrite || outline.kind == .definition }

    fileprivate init(_ sql: String, function: String?, _ names: inout ComparedTexts) {
        let normal = StatementShape(sql)
        let tokens = SQLText(sql, limit: Self.maximumTokens)
        (text, shape) = (normal.text, normal.shape)
        outline = StatementOutline(sql)
        // An index or a trigger is one of a table.
        let subjects = zip(outline.words, outline.words.dropFirst()).filter { $0.0 == "on" }.map(\.1)
        event = outline.triggerEvent
        // A trigger has an effect on the rows that it writes.
        let written = event == nil ? [] : tokens.writtenTables
        tables =
            written.isEmpty
            ? Set(
                tokens.tables + (outline.table.map { [$0] } ?? [])
                    + (outline.kind == .definition ? subjects : []))
            : Set(written)
        let parameters = StatementParameter.all(in: sql)
        hasParameters = !parameters.isEmpty
        keys = Self.keys(of: tokens, parameters)
        let (verb, list) = (outline.word(0), tables.sorted().joined(separator: ","))
        shapeNumber = names.number(["shape", shape])
        isControl =
            ["begin", "commit", "end", "rollback", "savepoint", "release", "pragma"].contains(verb)
        let isEnd = outline.kind == .commit || outline.kind == .rollback
        // A setting has a name and a value.
        let control = outline.pragma.map { ["pragma", $0] } ?? ["text", text]
        likeness = [
            names.number(["text", text, function ?? ""]), names.number(["text", text]), shapeNumber,
            names.number(["tables", function ?? text, verb, list]),
            isControl || function == nil
                ? names.number(control) : names.number(["function", function ?? "", verb]),
            // COMMIT and ROLLBACK end a transaction in different ways.
            isEnd
                ? names.number(["end"])
                : isControl ? names.number(control) : names.number(["verb", verb, list]),
        ]
    }

    /// Returns the indices of the parameters that are compared with, or inserted into, a column that is named like a key.
    private static func keys(of sql: SQLText, _ parameters: [StatementParameter]) -> Set<Int> {
        let tokens = sql.tokens
        func isKey(_ token: SQLText.Token?) -> Bool {
            guard let token, token.kind == .name else { return false }
            return token.text.hasSuffix("id") || token.text == "z_pk"
        }
        // The columns of an INSERT, and the tokens of its first row.
        let lists = tokens.indices.filter { tokens[$0].text == "(" && tokens[$0].depth == 0 }
        let isInsert = tokens.first.map { ["insert", "replace"].contains($0.text) } ?? false
        let columns =
            isInsert && lists.count > 1
            ? tokens[(lists[0] + 1)..<lists[1]].prefix { $0.text != ")" }.filter { $0.kind == .name }
            : []
        var found: Set<Int> = []
        for parameter in parameters.prefix(maximumParameters) {
            guard let place = tokens.firstIndex(where: { $0.range == parameter.range }) else { continue }
            let isCompared =
                ["=", "=="].contains(tokens[safe: place - 1]?.text) && isKey(tokens[safe: place - 2])
            let list = lists.last { $0 < place }
            let column = list.map { tokens[$0..<place].count { $0.depth == 1 && $0.text == "," } }
            if isCompared
                || !columns.isEmpty && list != lists[0] && isKey(column.flatMap { columns[safe: $0] })
            {
                found.insert(parameter.number - 1)
            }
        }
        return found
    }
}

/// The texts of the compared runs.
struct ComparedTexts {
    private var numbers: [[String]: Int] = [:]
    private var texts: [[String?]: ComparedText] = [:]

    fileprivate mutating func number(_ parts: [String]) -> Int {
        let number = numbers[parts] ?? numbers.count
        numbers[parts] = number
        return number
    }

    fileprivate mutating func text(of record: StatementRecord) -> ComparedText {
        let key = [record.sql, record.source?.function]
        if let known = texts[key] { return known }
        let text = ComparedText(record.sql, function: record.source?.function, &self)
        texts[key] = text
        return text
    }
}

/// A run of a test, as its statements' executions.
struct ComparedRun {
    struct Execution {
        let record: StatementRecord
        let text: ComparedText
        /// True if it stands for several executions.
        var isSummary: Bool { count > 1 }
        var count: Int { record.repeated ?? 1 }
        var ownChanges: Int? { record.ownChanges ?? record.changes }
    }

    /// The time of the run, in seconds since 1970.
    let time: Double
    let executions: [Execution]
    /// True for a passing run that ends where the failing run ended.
    let isWhole: Bool

    /// Leaves out what reads the schema, what sets up another connection like an earlier one, and the begin and the end of
    /// transactions that only read.
    init(
        _ records: [StatementRecord], at time: String, isWhole: Bool = false,
        _ texts: inout ComparedTexts
    ) {
        self.isWhole = isWhole
        self.time = ComparedValues.seconds(of: time)
        var begun: Set<UInt64> = []
        var preparing: [String: UInt64] = [:]
        let all = StatementLines.applied(to: records).compactMap { record -> Execution? in
            let text = texts.text(of: record)
            if text.outline.readsSchema || record.sql.isEmpty { return nil }
            if text.outline.word(0) != "pragma" {
                begun.insert(record.connection)
            } else if !begun.contains(record.connection) {
                // A pool opens as many connections as it happens to need.
                if preparing[text.text, default: record.connection] != record.connection { return nil }
                preparing[text.text] = record.connection
            }
            return Execution(record: record, text: text)
        }
        let idle = Self.boundsOfReads(in: all)
        executions = all.indices.filter { !idle.contains($0) }.map { all[$0] }
    }

    /// Returns the indices of the statements that begin and end transactions without writes; the last one may be open.
    private static func boundsOfReads(in all: [Execution]) -> Set<Int> {
        var begins: [UInt64: Int] = [:]
        var bounds: Set<Int> = []
        for (index, execution) in all.enumerated() {
            let (connection, outline) = (execution.record.connection, execution.text.outline)
            if execution.isSummary || execution.record.error != nil {
                begins[connection] = nil
            } else if outline.kind == .begin, !outline.beginsWriting {
                begins[connection] = index
            } else if [.commit, .rollback].contains(outline.kind) {
                if let begin = begins.removeValue(forKey: connection) {
                    bounds.formUnion([begin, index])
                }
            } else if !outline.isSelect {
                begins[connection] = nil
            }
        }
        return bounds.union(begins.values)
    }
}

extension StatementOutline {
    private static let readingPragmas: Set = [
        "schema_version", "query_only", "data_version", "table_info", "table_xinfo", "index_list",
        "index_info",
        "index_xinfo", "foreign_key_list", "compile_options", "database_list", "encoding",
        "user_version",
        "table_list", "function_list", "collation_list",
    ]

    /// The name of a `PRAGMA`; nil for another statement.
    var pragma: String? { word(0) != "pragma" ? nil : word(2) == "." ? word(3) : word(1) }

    /// True if the statement only reads the schema or a setting, as libraries do when they need it.
    fileprivate var readsSchema: Bool {
        if let name = pragma {
            return name == "query_only" || Self.readingPragmas.contains(name) && !words.contains("=")
        }
        return isQuery && readsOnlySchemaTables
    }
}
