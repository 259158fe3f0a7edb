/// The changes that make a store obey the redaction rules.
struct RedactionPlan {
    /// A table whose columns are changed.
    struct Table {
        let name: String
        /// The columns with the expressions of their new values.
        let columns: [(name: String, value: String)]
    }

    /// The virtual tables, whose entries in the schema are removed.
    private(set) var virtualTables: [String] = []
    /// The tables to drop, without virtual ones.
    private(set) var dropped: [String] = []
    private(set) var changed: [Table] = []
    /// The columns whose values are removed, without those of the modules of virtual tables.
    private(set) var removed: [(table: String, column: String)] = []
    /// The changes, each as `table.column: hashed` or `table: dropped`.
    private(set) var summaries: [String] = []
    /// Warnings about changes beyond the rules, as full sentences.
    private(set) var notes: [CaptureWarning] = []
    /// The folded names in the schema, and `main` and `temp`.
    private(set) var names: Set<String> = ["main", "temp"]

    var isEmpty: Bool { virtualTables.isEmpty && dropped.isEmpty && changed.isEmpty }

    /// Plans the changes to a store.
    ///
    /// It throws an error if the schema cannot be read, or contains something that no rule can be applied to.
    init(_ rules: RedactionRules, of connection: borrowing Connection) throws {
        var tables: [(name: String, virtual: VirtualTable?)] = []
        let schema = try connection.prepare("SELECT type, name, tbl_name, sql FROM main.sqlite_master")
        while try schema.step() {
            let name = schema.text(at: 1)
            names.formUnion([folded(name), folded(schema.text(at: 2))])
            guard schema.text(at: 0) == "table", !folded(name).hasPrefix("sqlite_") else { continue }
            tables.append((name, VirtualTable(name, definition: schema.text(at: 3))))
        }
        var isVirtualTableConcerned = false
        for (name, virtual) in tables {
            if virtual != nil {
                // The module may be missing.
                let columns = try? Column.all(of: name, in: connection)
                isVirtualTableConcerned =
                    isVirtualTableConcerned || rules.drop(table: name)
                    || columns.map { $0.contains { rules.method(of: $0.name, in: name) != nil } }
                        ?? !rules.columns.isEmpty
                continue
            }
            let columns = try Column.all(of: name, in: connection)
            names.formUnion(columns.map { folded($0.name) })
            if rules.drop(table: name) {
                dropped.append(name)
                summaries.append("\(name): dropped")
                removed += columns.filter { !$0.isGenerated }.map { (name, $0.name) }
            } else {
                try change(name, columns, rules, connection)
            }
        }
        guard !isEmpty || isVirtualTableConcerned else { return }
        // A full-text index can hold the words of any table's columns.
        for case (let name, let virtual?) in tables {
            guard let shadows = virtual.shadowTables else {
                throw RedactionError(
                    "Where the virtual table '\(name)' of the module '\(virtual.module)' keeps its content is "
                        + "not known.")
            }
            virtualTables.append(name)
            changed.removeAll { shadows.contains(folded($0.name)) }
            removed.removeAll { shadows.contains(folded($0.table)) }
            dropped.removeAll { shadows.contains(folded($0)) }
            dropped += tables.map(\.name).filter { shadows.contains(folded($0)) }
            summaries.append("\(name): dropped")
            guard !rules.drop(table: name) else { continue }
            notes.add(
                .virtualTableDropped,
                "The virtual table '\(name)' was dropped: it may hold what was redacted elsewhere.",
                ["table": .text(name)])
        }
    }

    private mutating func change(
        _ table: String, _ columns: [Column], _ rules: RedactionRules, _ connection: borrowing Connection
    ) throws {
        var changes: [(name: String, value: String)] = []
        var generated: String?
        let unique = try Column.uniqueNames(of: table, in: connection)
        for column in columns {
            guard let asked = rules.method(of: column.name, in: table) else { continue }
            if column.isGenerated {
                generated = generated ?? column.name
                continue
            }
            let mustDiffer = column.isKey || unique?.contains(folded(column.name)) ?? true
            let becomesNull = asked == .blank && !column.isNotNull && !column.isKey
            let method = mustDiffer && !becomesNull ? .hash : asked
            if method != asked {
                notes.add(
                    .uniqueValuesHashed,
                    "The values of '\(table).\(column.name)' must differ from each other, so that they are "
                        + "hashed.",
                    ["table": .text(table), "column": .text(column.name)])
            }
            let name = quotedIdentifier(column.name)
            changes.append(
                (column.name, becomesNull ? "NULL" : "failure_artifacts_redact(\(method.code), \(name))")
            )
            summaries.append("\(table).\(column.name): \(method.participle)")
        }
        if let generated, changes.count < columns.count(where: { !$0.isGenerated }) {
            throw RedactionError(
                "The column '\(table).\(generated)' is computed from others: the rules have to name those."
            )
        }
        guard !changes.isEmpty else { return }
        changed.append(Table(name: table, columns: changes))
        removed += changes.map { (table, $0.name) }
    }

    /// A column, as the schema describes it.
    private struct Column {
        let name: String
        let isNotNull: Bool
        /// True if it belongs to the primary key.
        let isKey: Bool
        let isGenerated: Bool

        static func all(of table: String, in connection: borrowing Connection) throws -> [Column] {
            let statement = try connection.prepare(
                "PRAGMA main.table_xinfo(\(quotedIdentifier(table)))")
            var columns: [Column] = []
            while try statement.step() {
                // The hidden columns of a virtual table have 1, generated columns 2 or 3.
                let hidden = statement.integer(at: 6)
                guard hidden != 1 else { continue }
                columns.append(
                    Column(
                        name: statement.text(at: 1), isNotNull: statement.integer(at: 3) != 0,
                        isKey: statement.integer(at: 5) > 0, isGenerated: hidden != 0))
            }
            guard !columns.isEmpty else {
                throw RedactionError("The table '\(table)' cannot be read.")
            }
            return columns
        }

        /// Returns the folded names of the columns in unique indexes; nil if one is on an expression, which may use
        /// any column.
        static func uniqueNames(of table: String, in connection: borrowing Connection) throws -> Set<
            String
        >? {
            var names: Set<String> = []
            let indexes = try connection.prepare("PRAGMA main.index_list(\(quotedIdentifier(table)))")
            while try indexes.step() {
                guard indexes.integer(at: 2) != 0 else { continue }
                let columns = try connection.prepare(
                    "PRAGMA main.index_xinfo(\(quotedIdentifier(indexes.text(at: 1))))")
                while try columns.step() {
                    if columns.integer(at: 1) == -2 { return nil }
                    if columns.integer(at: 5) != 0 { names.insert(folded(columns.text(at: 2))) }
                }
            }
            return names
        }
    }
}
