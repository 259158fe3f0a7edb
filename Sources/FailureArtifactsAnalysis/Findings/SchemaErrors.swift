internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A table or a column that a statement names and the store doesn't have.
enum SchemaErrors: FindingRule {
    static let code = Finding.Code.schemaError

    static func findings(in store: StoreEvidence, of failure: FailureEvidence) throws -> [Finding] {
        let failed = store.testStatements.last { ($0.record.error?.code ?? 0) & 0xff == 1 }
        for (text, isMessage) in [
            (failure.message.text, true), (failed?.record.error?.message ?? "", false),
        ] {
            guard let missing = missing(in: text) else { continue }
            let names: [String]
            switch missing.kind {
            case .table:
                guard store.schema.object("table", named: missing.name) == nil,
                    store.schema.object("view", named: missing.name) == nil
                else { continue }
                names = store.schema.objects.filter { $0.type == "table" || $0.type == "view" }.map(
                    \.name)
            case .column:
                let tables =
                    missing.table.map { [store.schema.tables[folded($0)]].compactMap { $0 } }
                    ?? store.tables
                names = tables.flatMap { $0.columns.map(\.name) }
                guard !names.isEmpty, !names.contains(where: { folded($0) == folded(missing.name) })
                else {
                    continue
                }
            }
            let nearest = Spelling.nearest(to: missing.name, among: names)
            let migrations = try appliedMigrations(in: store)
            return [
                Finding(
                    code: code,
                    title: "The store has no \(missing.kind.rawValue) \(SafeText.line(missing.name))",
                    confidence: isMessage ? .certain : .possible, store: store.name,
                    statement: isMessage
                        && failed?.record.error.map { text.contains($0.message) } == true
                        ? failed?.record : (isMessage ? nil : failed?.record),
                    explanation: (nearest.map { "The nearest name is \(SafeText.line($0)). " } ?? "")
                        + migrations,
                    // Code that looks whether a table exists asks the schema, as a rule.
                    relevance: isMessage ? 40 : 75)
            ]
        }
        return []
    }

    private struct Missing {
        enum Kind: String { case table, column }
        var kind: Kind
        var name: String
        var table: String?
    }

    /// Parses SQLite's messages about missing names.
    private static func missing(in text: String) -> Missing? {
        func word(after start: String) -> String? {
            guard let range = text.firstRange(of: start) else { return nil }
            let word = text[range.upperBound...].prefix {
                $0.isLetter || $0.isNumber || "_.$".contains($0)
            }
            return word.isEmpty ? nil : String(word)
        }
        func last(_ name: String) -> String { name.split(separator: ".").last.map(String.init) ?? name }
        if let name = word(after: "no such table: ") { return Missing(kind: .table, name: last(name)) }
        if let name = word(after: "no such column: ") { return Missing(kind: .column, name: last(name)) }
        if let name = word(after: " has no column named ") {
            let table = word(after: "table ")
            return Missing(kind: .column, name: last(name), table: table.map(last))
        }
        return nil
    }

    /// Returns a sentence about the migrations that the store has seen.
    private static func appliedMigrations(in store: StoreEvidence) throws -> String {
        if store.schema.tables["grdb_migrations"] != nil {
            let rows = try store.rows(
                "SELECT identifier FROM grdb_migrations ORDER BY rowid DESC", limit: 1)
            let last = rows.first.map { StoredText.text(of: $0[0], width: 60) }
            return last.map { "The last migration that was applied is \($0)." }
                ?? "No migration was applied."
        }
        return "Its user_version is \(store.schema.userVersion)."
    }
}
