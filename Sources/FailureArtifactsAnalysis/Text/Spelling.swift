internal import FailureArtifactsReading
package import FailureArtifactsSQLite

/// Finds the name that was probably meant.
package enum Spelling {
    /// Returns the name with the smallest edit distance, if it is close. Nil if none is close.
    package static func nearest(to name: String, among names: [String]) -> String? {
        let word = Array(folded(name).unicodeScalars.prefix(64))
        // One letter more or less makes another word of a short one.
        let limit = word.count < 3 ? 0 : max(1, word.count / 3)
        let ranked = names.prefix(1000).map {
            ($0, distance(word, Array(folded($0).unicodeScalars.prefix(64))))
        }
        return ranked.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// Returns the end of a sentence that names the nearest name; empty if none is close.
    package static func clause(for name: String, among names: [String]) -> String {
        nearest(to: name, among: names).map { "; the nearest name is '\($0)'" } ?? ""
    }

    /// Returns sentences with the nearest name and the existing columns, for SQLite's message about a missing table
    /// or column. Empty if no name is near and the statement names no table.
    package static func hint(for error: SQLiteError, in sql: String, ofStore path: String) -> String {
        guard error.isMissingName, let connection = try? Connection.untrusted(path),
            let schema = try? DatabaseSchema("main", of: connection)
        else { return "" }
        guard error.message.hasPrefix("no such column") else {
            return hint(
                for: error,
                among: schema.objects.filter { $0.type == "table" || $0.type == "view" }.map(\.name))
        }
        let words = Set(
            folded(sql).split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
        let tables = schema.tables.values.filter {
            !$0.columns.isEmpty && words.contains(folded($0.name))
        }.sorted { $0.name < $1.name }
        let known = tables.isEmpty ? schema.tables.values.sorted { $0.name < $1.name } : tables
        let lists = tables.prefix(3).map { table in
            let names = table.columns.prefix(maximumColumns).map(\.name).joined(separator: ", ")
            let more = table.columns.count - maximumColumns
            return " The columns of \(table.name) are \(names)" + (more > 0 ? " and \(more) more." : ".")
        }
        return hint(for: error, among: known.flatMap { $0.columns.map(\.name) }) + lists.joined()
    }

    private static let maximumColumns = 30

    /// Returns the same sentence, for known names.
    static func hint(for error: SQLiteError, among names: [String]) -> String {
        guard error.isMissingName, let name = error.message.split(separator: " ").last,
            let last = name.split(separator: ".").last,
            let nearest = nearest(to: String(last), among: names)
        else { return "" }
        return " The nearest name is '\(nearest)'."
    }

    /// Returns the number of insertions, deletions and replacements that turn one word into another.
    private static func distance(_ a: [Unicode.Scalar], _ b: [Unicode.Scalar]) -> Int {
        var row = Array(0...b.count)
        for (i, first) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, second) in b.enumerated() {
                let above = row[j + 1]
                row[j + 1] = min(above + 1, row[j] + 1, diagonal + (first == second ? 0 : 1))
                diagonal = above
            }
        }
        return row[b.count]
    }
}

extension SQLiteError {
    /// True if a table or a column doesn't exist.
    var isMissingName: Bool {
        message.hasPrefix("no such table: ") || message.hasPrefix("no such column: ")
    }
}
