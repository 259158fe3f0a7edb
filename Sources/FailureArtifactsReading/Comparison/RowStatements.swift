package import FailureArtifactsSQLite

/// The `INSERT`, `UPDATE` and `DELETE` statements for the rows of one table.
struct RowStatements: ~Copyable {
    /// The table's name in SQL.
    let table: String
    /// True if changed rows are deleted and inserted again.
    ///
    /// This is necessary with further unique columns, because two rows may swap values that no two rows may
    /// share.
    let isRewritten: Bool

    private let literals: SQLLiterals
    /// The start of an `INSERT`, up to its values.
    private let insertion: String
    /// The positions of the written values among the columns of ``RowQueries/allRows(of:)``.
    private let writtenPlaces: [Int]
    /// The folded names of generated columns.
    private let generated: Set<String>
    /// The key's columns in SQL, and the collation to append to a text value in a comparison.
    private let keyColumns: [(name: String, collation: String)]

    init(_ table: ComparedTable, _ comparison: borrowing StoreComparison) throws(SQLiteError) {
        let shape = table.b ?? table.a
        self.table = quotedIdentifier(table.name)
        literals = try SQLLiterals(comparison.connection, encoding: comparison.b.encoding)
        generated = Set((shape?.columns ?? []).filter(\.isGenerated).map { folded($0.name) })

        let hasRowid = table.key == .rowid
        let rowidName = shape?.rowidName
        var names: [String] = []
        var places: [Int] = []
        if hasRowid, let rowidName {
            names.append(rowidName)
            places.append(0)
        }
        for (index, column) in table.columnsOfB.enumerated() where !generated.contains(folded(column)) {
            names.append(quotedIdentifier(column))
            places.append(index + (hasRowid ? 1 : 0))
        }
        writtenPlaces = places
        insertion = "INSERT INTO \(self.table)(\(names.joined(separator: ", "))) VALUES("

        switch table.match {
        case .key(let columns):
            keyColumns = columns.map {
                (quotedIdentifier($0.name), " COLLATE \(quotedIdentifier($0.collation))")
            }
            isRewritten = Self.hasFurtherUniqueness(table)
        case .rowid(_, let name):
            keyColumns = [(quotedIdentifier(name ?? "rowid"), "")]
            isRewritten =
                Self.hasFurtherUniqueness(table) || table.a?.primaryKeyIndex != nil
                || table.b?.primaryKeyIndex != nil
        case .none:
            keyColumns = []
            isRewritten = false
        }
    }

    private static func hasFurtherUniqueness(_ table: ComparedTable) -> Bool {
        (table.a?.hasFurtherUniqueness ?? false) || (table.b?.hasFurtherUniqueness ?? false)
    }

    /// Returns the statement that inserts the current row of a query with the columns of B.
    borrowing func insert(_ row: borrowing Statement) throws(SQLiteError) -> String {
        var values: [String] = []
        for place in writtenPlaces {
            values.append(try literals.literal(row.storedValue(at: place, limit: .max)))
        }
        return insertion + values.joined(separator: ", ") + ");\n"
    }

    borrowing func delete(_ row: RowChange) throws(SQLiteError) -> String {
        "DELETE FROM \(table) WHERE \(try condition(row.key));\n"
    }

    /// Returns the statement that updates a row; nil if only generated columns differ.
    borrowing func update(_ row: RowChange) throws(SQLiteError) -> String? {
        var assignments: [String] = []
        for cell in row.cells where !generated.contains(folded(cell.column)) {
            guard let new = cell.new else { continue }
            assignments.append("\(quotedIdentifier(cell.column)) = \(try literals.literal(new))")
        }
        guard !assignments.isEmpty else { return nil }
        return
            "UPDATE \(table) SET \(assignments.joined(separator: ", ")) WHERE \(try condition(row.key));\n"
    }

    private borrowing func condition(_ key: [StoredValue]) throws(SQLiteError) -> String {
        var parts: [String] = []
        for (column, value) in zip(keyColumns, key) {
            var collation = ""
            if case .text = value.content { collation = column.collation }
            parts.append("\(column.name) = \(try literals.literal(value))\(collation)")
        }
        return parts.joined(separator: " AND ")
    }
}

/// Formats values as SQL literals that reproduce them exactly.
package struct SQLLiterals: ~Copyable {
    private let reading: Statement
    private let encoding: String

    /// Creates a formatter.
    ///
    /// - `connection`: a connection that shows how SQLite parses a number. It must outlive this value.
    package init(_ connection: borrowing Connection, encoding: String) throws(SQLiteError) {
        reading = try connection.prepare("SELECT CAST(? AS REAL)")
        self.encoding = encoding
    }

    /// Returns an expression without control characters.
    ///
    /// Line ends occur only inside a text.
    package borrowing func literal(_ value: StoredValue) throws(SQLiteError) -> String {
        switch value.content {
        case .null: return "NULL"
        case .integer(let number): return String(number)
        case .real(let number): return try literal(number)
        case .text(let bytes): return text(bytes)
        case .blob(let bytes): return "X'\(hexadecimalText(bytes))'"
        }
    }

    private borrowing func literal(_ number: Double) throws(SQLiteError) -> String {
        guard number.isFinite else { return number < 0 ? "-9e999" : "9e999" }
        let shortest = number.description
        if number == number.rounded(), number.magnitude < 9_007_199_254_740_992 { return shortest }
        // Some versions of SQLite parse a number with a wrong last bit.
        reading.reset()
        try reading.bind([.text(shortest)])
        if try reading.step(), reading.value(at: 0) == .real(number) { return shortest }
        return Self.product(number)
    }

    /// Returns a product of numbers that every parser reads exactly: an integer and powers of two.
    static func product(_ number: Double) -> String {
        // The number is ±significand · 2^exponent, and the significand is an integer.
        var significand = number.magnitude.significand
        var exponent = Int(number.magnitude.exponent)
        while significand != significand.rounded() {
            significand *= 2
            exponent -= 1
        }
        var result = "\(number < 0 ? "-" : "")\(Int64(significand))*1.0"
        while exponent != 0 {
            let step = min(abs(exponent), 52)
            result += "\(exponent > 0 ? "*" : "/")\(Int64(1) << Int64(step)).0"
            exponent += exponent > 0 ? -step : step
        }
        return "(\(result))"
    }

    private borrowing func text(_ bytes: [UInt8]) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        let isValid = text.utf8.count == bytes.count && Array(text.utf8) == bytes
        let isPlain =
            isValid && !bytes.contains(0x0D) && !DefinitionText.hasControlCharacters(text)
        if isPlain {
            guard bytes.contains(UInt8(ascii: "'")) else { return "'\(text)'" }
            // Compare bytes, because in a String a quote with a combining mark is a different character.
            var doubled: [UInt8] = []
            for byte in bytes {
                if byte == UInt8(ascii: "'") { doubled.append(byte) }
                doubled.append(byte)
            }
            return "'\(String(decoding: doubled, as: UTF8.self))'"
        }
        // The shell drops a carriage return before a line end, and ends a line at NUL.
        return "CAST(X'\(hexadecimalText(encoded(text, bytes)))' AS TEXT)"
    }

    /// Returns the text in the database's encoding.
    private borrowing func encoded(_ text: String, _ bytes: [UInt8]) -> [UInt8] {
        switch encoding {
        case "UTF-16le": text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        case "UTF-16be": text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        default: bytes
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
