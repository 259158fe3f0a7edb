internal import FailureArtifactsReading
package import FailureArtifactsSQLite

package enum Spelling {
    /// Returns the name with the smallest edit distance, if it is close; nil if none is close.
    package static func nearest(to name: String, among names: [String]) -> String? {
        let word = folded(name).unicodeScalars.prefix(64)
        // One letter more or less makes another word of a short one. Another letter counts twice.
        let limit = word.count < 3 ? 0 : max(2, word.count / 2)
        let ranked = names.prefix(1000).map { other in
            (other, folded(other).unicodeScalars.prefix(64).difference(from: word).count)
        }
        return ranked.filter { $0.1 <= limit }.min { $0.1 < $1.1 }?.0
    }

    /// Returns the end of a sentence that names the nearest name; empty if none is close.
    package static func clause(for name: String, among names: [String]) -> String {
        nearest(to: name, among: names).map { "; the nearest name is '\($0)'" } ?? ""
    }

    /// Returns sentences with the nearest name and the existing columns, for SQLite's message about a missing table or
    /// column; empty if no name is near and the statement names no table.
    package static func hint(for error: SQLiteError, in sql: String, ofStore path: String) -> String {
        guard error.isMissingName, let connection = try? Connection.untrusted(path),
            let schema = try? DatabaseSchema("main", of: connection)
        else { return "" }
        guard error.message.hasPrefix("no such column") else {
            let objects = schema.objects.filter { $0.type == "table" || $0.type == "view" }
            let near = hint(for: error, among: objects.map(\.name))
            let tables = objects.filter { $0.type == "table" }.map(\.name)
            guard near.isEmpty, !tables.isEmpty else { return near }
            let rest = tables.count - 20
            return " Its tables are \(tables.prefix(20).joined(separator: ", "))"
                + (rest > 0 ? " and \(rest) more." : ".")
        }
        let words = Set(folded(sql).split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map(String.init))
        let all = schema.tables.values.sorted { $0.name < $1.name }
        let tables = all.filter { !$0.columns.isEmpty && words.contains(folded($0.name)) }
        let lists = tables.prefix(3).map { table in
            let names = table.columns.prefix(30).map(\.name) + (table.columns.count > 30 ? ["…"] : [])
            return " The columns of \(table.name) are \(names.joined(separator: ", "))."
        }
        let names = (tables.isEmpty ? all : tables).flatMap { $0.columns.map(\.name) }
        return hint(for: error, among: names) + lists.joined()
    }

    static func hint(for error: SQLiteError, among names: [String]) -> String {
        guard error.isMissingName, let name = error.message.split(separator: " ").last,
            let last = name.split(separator: ".").last,
            let nearest = nearest(to: String(last), among: names)
        else { return "" }
        return " The nearest name is '\(nearest)'."
    }
}
