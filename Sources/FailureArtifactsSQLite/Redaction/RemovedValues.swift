package import FailureArtifactsSystem

/// A sample of the values that a redaction has removed, used to search the rest of the bundle for them.
///
/// A redaction names tables and columns. It doesn't cover the places to which an application has copied their
/// values. The author of the rules will want to know about those.
package struct RemovedValues: Sendable {
    /// The sizes of the values, in bytes of UTF-8; shorter values occur anywhere by chance.
    private static let sizes = 8...1024
    /// The maximum number of values of one column; ``maximumCount`` is the maximum of all columns together.
    private static let maximumPerColumn = 64
    private static let maximumCount = 1024

    private struct Value: Hashable {
        let bytes: [UInt8]
        /// The column, such as `users.email`.
        let origin: String
    }

    private var values: Set<Value> = []

    package init() {}

    package var isEmpty: Bool { values.isEmpty }

    package mutating func add(_ other: RemovedValues) {
        for value in other.values where values.count < Self.maximumCount { values.insert(value) }
    }

    /// Samples the values of columns.
    mutating func sample(
        _ columns: [(table: String, column: String)], of connection: borrowing Connection
    ) throws(SQLiteError) {
        let encoding = try connection.text(of: "PRAGMA encoding")
        for (table, column) in columns { try sample(column, of: table, encoding, connection) }
    }

    private mutating func sample(
        _ column: String, of table: String, _ encoding: String, _ connection: borrowing Connection
    ) throws(SQLiteError) {
        let name = quotedIdentifier(column)
        // `length` counts characters of a text, up to a NUL; as a blob, a text has its bytes in the store's encoding. The
        // first comparison rejects large blobs without loading them.
        let statement = try connection.prepare(
            "SELECT \(name) FROM main.\(quotedIdentifier(table)) WHERE typeof(\(name)) IN ('text', 'blob') "
                + "AND length(\(name)) <= ? AND length(CAST(\(name) AS BLOB)) BETWEEN ? AND ?")
        let limits = [Self.sizes.upperBound, Self.sizes.lowerBound, 2 * Self.sizes.upperBound]
        try statement.bind(limits.map { .integer(Int64($0)) })
        var count = 0
        while count < Self.maximumPerColumn, try statement.step() {
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
            guard let size = forms.first?.count, Self.sizes.contains(size) else { continue }
            count += 1
            // Values such as runs of asterisks or zeros are skipped, because a redaction writes the same.
            for bytes in forms where Set(bytes).count > 3 && values.count < Self.maximumCount {
                values.insert(Value(bytes: bytes, origin: "\(table).\(column)"))
            }
        }
    }

    /// Returns the columns, as `table.column` and sorted, of which a sampled value is in a file; gives up at the
    /// deadline.
    package func origins(inFile path: String, until deadline: Instant) throws -> [String] {
        let file = try File(reading: path)
        return try file.withMappedBytes { origins(in: $0, until: deadline) }
    }

    /// Returns the columns of which a sampled value is in `bytes`.
    package func origins(in bytes: UnsafeRawBufferPointer, until deadline: Instant) -> [String] {
        var found: Set<String> = []
        for value in values where !found.contains(value.origin) && Instant.now < deadline {
            if value.bytes.withUnsafeBytes({ bytes.holds($0) }) { found.insert(value.origin) }
        }
        return found.sorted()
    }
}
