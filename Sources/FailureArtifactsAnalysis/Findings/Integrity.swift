internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Damage that SQLite's own check reports, and rows that violate `NOT NULL` and `CHECK` constraints.
enum Integrity: FindingRule {
    static let code = Finding.Code.integrity

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        guard let text = store.store.integrity, text != "ok", text != "notChecked" else { return [] }
        var findings: [Finding] = []
        for line in Set(text.split(separator: "\n").map(String.init)).sorted() {
            if line.hasPrefix("NULL value in ") {
                findings += try notNull(String(line.dropFirst("NULL value in ".count)), in: store)
            } else if line.hasPrefix("CHECK constraint failed in ") {
                findings += try check(
                    String(line.dropFirst("CHECK constraint failed in ".count)), in: store)
            }
        }
        let damage = [
            "malformed", "not a database", "*** in database", "missing from index", "wrong # of entries",
            "Tree ", "Page ", "non-unique entry", "out of order", "row not in PRIMARY KEY",
        ]
        if damage.contains(where: text.contains) {
            findings.append(
                Finding(
                    code: code, title: "Store \(store.name) is damaged", confidence: .certain,
                    store: store.name,
                    explanation: "SQLite's check reports: "
                        + SafeText.line(String(text.prefix(200))) + ".",
                    relevance: 50))
        }
        return findings
    }

    private static func notNull(_ name: String, in store: StoreEvidence) throws -> [Finding] {
        let parts = name.split(separator: ".", maxSplits: 1).map(String.init)
        guard parts.count == 2, let table = store.schema.tables[folded(parts[0])] else { return [] }
        let column = parts[1]
        return try [
            violation(
                .notNullViolation, of: table, in: store, columns: [column],
                where: "typeof(\(quotedIdentifier(column))) = 'null'",
                title: {
                    "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") NULL in \(column)"
                },
                explanation: "The column \(column) is declared NOT NULL.")
        ].compactMap { $0 }
    }

    private static func check(_ name: String, in store: StoreEvidence) throws -> [Finding] {
        guard let table = store.schema.tables[folded(name)],
            let sql = store.schema.object("table", named: name)?.sql
        else { return [] }
        var findings: [Finding] = []
        for expression in checks(in: sql) {
            let words = Set(StatementOutline.words(of: expression, limit: 200))
            let columns = table.columns.map(\.name).filter { words.contains(folded($0)) }
            let finding = try? violation(
                .checkViolation, of: table, in: store, columns: columns, where: "NOT (\(expression))",
                title: {
                    "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "violates" : "violate") CHECK (\(expression))"
                },
                explanation: "The table declares CHECK (\(SafeText.line(expression))).")
            if let finding { findings.append(finding) }
        }
        return findings
    }

    private static func violation(
        _ code: Finding.Code, of table: TableShape, in store: StoreEvidence, columns: [String],
        where condition: String, title: (Int64) -> String, explanation: String
    ) throws -> Finding? {
        let key = store.keyColumns(of: table.name)
        let selected = (key + columns).map(quotedIdentifier).joined(separator: ", ")
        let name = quotedIdentifier(table.name)
        let rows = try store.rows("SELECT \(selected) FROM \(name) WHERE \(condition)", limit: 20)
        guard let first = rows.first else { return nil }
        let count = try store.count("SELECT count(*) FROM \(name) WHERE \(condition)")
        let firstKey = Array(first.prefix(key.count))
        let last = store.lastStep(
            where: { _, change in change.key == firstKey && change.kind != .deleted }, of: table.name)
        let origin = store.origin(inStep: last?.index, of: table.name, by: [.insert, .update])
        return Finding(
            code: code, title: title(count), confidence: .certain, store: store.name,
            rows: rows.map { values in
                Finding.Row(
                    table: table.name, key: zip(key, values).map { .init(column: $0, value: $1) },
                    change: .present,
                    columns: zip(columns, values.dropFirst(key.count)).map {
                        .init(column: $0, old: nil, new: $1)
                    })
            }, transaction: last == nil ? nil : origin.transaction,
            statement: last == nil ? nil : origin.statement?.record, explanation: explanation,
            relevance: 20)
    }

    /// Returns the expressions of a table's `CHECK` constraints.
    static func checks(in sql: String) -> [String] {
        var expressions: [String] = []
        let characters = Array(sql)
        var index = 0
        var quote: Character?
        var word = ""
        while index < characters.count {
            let character = characters[index]
            if let end = quote {
                if character == end { quote = nil }
            } else if "'\"`[".contains(character) {
                quote = character == "[" ? "]" : character
                word = ""
            } else if character.isLetter || character == "_" {
                word.append(character)
            } else if character == "(", word.uppercased() == "CHECK" {
                guard let end = Self.end(of: index, in: characters) else { return expressions }
                expressions.append(String(characters[(index + 1)..<end]))
                index = end
                word = ""
            } else if !character.isWhitespace {
                word = ""
            }
            if character.isWhitespace, word.uppercased() != "CHECK" { word = "" }
            index += 1
        }
        return expressions
    }

    /// Returns the index of the parenthesis that closes the one at an index.
    private static func end(of start: Int, in characters: [Character]) -> Int? {
        var depth = 0
        var quote: Character?
        for index in start..<characters.count {
            let character = characters[index]
            if let end = quote {
                if character == end { quote = nil }
            } else if "'\"`[".contains(character) {
                quote = character == "[" ? "]" : character
            } else if character == "(" {
                depth += 1
            } else if character == ")" {
                depth -= 1
                if depth == 0 { return index }
            }
        }
        return nil
    }
}
