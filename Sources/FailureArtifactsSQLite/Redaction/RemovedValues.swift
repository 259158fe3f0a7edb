package import FailureArtifactsSystem

/// Some of the values that a redaction has removed, to look for them in what is left.
///
/// A redaction names tables and columns; what an application has copied from there to somewhere else is not
/// covered by it, and its author will want to know.
package struct RemovedValues: Sendable {
    /// Shorter ones are found anywhere, in bytes.
    package static let minimumBytes = 8
    private static let maximumBytes = 1024
    /// How many are taken of a column, and altogether.
    private static let maximumPerColumn = 64
    private static let maximumCount = 1024

    private struct Value: Hashable {
        let bytes: [UInt8]
        /// Such as `users.email`.
        let origin: String
    }

    private var values: Set<Value> = []

    package init() {}

    package var isEmpty: Bool { values.isEmpty }

    package mutating func add(_ other: RemovedValues) {
        for value in other.values where values.count < Self.maximumCount { values.insert(value) }
    }

    /// Takes values before they are removed.
    mutating func sample(
        _ plan: RedactionPlan, _ schema: DatabaseSchema, of connection: borrowing Connection
    ) throws(SQLiteError) {
        for name in plan.dropped {
            let table = schema.tables[folded(name)]
            guard table?.isShadow != true else { continue }
            for column in table?.writableColumns ?? [] {
                try sample(column.name, of: name, schema.encoding, connection)
            }
        }
        for table in plan.changed {
            for column in table.columns {
                try sample(column.name, of: table.name, schema.encoding, connection)
            }
        }
    }

    private mutating func sample(
        _ column: String, of table: String, _ encoding: String, _ connection: borrowing Connection
    ) throws(SQLiteError) {
        let name = quotedIdentifier(column)
        let statement = try connection.prepare(
            "SELECT \(name) FROM main.\(quotedIdentifier(table)) WHERE typeof(\(name)) IN ('text', 'blob') "
                + "AND length(\(name)) BETWEEN ? AND ? LIMIT ?")
        let limits = [Self.minimumBytes, Self.maximumBytes, Self.maximumPerColumn]
        try statement.bind(limits.map { .integer(Int64($0)) })
        while try statement.step() {
            var forms: [[UInt8]] = []
            switch statement.value(at: 0) {
            case .blob(let bytes): forms = [bytes]
            case .text(let text):
                forms = [Array(text.utf8)]
                if encoding == "UTF-16le" {
                    forms.append(text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
                } else if encoding == "UTF-16be" {
                    forms.append(text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
                }
            default: break
            }
            // Rows of asterisks and zeros are what a redaction leaves.
            for bytes in forms where Set(bytes).count > 3 && values.count < Self.maximumCount {
                values.insert(Value(bytes: bytes, origin: "\(table).\(column)"))
            }
        }
    }

    /// The columns of which a value is in a file.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - deadline: When to give up.
    /// - Returns: Each as `table.column`, sorted.
    /// - Throws: The failure to read the file.
    package func origins(inFile path: String, until deadline: Instant) throws -> [String] {
        let file = try File(reading: path)
        return try file.withMappedBytes { origins(in: $0, until: deadline) }
    }

    /// The columns of which a value is among some bytes.
    package func origins(in bytes: UnsafeRawBufferPointer, until deadline: Instant) -> [String] {
        var found: Set<String> = []
        for value in values where !found.contains(value.origin) && Instant.now < deadline {
            if value.bytes.withUnsafeBytes({ bytes.holds($0) }) { found.insert(value.origin) }
        }
        return found.sorted()
    }
}
