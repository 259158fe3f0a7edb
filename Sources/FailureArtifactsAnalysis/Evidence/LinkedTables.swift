internal import FailureArtifactsSQLite

/// The tables whose statements can change rows of other tables, according to the schema.
///
/// These are tables with triggers, tables that foreign keys refer to, virtual tables and views.
struct LinkedTables {
    /// The folded names of the tables, except for virtual ones, with those of their columns that a statement can set.
    private var tables: [String: [String]] = [:]
    /// The folded names of the tables with triggers.
    private var triggering: Set<String> = []
    /// The folded names of the tables that foreign keys refer to.
    private var referenced: Set<String> = []
    /// The folded names of the tables whose foreign keys set columns when a row of another table changes.
    private var acting: Set<String> = []
    /// True if a definition is too long to be searched.
    private var isUncertain = false

    /// Adds the schema of a state.
    ///
    /// Triggers and foreign keys of all states count, because each may have existed when a statement ran. Tables are
    /// taken from the last state only.
    mutating func add(_ schema: DatabaseSchema) {
        tables = schema.tables.filter { $0.value.kind != .virtual }
            .mapValues { $0.columns.filter { !$0.isVirtual }.map { folded($0.name) } }
        for object in schema.objects {
            if object.type == "trigger" { triggering.insert(folded(object.table)) }
            guard object.type == "table" else { continue }
            if object.sql.utf8.count > StatementOutline.maximumLength { isUncertain = true }
            let words = StatementOutline.words(of: object.sql, limit: .max)
            for (word, name) in zip(words, words.dropFirst()) where word == "references" {
                referenced.insert(name)
            }
            // ON UPDATE CASCADE, ON DELETE SET NULL, ON UPDATE SET DEFAULT
            if words.contains("set")
                || zip(words, words.dropFirst()).contains(where: { $0 == ("update", "cascade") })
            {
                acting.insert(folded(object.name))
            }
        }
    }

    /// Returns the folded names of a table's columns, in order; empty if they are unknown.
    func columns(of table: String) -> [String] { tables[table] ?? [] }

    /// True if the table has or had triggers, or if that is unknown.
    func hasTriggers(_ table: String) -> Bool {
        tables[table] == nil || triggering.contains(table)
    }

    /// True if only statements that name a table change its columns.
    ///
    /// Rows may be deleted because of a foreign key.
    func isSetDirectly(_ table: String) -> Bool {
        !isUncertain && !hasTriggers(table) && !acting.contains(table)
    }

    /// True if a statement may have changed rows of another table than the one that it names.
    func mayChangeOthers(_ outline: StatementOutline) -> Bool {
        guard !isUncertain, let table = outline.table, !hasTriggers(table) else { return true }
        guard referenced.contains(table) else { return false }
        // REPLACE deletes rows.
        return outline.kind != .insert || outline.mayHaveNoEffect
    }
}
