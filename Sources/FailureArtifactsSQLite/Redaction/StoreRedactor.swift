internal import CFailureArtifactsShared
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Makes a copy of a store that obeys the redaction rules.
///
/// SQL statements change the first copy, which is in a private place and isn't kept. `VACUUM INTO` then writes
/// its content into the second copy. That leaves out free pages, the unused ends of pages, and journals. So
/// nothing that was deleted before the failure, or is removed now, gets into the second copy.
package struct StoreRedactor: Sendable {
    /// The changes to a copy.
    package struct Result: Sendable {
        /// The changes, each as `table.column: hashed` or `table: dropped`.
        package var summaries: [String] = []
        /// Warnings about changes beyond the rules, as full sentences.
        package var notes: [CaptureWarning] = []
        /// The folded names that statements may keep: see ``RedactionPlan/names``.
        package var names: Set<String> = []
        /// A sample of the removed values.
        package var removed = RemovedValues()

        package init() {}

        /// Adds the changes to another copy of the same store.
        package mutating func add(_ other: Result) {
            summaries += other.summaries.filter { !summaries.contains($0) }
            notes += other.notes.filter { !notes.contains($0) }
            names.formUnion(other.names)
            removed.add(other.removed)
        }
    }

    package let rules: RedactionRules
    /// The maximum duration of the redaction of one copy, in seconds.
    package var timeLimit: Double

    package init(_ rules: RedactionRules, timeLimit: Double = 10) {
        self.rules = rules
        self.timeLimit = timeLimit
    }

    /// Makes a redacted copy at a path that does not exist, and leaves no file there after an error.
    ///
    /// The given copy is stand-alone, and nothing else uses it. It is unfit for use afterwards.
    package func redact(_ copy: String, to target: String) throws(RedactionError) -> Result {
        do {
            return try run(copy, target)
        } catch {
            for suffix in ["", "-journal"] { try? FileSystem.remove(target + suffix) }
            switch error {
            case let error as RedactionError: throw error
            case let error as SQLiteError where error.isInterrupted:
                throw RedactionError("It took longer than \(timeLimit) s.")
            case let error as SQLiteError: throw RedactionError(error)
            default: throw RedactionError("\(error).")
            }
        }
    }

    private func run(_ copy: String, _ target: String) throws -> Result {
        let connection = try Connection(path: copy, mode: .readWrite)
        try prepare(connection)
        let plan = try RedactionPlan(rules, of: connection)
        var result = Result()
        (result.summaries, result.notes, result.names) = (plan.summaries, plan.notes, plan.names)
        for (table, column) in plan.removed {
            try result.removed.sample(column, of: table, in: connection)
        }
        try removeVirtualTables(plan.virtualTables, of: connection)
        for table in plan.dropped {
            try connection.execute("DROP TABLE main.\(quotedIdentifier(table))")
        }
        for table in plan.changed { try change(table, in: connection) }
        if !plan.isEmpty { try removeSamples(of: connection) }
        // Created here, because SQLite would give the file the usual permissions.
        try File(creating: target).close()
        let write = try connection.prepare("VACUUM main INTO ?")
        try write.bind([.text(Path.absolute(target))])
        _ = try write.step()
        return result
    }

    /// Prevents the connection from running code of the store, and prepares it for the redaction.
    private func prepare(_ connection: borrowing Connection) throws(SQLiteError) {
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_ENABLE_FKEY, 0)
        // Defensive mode would prevent writes to the schema.
        failure_artifacts_db_config(connection.handle, SQLITE_DBCONFIG_DEFENSIVE, 0)
        // Hashes enter an index in random order: a small cache would drop pages that are soon needed again. A
        // redaction that fails is discarded, so locks, a journal and syncing to disk are of no use.
        try connection.execute(
            "PRAGMA cache_size = -65536; PRAGMA locking_mode = exclusive; PRAGMA journal_mode = off; "
                + "PRAGMA synchronous = off; PRAGMA ignore_check_constraints = 1; "
                + "PRAGMA cell_size_check = 1; PRAGMA mmap_size = 0")
        let key = rules.key
        let code = failure_artifacts_add_redact(connection.handle, key, key.count)
        guard code == SQLITE_OK else { throw SQLiteError("add a function", code: code) }
        connection.setDeadline(Instant.now.advanced(bySeconds: timeLimit))
    }

    /// Removes virtual tables without using their modules, which may be missing.
    private func removeVirtualTables(
        _ tables: [String], of connection: borrowing Connection
    ) throws(SQLiteError) {
        guard !tables.isEmpty else { return }
        try connection.execute("PRAGMA writable_schema = 1")
        for table in tables {
            let statement = try connection.prepare(
                "DELETE FROM main.sqlite_master WHERE type IN ('table', 'trigger') AND tbl_name = ?")
            try statement.bind([.text(table)])
            _ = try statement.step()
        }
        try connection.execute("PRAGMA writable_schema = RESET")
    }

    private func change(
        _ table: RedactionPlan.Table, in connection: borrowing Connection
    ) throws(SQLiteError) {
        let name = quotedIdentifier(table.name)
        let assignments = table.columns.map { "\(quotedIdentifier($0.name)) = \($0.value)" }
        try connection.execute("UPDATE main.\(name) SET \(assignments.joined(separator: ", "))")
        // If an index did not match its table, old entries would be left in it.
        try connection.execute("REINDEX main.\(name)")
    }

    /// Removes the values that `ANALYZE` has copied from indexes.
    private func removeSamples(of connection: borrowing Connection) throws(SQLiteError) {
        for table in ["sqlite_stat3", "sqlite_stat4"] {
            let count = try connection.integer(
                of: "SELECT count(*) FROM main.sqlite_master WHERE name = '\(table)'")
            if count > 0 { try connection.execute("DELETE FROM main.\(table)") }
        }
    }
}

/// The reason why a copy cannot be redacted.
package struct RedactionError: Error, CustomStringConvertible {
    /// A full sentence, without any value of the store.
    package let description: String

    init(_ description: String) { self.description = description }

    init(_ error: SQLiteError) {
        // The operation is a statement of ours; the message names tables and columns only.
        self.init("SQLite says: \(error.message) (error \(error.code)).")
    }
}

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
    /// The folded names in the schema's text, including dropped objects, and those of SQLite itself.
    private(set) var names: Set<String> = [
        "main", "temp", "rowid", "oid", "_rowid_", "excluded", "sqlite_master", "sqlite_schema",
        "integer", "int", "text",
        "blob", "real", "numeric",
    ]

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
            names.formUnion(SQLScanner.names(in: schema.text(at: 3)))
            guard schema.text(at: 0) == "table", !folded(name).hasPrefix("sqlite_") else { continue }
            tables.append((name, VirtualTable(name, definition: schema.text(at: 3))))
        }
        for list in ["function", "pragma", "collation", "module"] {
            let known = try connection.prepare("SELECT name FROM pragma_\(list)_list")
            while try known.step() { names.insert(folded(known.text(at: 0))) }
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
