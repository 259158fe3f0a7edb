internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

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
