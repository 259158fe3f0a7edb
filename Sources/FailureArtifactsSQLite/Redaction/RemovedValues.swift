internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
package import FailureArtifactsSystem

/// A sample of the values that a redaction has removed, used to search the rest of the bundle for them.
///
/// A redaction names tables and columns. It doesn't cover the places to which an application has copied their
/// values. The author of the rules will want to know about those.
package struct RemovedValues: Sendable {
    /// The sizes of the values, in bytes of UTF-8; shorter values occur anywhere by chance.
    private static let sizes = 8...1024
    /// The maximum number of values of one column.
    private static let maximumPerColumn = 64

    /// The columns, such as `users.email`, by their values.
    private var columns: [[UInt8]: String] = [:]

    package init() {}

    package var isEmpty: Bool { columns.isEmpty }

    package mutating func add(_ other: RemovedValues) {
        columns.merge(other.columns) { old, _ in old }
    }

    /// Samples the values of a column.
    mutating func sample(
        _ column: String, of table: String, in connection: borrowing Connection
    ) throws(SQLiteError) {
        let name = quotedIdentifier(column)
        // The first comparison rejects large blobs without loading them.
        let statement = try connection.prepare(
            "SELECT \(name) FROM main.\(quotedIdentifier(table)) WHERE typeof(\(name)) IN ('text', 'blob') "
                + "AND length(\(name)) <= \(Self.sizes.upperBound) "
                + "AND length(CAST(\(name) AS BLOB)) >= \(Self.sizes.lowerBound)")
        let encoding = try connection.text(of: "PRAGMA encoding")
        var count = 0
        while count < Self.maximumPerColumn, try statement.step() {
            var forms: [[UInt8]] = []
            switch statement.value(at: 0) {
            case .blob(let bytes): forms = [bytes]
            case .text(let text):
                forms = [Array(text.utf8)]
                if encoding == "UTF-16le" {
                    forms.append(text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] })
                }
                if encoding == "UTF-16be" {
                    forms.append(text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
                }
            default: break
            }
            guard Self.sizes.contains(forms.first?.count ?? 0) else { continue }
            count += 1
            // Values such as runs of asterisks or zeros are skipped, because a redaction writes the same.
            for bytes in forms where Set(bytes).count > 3 { columns[bytes] = "\(table).\(column)" }
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
        for (value, column) in columns where !found.contains(column) && Instant.now < deadline {
            if value.withUnsafeBytes({ bytes.holds($0) }) { found.insert(column) }
        }
        return found.sorted()
    }
}
