package import FailureArtifactsSQLite

package enum StoreScript {
    /// The reason for no script: its size, or a number that SQLite reads in a slightly different way than it is written.
    private struct Unsuitable: Error {}

    /// Returns the script of a stand-alone database that nothing else uses; nil if it is larger than the maximum, in
    /// bytes, or if a script can't give all of the store: for example, because of a virtual table, or of a definition
    /// that isn't one plain statement.
    ///
    /// - `checksForeignKeys`: true to leave the setting of foreign keys to the connection that runs the script, and
    ///   to defer them. Then all rows must obey them. False to switch them off.
    package static func bytes(
        of path: String, limits: UntrustedLimits, maximum: Int, checksForeignKeys: Bool = false
    ) throws -> [UInt8]? {
        let connection = try Connection.untrusted(path, limits: limits)
        let schema = try DatabaseSchema("main", of: connection)
        let objects = schema.objects.filter { !folded($0.name).hasPrefix("sqlite_") }
        let definitions = objects.compactMap { DefinitionText.statement($0.sql) }
        guard schema.encoding == "UTF-8", schema.problems.isEmpty, definitions.count == objects.count,
            !objects.contains(where: { DefinitionText.hasControlCharacters($0.name) }),
            !schema.tables.values.contains(where: { $0.kind == .virtual })
        else { return nil }
        let violations = "SELECT count(*) FROM pragma_foreign_key_check"
        if checksForeignKeys, try connection.integer(of: violations) > 0 { return nil }

        var script =
            checksForeignKeys
            ? "BEGIN;\nPRAGMA defer_foreign_keys = ON;\n" : "PRAGMA foreign_keys = OFF;\nBEGIN;\n"
        func add(_ line: String) throws {
            script += line + "\n"
            if script.utf8.count > maximum { throw Unsuitable() }
        }
        do {
            for (object, definition) in zip(objects, definitions) where object.type == "table" {
                try add(definition)
            }
            for object in objects where object.type == "table" {
                guard let shape = schema.tables[folded(object.name)] else { continue }
                try addRows(of: shape, connection, add)
            }
            // The table may be left from tables that were dropped.
            if let sequence = schema.tables["sqlite_sequence"],
                definitions.contains(where: { folded($0).contains("autoincrement") }),
                try connection.integer(of: "SELECT count(*) FROM sqlite_sequence") > 0
            {
                try add("DELETE FROM sqlite_sequence;")
                try addRows(of: sequence, connection, add)
            }
            for (object, definition) in zip(objects, definitions) where object.type != "table" {
                try add(definition)
            }
            if schema.userVersion != 0 { try add("PRAGMA user_version = \(schema.userVersion);") }
            if schema.applicationID != 0 { try add("PRAGMA application_id = \(schema.applicationID);") }
            try add("COMMIT;")
        } catch is Unsuitable {
            return nil
        }
        return Array(script.utf8)
    }

    private static func addRows(
        of table: TableShape, _ connection: borrowing Connection, _ add: (String) throws -> Void
    ) throws {
        let hasKey = table.integerKey != nil || !table.primaryKey.isEmpty
        let rowid = hasKey ? [] : [table.rowidName].compactMap(\.self)
        let columns = (rowid + table.writableColumns.map { quotedIdentifier($0.name) })
            .joined(separator: ", ")
        let name = quotedIdentifier(table.name)
        let literals = try SQLLiterals(connection)
        let rows = try connection.prepare("SELECT \(columns) FROM \(name) NOT INDEXED")
        while try rows.step() {
            let values = try (0..<rows.columnCount).map { index in
                let value = rows.storedValue(at: index, limit: .max)
                let literal = try literals.literal(value)
                if case .real(let number) = value.content,
                    try connection.value(of: "SELECT \(literal)") != .real(number)
                {
                    throw Unsuitable()
                }
                return literal
            }
            try add("INSERT INTO \(name)(\(columns)) VALUES(\(values.joined(separator: ", ")));")
        }
    }
}

package struct SQLLiterals: ~Copyable {
    private let quoting: Statement

    /// Creates a formatter; the connection must outlive it.
    package init(_ connection: borrowing Connection) throws(SQLiteError) {
        quoting = try connection.prepare("SELECT quote(?)")
    }

    /// Returns an expression without control characters; line ends occur only inside a text.
    package borrowing func literal(_ value: StoredValue) throws(SQLiteError) -> String {
        switch value.content {
        case .null: return "NULL"
        case .integer(let number): return String(number)
        case .real(let number):
            guard number.isFinite else { return number < 0 ? "-9e999" : "9e999" }
            // SQLite reads nearly all numbers as the same ones again.
            quoting.reset()
            try quoting.bind([.real(number)])
            _ = try quoting.step()
            return quoting.text(at: 0)
        case .blob(let bytes): return "X'\(hexadecimalText(bytes))'"
        case .text(let bytes):
            let text = String(decoding: bytes, as: UTF8.self)
            // The shell drops a carriage return before a line end, and ends a line at NUL.
            guard text.utf8.elementsEqual(bytes), !bytes.contains(0x0D),
                !DefinitionText.hasControlCharacters(text)
            else { return "CAST(X'\(hexadecimalText(bytes))' AS TEXT)" }
            // In a String, a quote with a combining mark is another character.
            let quote = UInt8(ascii: "'")
            let doubled = bytes.flatMap { $0 == quote ? [quote, quote] : [$0] }
            return "'\(String(decoding: doubled, as: UTF8.self))'"
        }
    }
}

/// Returns two upper-case digits for each byte.
package func hexadecimalText(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count * 2)
    for byte in bytes {
        result.append(digits[Int(byte >> 4)])
        result.append(digits[Int(byte & 15)])
    }
    return String(decoding: result, as: UTF8.self)
}

/// Checks the text of a `CREATE` statement from an untrusted schema before it is written into a script.
///
/// SQLite reads only the first statement of such a text. In a script, a second statement would be run, and a line that
/// begins with a dot would be a command of the `sqlite3` shell.
enum DefinitionText {
    /// Returns the statement with a semicolon at its end; nil if the text is not exactly one `CREATE` statement or has
    /// control characters.
    static func statement(_ sql: String) -> String? {
        guard !hasControlCharacters(sql) else { return nil }
        var scanner = SQLScanner(sql)
        var endsInComment = false
        // Words in lower case, semicolons, and empty strings for anything else.
        var words: [String] = []
        while let token = scanner.next() {
            endsInComment = token.kind == .lineComment && !token.isTerminated
            switch token.kind {
            case .space, .lineComment: continue
            case _ where !token.isTerminated: return nil
            case .blockComment: continue
            case .word: words.append(folded(scanner.text(of: token)))
            default: words.append(scanner.text(of: token) == ";" ? ";" : "")
            }
        }
        guard words.first == "create" else { return nil }
        // As in sqlite3_complete(), a trigger ends at "; END ;", and other statements end at the first semicolon.
        if words.starts(with: ["create", "trigger"]) {
            guard words.suffix(2) == [";", "end"] else { return nil }
            for index in words.indices.dropFirst(2) where words[index] == ";" {
                if words[index - 1] == "end", words[index - 2] == ";" { return nil }
            }
        } else if words.contains(";") {
            return nil
        }
        return sql + (endsInComment ? "\n;" : ";")
    }

    /// True if a text has control characters that a terminal would obey; line ends and tabs are allowed.
    static func hasControlCharacters(_ text: String) -> Bool {
        text.unicodeScalars.contains { scalar in
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: false
            case 0..<0x20, 0x7F..<0xA0, 0x2028...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
    }
}
