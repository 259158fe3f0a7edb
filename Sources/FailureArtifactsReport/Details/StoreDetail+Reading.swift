internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension StoreDetail {
    /// Reads the tables of a stand-alone file that nothing else uses.
    ///
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - budget: The bytes and the time that are left. The bytes used are subtracted.
    /// - Throws: An error if the file cannot be read at all.
    mutating func readTables(of path: String, _ budget: ReadingBudget) throws(SQLiteError) {
        let limits = budget.limits
        let connection = try Connection.untrusted(path)
        connection.setDeadline(budget.deadline)
        var names = try Self.texts(
            of: "SELECT name FROM sqlite_master WHERE type = 'table' "
                + "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name", in: connection)
        coreData = try CoreDataStore.read(connection)
        let sources = try useViews(in: &names, of: connection)
        omittedTables = max(0, names.count - limits.tables)
        let known = Dictionary(
            (store.tables ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, name) in names.prefix(limits.tables).enumerated() {
            var table = TableDetail(name: name)
            table.source = sources[name]
            if let counted = known[sources[name] ?? name] {
                (table.count, table.isExact) = (counted.rows, counted.exact)
            }
            // Small tables leave the rest of their share to the others.
            let share = budget.bytes / max(1, min(names.count, limits.tables) - index)
            do throws(SQLiteError) {
                if known[sources[name] ?? name] == nil {
                    table.count = try connection.integer(
                        of: "SELECT count(*) FROM \(quotedIdentifier(name))")
                }
                try table.readColumns(of: connection)
                if let source = sources[name] { coreData?.describe(&table, of: source) }
                let used = try table.readRows(of: connection, limits, bytes: max(share, 2048))
                budget.bytes = max(0, budget.bytes - used)
            } catch {
                table.problem = error.isInterrupted ? "the time for it was up" : error.message
            }
            tables.append(table)
        }
    }

    /// Replaces Core Data's tables with views that show entities.
    ///
    /// - Returns: The table of each view, by the view's name.
    private func useViews(
        in names: inout [String], of connection: borrowing Connection
    ) throws(SQLiteError) -> [String: String] {
        guard let coreData else { return [:] }
        let views = CoreDataViews(coreData)
        try views.create(on: connection)
        // Core Data's own tables come last.
        names = names.filter { views.names[$0] != nil } + names.filter { views.names[$0] == nil }
        names = names.map { views.names[$0] ?? $0 }
        return Dictionary(views.names.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }

    fileprivate static func texts(
        of sql: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare(sql)
        var result: [String] = []
        while try statement.step() {
            if case .text(let text) = statement.value(at: 0) { result.append(text) }
        }
        return result
    }
}

extension TableDetail {
    fileprivate mutating func readColumns(
        of connection: borrowing Connection
    ) throws(SQLiteError) {
        let statement = try connection.prepare("SELECT name, type, pk FROM pragma_table_info(?)")
        try statement.bind([.text(name)])
        while try statement.step() {
            columns.append(
                Column(
                    name: Self.text(statement.value(at: 0)), type: Self.text(statement.value(at: 1)),
                    isKey: statement.value(at: 2) != .integer(0)))
        }
        let keys = try connection.prepare(
            "SELECT id, \"table\", \"from\", \"to\" FROM pragma_foreign_key_list(?) ORDER BY id, seq")
        try keys.bind([.text(name)])
        var last = Value.null
        while try keys.step() {
            let id = keys.value(at: 0)
            let target = Self.text(keys.value(at: 3))
            let column = Self.text(keys.value(at: 2))
            if id == last, let previous = foreignKeys.popLast() {
                foreignKeys.append(
                    ForeignKey(
                        columns: previous.columns + [column], table: previous.table,
                        targets: previous.targets + (target.isEmpty ? [] : [target])))
            } else {
                foreignKeys.append(
                    ForeignKey(
                        columns: [column], table: Self.text(keys.value(at: 1)),
                        targets: target.isEmpty ? [] : [target]))
            }
            last = id
        }
    }

    /// Reads the first rows.
    ///
    /// - Returns: The number of bytes that the rows take.
    fileprivate mutating func readRows(
        of connection: borrowing Connection, _ limits: ReportLimits, bytes: Int
    ) throws(SQLiteError) -> Int {
        let statement = try connection.prepare("SELECT * FROM \(quotedIdentifier(name))")
        let names = statement.columnNames
        if names.count != columns.count {
            // A generated column may be missing from `columns`, but not from `names`.
            let known = Dictionary(
                columns.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            columns = names.map { known[$0] ?? Column(name: $0, type: "", isKey: false) }
        }
        shownColumns = min(names.count, limits.columns)
        let limit = max(limits.textBytes, limits.blobBytes)
        var lines: [String] = []
        var used = 0
        defer { rows = "[" + lines.joined(separator: ",\n") + "]" }
        while lines.count < limits.rowsPerTable, try statement.step() {
            let cells = (0..<shownColumns).map { index in
                let value = statement.storedValue(at: index, limit: limit)
                return CellJSON.text(of: value.shortened(blob: limits.blobBytes))
            }
            let line = "[" + cells.joined(separator: ",") + "]"
            used += line.utf8.count + 2
            if used > bytes, !lines.isEmpty { break }
            lines.append(line)
            shownRows += 1
        }
        return used
    }

    private static func text(_ value: Value) -> String {
        if case .text(let text) = value { return text }
        return ""
    }
}

extension CoreDataStore {
    /// Adds the parts that a view of an entity or a relationship lacks: types, a key and references.
    fileprivate func describe(_ table: inout TableDetail, of source: String) {
        func tableName(_ entity: String) -> String {
            entities.first { $0.name == entity }?.table.map(title(ofTable:)) ?? entity
        }
        if let root = root(ofTable: source) {
            let types = Dictionary(
                root.attributes.map { ($0.name, $0.type) }, uniquingKeysWith: { first, _ in first })
            table.columns = table.columns.map { column in
                TableDetail.Column(
                    name: column.name, type: types[column.name] ?? column.type,
                    isKey: column.name == "_id")
            }
            table.foreignKeys = root.toOne.compactMap { relationship in
                relationship.entity.map {
                    TableDetail.ForeignKey(
                        columns: [relationship.name], table: tableName($0), targets: ["_id"])
                }
            }
        } else if let link = links.first(where: { $0.table == source }) {
            table.foreignKeys = [link.source, link.target].map {
                TableDetail.ForeignKey(
                    columns: [$0.name], table: tableName($0.entity), targets: ["_id"])
            }
        }
    }
}
