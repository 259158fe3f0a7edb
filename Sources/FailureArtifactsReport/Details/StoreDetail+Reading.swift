internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension StoreDetail {
    /// Reads the tables of a stand-alone file that nothing else uses.
    mutating func readTables(of path: String, _ budget: ReadingBudget) throws(SQLiteError) {
        let limits = budget.limits
        let connection = try Connection.untrusted(path, limits: budget.store)
        let schema = try DatabaseSchema("main", of: connection)
        var names = schema.objects.filter { $0.type == "table" }.map(\.name).sorted()
        let sources = try useViews(in: &names, of: connection)
        // Tables with changes come first, so that they have their rows.
        let changed = Set(steps.flatMap(\.tables).map { folded($0.source) })
        func isQuiet(_ name: String) -> Bool {
            let source = folded(sources[name] ?? name)
            return source.hasPrefix("sqlite_") || schema.tables[source]?.isShadow == true
                || LibraryTables.contains(source)
                || ["z_metadata", "z_modelcache", "z_primarykey"].contains(source)
        }
        func rank(_ name: String) -> Int {
            isQuiet(name) ? 2 : changed.contains(folded(sources[name] ?? name)) ? 0 : 1
        }
        names = names.enumerated().sorted { (rank($0.1), $0.0) < (rank($1.1), $1.0) }.map(\.element)
        omittedTables = max(0, names.count - limits.tables)
        let known = Dictionary(
            (store.tables ?? []).map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for (index, name) in names.prefix(limits.tables).enumerated() {
            var table = TableDetail(name: name)
            table.source = sources[name]
            table.isQuiet = isQuiet(name)
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
                let used = try table.readRows(
                    of: connection, schema.tables[folded(name)], firstKeys: keys(of: table), limits,
                    bytes: max(share, 2048))
                budget.bytes = max(0, budget.bytes - used)
            } catch {
                table.problem = error.isInterrupted ? "the time for it was up" : error.message
            }
            tables.append(table)
        }
    }

    /// Returns the keys of a table's changed rows, the newest first, with the names of the key's columns.
    private func keys(of table: TableDetail) -> ChangedKeys? {
        let source = folded(table.source ?? table.name)
        var keys: ChangedKeys?
        for step in steps.reversed() {
            for changed in step.tables where folded(changed.source) == source {
                if keys == nil { keys = ChangedKeys(columns: changed.keyColumns, values: []) }
                guard keys?.columns == changed.keyColumns, keys?.values.count ?? 0 < ChangedKeys.limit
                else { continue }
                for row in changed.rows where row.kind != .deleted { keys?.values.append(row.key) }
            }
        }
        return keys
    }

    /// Replaces Core Data's tables with views that show entities.
    private mutating func useViews(
        in names: inout [String], of connection: borrowing Connection
    ) throws(SQLiteError) -> [String: String] {
        guard let coreData else { return [:] }
        var views = CoreDataViews(coreData)
        notes += try views.create(on: connection)
        // Core Data's own tables come last.
        names = names.filter { views.names[$0] != nil } + names.filter { views.names[$0] == nil }
        names = names.map { views.names[$0] ?? $0 }
        return Dictionary(views.names.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

private struct ChangedKeys {
    static let limit = 1000

    /// The names of the key's columns; empty for the rowid.
    let columns: [String]
    var values: [[StoredValue]]
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
        // A key of several columns isn't shown.
        let keys = try connection.prepare(
            """
            SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) GROUP BY id HAVING count(*) = 1 ORDER BY id
            """)
        try keys.bind([.text(name)])
        while try keys.step() {
            let target = Self.text(keys.value(at: 2))
            refer(
                Self.text(keys.value(at: 0)),
                to: Reference(
                    table: Self.text(keys.value(at: 1)), column: target.isEmpty ? nil : target))
        }
    }

    /// Sets the reference of a column, unless it has one.
    fileprivate mutating func refer(_ column: String, to reference: Reference) {
        guard let index = columns.firstIndex(where: { folded($0.name) == folded(column) }),
            columns[index].reference == nil
        else { return }
        columns[index].reference = reference
    }

    /// Reads rows, changed ones first if not all rows fit.
    fileprivate mutating func readRows(
        of connection: borrowing Connection, _ shape: TableShape?, firstKeys: ChangedKeys?,
        _ limits: ReportLimits, bytes: Int
    ) throws(SQLiteError) -> Int {
        let all = try connection.prepare("SELECT * FROM \(quotedIdentifier(name)) LIMIT 0").columnNames
        if all.count != columns.count {
            // A generated column may be missing from `columns`, but not from `all`.
            let known = Dictionary(
                columns.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
            columns = all.map { known[$0] ?? Column(name: $0, type: "", isKey: false) }
        }
        shownColumns = min(columns.count, limits.columns)
        let names =
            firstKeys?.columns ?? shape.map(Self.keyColumns)
            ?? columns.filter(\.isKey).map(\.name)
        let places = names.map { name in columns.firstIndex { folded($0.name) == folded(name) } }
        let hasKey = !names.isEmpty && places.allSatisfy { $0 ?? .max < shownColumns }
        keys = hasKey ? places.compactMap(\.self) : nil
        let rowid = hasKey ? nil : shape?.rowidName ?? shape?.integerKey
        if !hasKey, rowid == nil { keys = Array(0..<shownColumns) }
        let first = rowid.map { quotedIdentifier($0) + ", " } ?? ""
        let select = "SELECT \(first)* FROM \(quotedIdentifier(name))"
        let wanted = hasKey ? names.map(quotedIdentifier) : rowid.map { [quotedIdentifier($0)] } ?? []
        var used = 0
        var shown: Set<[StoredValue]> = []
        // The values of a cut key don't identify a row, so it isn't looked up.
        if count > Int64(ChangedKeys.limit / 2), let values = firstKeys?.values, !wanted.isEmpty {
            let statement = try connection.prepare(
                select + " WHERE " + wanted.map { $0 + " IS ?" }.joined(separator: " AND "))
            for key in values where key.count == wanted.count && !shown.contains(key) {
                let bound = key.compactMap(\.bindable)
                guard bound.count == key.count else { continue }
                try statement.bind(bound)
                defer { statement.reset() }
                guard try statement.step() else { continue }
                guard add(statement, hasRowid: rowid != nil, limits, bytes, &used) else { return used }
                shown.insert(key)
            }
        }
        let statement = try connection.prepare(select)
        while rows.count < limits.rowsPerTable, try statement.step() {
            if !shown.isEmpty {
                let key = (rowid == nil ? keys ?? [] : [0]).map {
                    statement.storedValue(at: $0, limit: limits.textBytes)
                }
                if shown.contains(key) { continue }
            }
            guard add(statement, hasRowid: rowid != nil, limits, bytes, &used) else { break }
        }
        return used
    }

    /// Adds the current row of a statement; false if the row doesn't fit.
    private mutating func add(
        _ statement: borrowing Statement, hasRowid: Bool, _ limits: ReportLimits, _ bytes: Int,
        _ used: inout Int
    ) -> Bool {
        let cells = (0..<(shownColumns + (hasRowid ? 1 : 0))).map { index in
            JSONValue(
                cell: statement.storedValue(at: index, limit: limits.textBytes)
                    .shortened(blob: limits.blobBytes))
        }
        let line = JSONValue.array(cells).json
        guard used + line.utf8.count + 2 <= bytes || rows.isEmpty else { return false }
        used += line.utf8.count + 2
        rows.append(line)
        return true
    }

    private static func keyColumns(_ shape: TableShape) -> [String] {
        shape.integerKey.map { [$0] } ?? shape.primaryKey.map(\.name)
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
            for relationship in root.toOne {
                guard let entity = relationship.entity else { continue }
                table.refer(relationship.name, to: .init(table: tableName(entity), column: "_id"))
            }
        } else if let link = links.first(where: { $0.table == source }) {
            for side in [link.source, link.target] {
                table.refer(side.name, to: .init(table: tableName(side.entity), column: "_id"))
            }
        }
    }
}

extension StepDetail {
    /// A summary such as `4 rows inserted into posting, 1 row updated in transfer`.
    var summary: String {
        var items = tables.prefix(6).flatMap { table -> [String] in
            if let problem = table.problem { return ["\(table.name): \(problem)"] }
            let parts = [
                (table.counts.inserted, "inserted into"), (table.counts.updated, "updated in"),
                (table.counts.deleted, "deleted from"),
            ]
            return parts.filter { $0.0 > 0 }.map {
                "\(Counted.number($0.0)) \($0.0 == 1 ? "row" : "rows") \($0.1) \(table.name)"
            }
        }
        if tables.count > 6 { items.append(Counted.items(Int64(tables.count - 6), "more table")) }
        items += schema.prefix(4)
        if schema.count > 4 {
            items.append(Counted.items(Int64(schema.count - 4), "more change") + " of the schema")
        }
        return items.isEmpty ? "no change of rows" : items.joined(separator: ", ")
    }
}

extension StoreDetail {
    /// Returns a summary of a step's changes, which only the log has if they were rolled back.
    func summary(of step: StepDetail) -> String {
        guard step.kind == .rolledBack, step.schema.isEmpty, step.tables.isEmpty else {
            return step.summary
        }
        let rows = statements(of: step).reduce(0) { $0 + ($1.changedRows ?? 0) }
        return Counted.items(Int64(rows), "changed row") + " discarded"
    }

    /// Takes the steps of a store.
    mutating func addSteps(of evidence: Timeline) {
        statements = evidence.statements.map(\.record)
        let indices = Dictionary(
            statements.enumerated().map { ($1.order, $0) }, uniquingKeysWith: { first, _ in first })
        transactionCount = evidence.transactionCount
        if transactionCount > 0, !evidence.steps.contains(where: { $0.number != nil }) {
            notes.append(
                "Reading the history took too long: 'failure-artifacts history' has all of it.")
        }
        let changes = coreData.map { CoreDataChanges($0, namesReferences: false) }
        steps = evidence.steps.map { step in
            let tables = step.tables.map { changed in
                StepDetail.Table(
                    name: changes?.title(of: changed.table) ?? changed.table.name,
                    source: changed.table.name,
                    keyColumns: changes?.keyColumns(of: changed.table) ?? changed.table.keyColumns,
                    counts: changed.counts,
                    rows: changed.rows.map { changes?.change($0, in: changed.table) ?? $0 },
                    writers: Dictionary(
                        uniqueKeysWithValues: Set(changed.rows.map(\.kind)).map { kind in
                            let found = step.writers(of: [folded(changed.table.name)], [.init(kind)])
                            return (kind, Timeline.distinct(found).compactMap { indices[$0.order] })
                        }))
            }
            let problems = step.changes.tables.filter { $0.problem != nil }.map {
                StepDetail.Table(name: $0.name, source: $0.name, problem: $0.problem)
            }
            return StepDetail(
                kind: step.number != nil
                    ? .transaction : store.isBeforeRollback ? .rolledBack : .uncommitted,
                number: step.number, pages: step.pages, schema: step.changes.schemaTexts,
                tables: tables + problems,
                statements: step.statements.compactMap { indices[$0.record.order] })
        }
        // The changes of the last step are only in the copy, so no other step comes after it.
        let hasLast = evidence.steps.last.map { $0.number == nil } ?? false
        let lost = store.isBeforeRollback ? Set(steps.last?.statements ?? []) : []
        for transaction in evidence.rolledBackTransactions() where transaction.isWhole {
            let step = StepDetail(
                kind: .rolledBack,
                statements: transaction.statements.compactMap { indices[$0.record.order] })
            guard let last = step.statements.last, lost.isEmpty || !lost.isSubset(of: step.statements)
            else { continue }
            // It stands before the first step that ended later.
            let end = steps.count - (hasLast ? 1 : 0)
            let place = steps[..<end].firstIndex { ($0.statements.last ?? -1) > last }
            steps.insert(step, at: place ?? end)
        }
    }
}
