internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Damage that SQLite's own check reports, and rows that violate `NOT NULL` and `CHECK` constraints.
enum Integrity: FindingRule {
    static let code = Finding.Code.integrity

    /// The maximum size of a store whose indexes are checked, in bytes.
    private static let maximumBytes: Int64 = 16 << 20

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for table in store.tables {
            for column in table.columns where column.isNotNull && !column.isVirtual {
                let name = quotedIdentifier(column.name)
                // SQLite takes `IS NULL` for false in such a column.
                let finding = try violation(
                    .notNullViolation, of: table, in: store, columns: [column.name],
                    where: "typeof(\(name)) = 'null'",
                    title: {
                        "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "has" : "have") NULL in \(column.name)"
                    }, explanation: "The column \(column.name) is declared NOT NULL.")
                if let finding { findings.append(finding) }
            }
            findings += checkViolations(of: table, in: store)
        }
        return try findings + damage(in: store)
    }

    /// Returns the damage that SQLite's check reports.
    private static func damage(in store: StoreEvidence) throws -> [Finding] {
        var lines = store.store.integrity?.split(separator: "\n").map(String.init) ?? []
        let size = try store.count("PRAGMA page_count") * store.count("PRAGMA page_size")
        if size <= maximumBytes {
            lines = try store.rows("PRAGMA integrity_check(100)").compactMap { $0[0].string }
        }
        let signs = [
            "malformed", "not a database", "*** in database", "missing from index", "wrong # of entries",
            "Tree ", "Page ", "non-unique entry", "out of order", "row not in PRIMARY KEY",
        ]
        let reports = lines.filter { line in signs.contains(where: line.contains) }
        guard let first = reports.first else { return [] }
        return [
            Finding(
                code: .integrity, title: title(reports, in: store), confidence: .certain,
                store: store.name,
                rows: try missingRows(reports, in: store),
                statement: dangerousStatement(in: store)?.record,
                explanation: "SQLite's check reports: \(SafeText.line(String(first.prefix(200))))"
                    + (reports.count > 1
                        ? " and \(Counted.items(Int64(reports.count - 1), "more problem"))." : "."),
                evidence: .brokenRule)
        ]
    }

    /// Returns the last statement that can damage a store or switch constraints off, according to SQLite's documentation
    /// (<https://www.sqlite.org/howtocorrupt.html>).
    private static func dangerousStatement(
        in store: StoreEvidence, after order: UInt64 = 0
    ) -> StoreEvidence.Statement? {
        let dangerous = store.statements.filter { statement in
            guard statement.order > order, statement.record.error == nil else { return false }
            let words = statement.parts.words.prefix(12)
            if ["sqlite_master", "sqlite_schema"].contains(statement.outline.table) { return true }
            guard words.first == "pragma", words.count > 2 else { return false }
            let isOff = ["off", "0", "false", "no"].contains(words.last ?? "")
            if words.contains("ignore_check_constraints") { return !isOff }
            return words.contains("journal_mode") && words.last == "off"
        }
        // Changing the schema's text does the damage that a pragma allows.
        return dangerous.last { $0.outline.kind == .update } ?? dangerous.last
    }

    /// A row that an index lacks, as in `row 2 missing from index email_address`.
    private static func missing(_ report: String) -> (rowid: Int64, index: String)? {
        let words = report.split(separator: " ").map(String.init)
        guard words.count == 6, words[0] == "row",
            words[2...4].elementsEqual(["missing", "from", "index"]),
            let rowid = Int64(words[1])
        else { return nil }
        return (rowid, words[5])
    }

    private static func title(_ reports: [String], in store: StoreEvidence) -> String {
        let found = reports.compactMap(missing)
        guard let index = found.first?.index else { return "Store \(store.name) is damaged" }
        let count = Int64(found.count)
        return
            "\(Counted.items(count, "row")) \(count == 1 ? "is" : "are") missing from index \(SafeText.line(index))"
    }

    private static func missingRows(_ reports: [String], in store: StoreEvidence) throws -> [Finding.Row]
    {
        var rows: [Finding.Row] = []
        for (rowid, index) in reports.compactMap(missing).prefix(20) {
            let owner = try store.rows(
                "SELECT tbl_name FROM sqlite_master WHERE type = 'index' AND name = ?", [.text(index)]
            ).first?[0].content
            guard case .text(let bytes) = owner,
                let table = store.schema.tables[folded(String(decoding: bytes, as: UTF8.self))],
                let name = table.rowidName
            else { continue }
            let key = store.keyColumns(of: table.name)
            let values = try store.rows(
                "SELECT \(key.map(quotedIdentifier).joined(separator: ", ")) FROM "
                    + "\(quotedIdentifier(table.name)) NOT INDEXED WHERE \(name) = \(rowid)")
            for row in values {
                rows.append(
                    Finding.Row(
                        table: table.name, key: Finding.Row.key(key, row),
                        change: .present))
            }
        }
        return rows
    }

    private static func checkViolations(of table: TableShape, in store: StoreEvidence) -> [Finding] {
        guard let sql = store.schema.object("table", named: table.name)?.sql else { return [] }
        // SQLite's own check evaluates the constraints only if the file can be written.
        return checks(in: sql).compactMap { expression in
            let words = Set(StatementOutline.words(of: expression, limit: 200))
            let columns = table.columns.map(\.name).filter { words.contains(folded($0)) }
            let text = SafeText.line(expression)
            return try? violation(
                .checkViolation, of: table, in: store, columns: columns, where: "NOT (\(expression))",
                title: {
                    "\(Counted.items($0, "row")) of \(table.name) \($0 == 1 ? "violates" : "violate") CHECK (\(text))"
                },
                explanation: "The table declares this constraint, but it was off or newer than the row.")
        }
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
            where: { _, change in
                change.key == firstKey && change.kind != .deleted
                    && columns.contains { change.cell($0) != nil }
            }, of: table.name)
        let origin = store.origin(inStep: last?.index, of: table.name, by: [.insert, .update])
        // The constraint may be newer than the row.
        let edit = dangerousStatement(in: store, after: origin.statement?.order ?? 0).flatMap {
            $0.outline.kind == .update ? $0 : nil
        }
        return Finding(
            code: code, title: title(count), confidence: .certain, store: store.name,
            rows: rows.map { values in
                Finding.Row(
                    table: table.name, key: Finding.Row.key(key, values),
                    change: .present,
                    columns: zip(columns, values.dropFirst(key.count)).map {
                        .init(column: $0, old: nil, new: $1)
                    })
            }, transaction: last == nil ? nil : origin.transaction,
            statement: (edit ?? (last == nil ? nil : origin.statement))?.record,
            explanation: explanation,
            evidence: .brokenRule)
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
