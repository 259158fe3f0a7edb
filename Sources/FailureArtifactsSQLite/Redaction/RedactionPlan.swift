/// The changes that make a store obey the redaction rules.
struct RedactionPlan {
    /// The change to one column.
    struct Column {
        let name: String
        let method: RedactionRules.Method
        /// True if the values become null.
        let becomesNull: Bool

        /// A description such as `email: hashed`.
        fileprivate var summary: String {
            switch method {
            case .blank: "\(name): blanked"
            case .mask: "\(name): masked"
            case .hash: "\(name): hashed"
            }
        }
    }

    /// A table whose columns are changed.
    struct Table {
        let name: String
        var columns: [Column]
    }

    /// The virtual tables, whose entries in the schema are removed.
    var virtualTables: [String] = []
    /// The tables to drop.
    var dropped: [String] = []
    var changed: [Table] = []
    /// The changes, each as `table.column: hashed` or `table: dropped`.
    var summaries: [String] = []
    /// Warnings about changes beyond the rules, as full sentences.
    var notes: [CaptureWarning] = []

    var isEmpty: Bool { virtualTables.isEmpty && dropped.isEmpty && changed.isEmpty }

    /// Plans the changes to a store.
    ///
    /// It throws an error if the schema cannot be read, or contains something that no rule can be applied to.
    init(
        _ rules: RedactionRules, of connection: borrowing Connection, schema: DatabaseSchema
    ) throws {
        let tables = schema.objects.filter { $0.type == "table" && !Self.isInternal($0.name) }
        var isVirtualTableConcerned = false
        for object in tables {
            guard let shape = schema.tables[folded(object.name)] else {
                throw RedactionError("The table '\(object.name)' cannot be read.")
            }
            if shape.kind == .virtual {
                isVirtualTableConcerned = isVirtualTableConcerned || Self.concerns(rules, object)
            } else if rules.drop(table: object.name) {
                dropped.append(object.name)
                summaries.append("\(object.name): dropped")
            } else {
                try change(shape, rules, connection)
            }
        }
        guard !isEmpty || isVirtualTableConcerned else { return }
        // A full-text index can hold the words of any table's columns.
        for object in tables where schema.tables[folded(object.name)]?.kind == .virtual {
            let shadows = try Self.shadowTables(of: object)
            virtualTables.append(object.name)
            changed.removeAll { shadows.contains(folded($0.name)) }
            dropped.removeAll { shadows.contains(folded($0)) }
            dropped += tables.map(\.name).filter { shadows.contains(folded($0)) }
            summaries.append("\(object.name): dropped")
            guard !rules.drop(table: object.name) else { continue }
            notes.add(
                .virtualTableDropped,
                "The virtual table '\(object.name)' was dropped: it may hold what was redacted elsewhere.",
                ["table": .text(object.name)])
        }
    }

    private static func isInternal(_ name: String) -> Bool { folded(name).hasPrefix("sqlite_") }

    // MARK: Columns

    private mutating func change(
        _ shape: TableShape, _ rules: RedactionRules, _ connection: borrowing Connection
    ) throws {
        var columns: [Column] = []
        var generated: [String] = []
        let unique = try UniqueColumns(of: shape, in: connection)
        for column in shape.columns {
            guard let asked = rules.method(of: column.name, in: shape.name) else { continue }
            if column.isGenerated {
                generated.append(column.name)
                continue
            }
            let isKey = column.keyPosition > 0
            let becomesNull = asked == .blank && !column.isNotNull && !isKey
            let mustDiffer = isKey || unique.contains(column.name)
            let method = mustDiffer && !becomesNull ? .hash : asked
            if method != asked {
                notes.add(
                    .uniqueValuesHashed,
                    "The values of '\(shape.name).\(column.name)' must differ from each other, so that they "
                        + "are hashed.",
                    ["table": .text(shape.name), "column": .text(column.name)])
            }
            let change = Column(name: column.name, method: method, becomesNull: becomesNull)
            columns.append(change)
            summaries.append("\(shape.name).\(change.summary)")
        }
        if !generated.isEmpty && columns.count < shape.writableColumns.count {
            throw RedactionError(
                "The column '\(shape.name).\(generated[0])' is computed from others: the rules have to name "
                    + "those.")
        }
        if !columns.isEmpty { changed.append(Table(name: shape.name, columns: columns)) }
    }

    /// The columns of a table's unique indexes.
    private struct UniqueColumns {
        private var names: Set<String> = []
        /// True if a unique index is on an expression, which may use any column.
        private var areAll = false

        func contains(_ name: String) -> Bool { areAll || names.contains(folded(name)) }

        init(of shape: TableShape, in connection: borrowing Connection) throws(SQLiteError) {
            let indexes = try connection.prepare(
                "PRAGMA main.index_list(\(quotedIdentifier(shape.name)))")
            while try indexes.step() {
                guard indexes.integer(at: 2) != 0 else { continue }
                let columns = try connection.prepare(
                    "PRAGMA main.index_xinfo(\(quotedIdentifier(indexes.text(at: 1))))")
                while try columns.step() {
                    // −1 is the rowid, −2 an expression.
                    if columns.integer(at: 1) == -2 { areAll = true }
                    if columns.integer(at: 5) != 0 { names.insert(folded(columns.text(at: 2))) }
                }
            }
        }
    }

    // MARK: Virtual tables

    /// The modules that store nothing.
    private static let modulesWithoutContent: Set<String> = [
        "fts3tokenize", "fts4aux", "fts5vocab", "dbstat", "sqlite_dbpage", "json_each", "json_tree",
        "generate_series", "bytecode", "tables_used", "sqlite_stmt",
    ]

    /// Returns true if a rule names a virtual table or one of its columns.
    ///
    /// This reads only the text of the definition: a query would start the module on content that may be forged.
    /// If the text can't be parsed, any rule on columns counts.
    private static func concerns(_ rules: RedactionRules, _ object: DatabaseSchema.Object) -> Bool {
        if rules.drop(table: object.name) { return true }
        guard let start = object.sql.firstIndex(of: "("), let end = object.sql.lastIndex(of: ")"),
            start < end
        else { return !rules.columns.isEmpty }
        return object.sql[object.sql.index(after: start)..<end].split(separator: ",").contains {
            argument in
            let text = argument.drop { $0.isWhitespace }
            let quotes: [Character: Character] = ["\"": "\"", "'": "'", "`": "`", "[": "]"]
            guard let first = text.first, let quote = quotes[first] else {
                let name = text.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" }
                return rules.method(of: String(name), in: object.name) != nil
            }
            // Names that contain a comma or a quote are not parsed.
            guard let close = text.dropFirst().firstIndex(of: quote),
                text[text.index(after: close)...].first != quote
            else { return !rules.columns.isEmpty }
            return rules.method(of: String(text[..<close].dropFirst()), in: object.name) != nil
        }
    }

    /// Returns the folded names of the tables in which one of SQLite's modules keeps its content.
    private static func shadowTables(of object: DatabaseSchema.Object) throws(RedactionError) -> Set<
        String
    > {
        let module = DefinitionText.module(object.sql) ?? ""
        if modulesWithoutContent.contains(module) { return [] }
        guard let suffixes = TableShapeReader.shadowSuffixes[module] else {
            throw RedactionError(
                "Where the virtual table '\(object.name)' of the module '\(module)' keeps its content is not "
                    + "known.")
        }
        return Set(suffixes.map { folded(object.name) + "_" + $0 })
    }
}
