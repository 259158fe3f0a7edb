internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows that a query names: those with a value that its conditions compare with a parameter.
///
/// `SELECT … FROM posting p JOIN account a ON a.id = p.accountID WHERE p.day > ? AND a.id = ? LIMIT ?` names rows by its
/// second parameter, the value of `account.id` and of `posting.accountID`.
struct NamedRows {
    private struct Column: Hashable {
        /// The folded names.
        let table, name: String
    }

    private var values: [Column: Set<Value>] = [:]
    private let text: SQLText
    private let store: Timeline
    private let reads: Set<String>

    init(_ question: Question) {
        (text, store) = (SQLText(question.sql), question.store)
        reads = Set(question.reads.keys)
        let parameters = Dictionary(
            StatementParameter.all(in: question.sql).map { ($0.range.lowerBound, $0.number) },
            uniquingKeysWith: { first, _ in first })
        // Those of a subquery come before those of the query around it.
        let terms = text.conditions.flatMap(\.terms).sorted { $0.count < $1.count }
        var known: Set<Int> = []
        var equal: [[Column]] = []
        for term in terms where text.tokens[term].contains(where: Self.isEquality) {
            let columns = columns(in: term)
            let own = term.filter { text.tokens[$0].kind == .parameter && known.insert($0).inserted }
            if own.isEmpty { equal.append(columns) }
            for index in own {
                guard let number = parameters[text.tokens[index].range.lowerBound],
                    let value = question.values[safe: number - 1], value != .null
                else { continue }
                for column in columns { values[column, default: []].insert(value) }
            }
        }
        for columns in equal where columns.count == 2 {
            let shared = columns.reduce(into: Set<Value>()) { $0.formUnion(values[$1] ?? []) }
            for column in columns { values[column] = shared }
        }
    }

    private static func isEquality(_ token: SQLText.Token) -> Bool {
        ["=", "=="].contains(token.text) || token.isWord(in: ["is", "in"])
    }

    /// Returns the columns of the store's tables in a term.
    private func columns(in term: Range<Int>) -> [Column] {
        let tokens = text.tokens
        return term.flatMap { index -> [Column] in
            let next = tokens[safe: index + 1]?.text
            guard tokens[index].kind == .name, next != "(", next != "." else { return [] }
            let qualifier = tokens[safe: index - 1]?.text == "." ? tokens[safe: index - 2]?.text : nil
            let named = text.sources.filter { qualifier == nil || $0.name == qualifier }.map(\.table)
            let own = columns(tokens[index].text, of: reads.intersection(named))
            // The columns of a view or a subquery are those of tables that it reads.
            return own.isEmpty ? columns(tokens[index].text, of: reads) : own
        }
    }

    private func columns(_ name: String, of tables: Set<String>) -> [Column] {
        tables.sorted().compactMap { table in
            guard let shape = store.schema.tables[table] else { return nil }
            if ["rowid", "_rowid_", "oid"].contains(name) {
                return store.keyColumns(of: table).first.map { Column(table: table, name: folded($0)) }
            }
            return shape.columns.contains { folded($0.name) == name }
                ? Column(table: table, name: name) : nil
        }
    }

    /// Returns the values by which the query names rows of a table.
    func values(of column: String, in table: String) -> Set<Value> {
        values[Column(table: folded(table), name: folded(column))] ?? []
    }

    func contains(_ change: ScratchStore.Change) -> Bool {
        let table = change.table.table.name
        let keys = store.keyColumns(of: table)
        // A row with another value in a part of its key is another row.
        let isOther = zip(keys, change.row.key).contains { column, value in
            let named = values(of: column, in: table)
            return !named.isEmpty && !(value.bindable.map(named.contains) ?? false)
        }
        if isOther { return false }
        func isNamed(_ column: String, _ value: StoredValue?) -> Bool {
            guard let value = value?.bindable, values(of: column, in: table).contains(value) else {
                return false
            }
            // Many rows have the same truth value.
            return keys.contains { folded($0) == folded(column) } || Reference.isName(column)
                || !value.isSmall
        }
        return zip(keys, change.row.key).contains { isNamed($0, $1) }
            || change.row.cells.contains { isNamed($0.column, $0.old) || isNamed($0.column, $0.new) }
    }
}

extension Value {
    fileprivate var isSmall: Bool {
        if case .integer(let number) = self { abs(number) < 10 } else { false }
    }
}
