internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// Blocks of data that the page's script unpacks when they are needed.
///
/// A block is JSON, compressed as zlib data (RFC 1950) and encoded in Base64 (RFC 4648), in a `script` element that the
/// browser doesn't run.
struct DataBlocks {
    private let prefix: String
    /// The bytes that are left.
    private(set) var left: Int
    private var blocks: [(id: String, text: String)] = []

    /// Creates an empty list of blocks.
    init(prefix: String, limit: Int) {
        self.prefix = prefix
        left = limit
    }

    /// Adds a block; nil if there is no space for it.
    ///
    /// - `reserve`: the bytes that other blocks need; nil to add the block even if there is no space.
    mutating func add(_ json: String, leaving reserve: Int? = 0) -> String? {
        let text = Self.encoded(json)
        if let reserve, text.utf8.count + reserve > left { return nil }
        return add(encoded: text)
    }

    private static func encoded(_ json: String) -> String {
        guard let block = ZlibData.compress(Array(json.utf8), level: 9) else {
            preconditionFailure("zlib can't compress")
        }
        return JSONText.base64(block)
    }

    private mutating func add(encoded text: String) -> String {
        left -= text.utf8.count
        let id = "\(prefix)\(blocks.count + 1)"
        blocks.append((id, text))
        return id
    }

    /// Sets space aside.
    mutating func reserve(_ bytes: Int) { left -= bytes }

    /// Adds as many of the first items as there is space for.
    mutating func add(first items: [String]) -> (id: String, count: Int)? {
        var count = items.count
        while count > 0, left > 0 {
            let text = Self.encoded(JSONValue.array(items.prefix(count).map(JSONValue.encoded)).json)
            if text.utf8.count <= left { return (add(encoded: text), count) }
            // The other items take about as much space as these.
            count = min(count - 1, count * left / text.utf8.count * 15 / 16)
        }
        return nil
    }

    var html: String {
        blocks.map { "<script type=\"text/plain\" id=\"\($0.id)\">\($0.text)</script>\n" }.joined()
    }
}

/// Makes the blocks of a failure's stores.
struct StoreData {
    private let detail: FailureDetail
    private let folder: PageFolder
    private let variables: [String: String]

    init(_ detail: FailureDetail, folder: PageFolder) {
        self.detail = detail
        self.folder = folder
        variables = detail.metadata.environment.ci?.variables ?? [:]
    }

    /// Adds the blocks of all stores.
    ///
    /// Changes come first, the newest ones before older ones, and then rows. Nil if there is no data.
    func add(to blocks: inout DataBlocks) throws -> String? {
        guard detail.stores.contains(where: { !$0.tables.isEmpty || !$0.steps.isEmpty }) else {
            return nil
        }
        var layouts = detail.stores.map { StoreLayout($0) }
        let steps = layouts.map { layout in layout.store.steps.map { step($0, of: layout) } }
        let statements = layouts.map { $0.store.statements.map(statement) }
        // The block that names the others is small, but always there. Steps and statements are most of it.
        let columns = layouts.flatMap(\.tables).reduce(0) { $0 + 4 + $1.detail.shownColumns }
        let size = try JSONText.line(steps).utf8.count + JSONText.line(statements).utf8.count
        blocks.reserve(256 + columns * 20 + size / 3)
        let forRows = blocks.left * 2 / 5
        for index in layouts.indices { layouts[index].addChanges(to: &blocks, leaving: forRows) }
        let path = ShellWord.quoted(folder.location(of: detail.location).description)
        var stores: [JSONObject] = []
        for (index, var layout) in layouts.enumerated() {
            layout.addRows(to: &blocks)
            let name = layout.store.store.name
            let option = index == 0 ? "" : " --store " + ShellWord.quoted(name)
            let changes = layout.changes.map { part -> JSONObject in
                ["block": part.block, "from": part.range.lowerBound, "to": part.range.upperBound]
            }
            stores.append([
                "name": name, "open": "failure-artifacts open \(path)\(option)",
                "tables": layout.tables.map { table($0, layout) },
                // The table to open if nothing names another one.
                "firstTable": layout.firstTable, "steps": steps[index],
                "total": layout.store.transactionCount, "changes": changes,
                "statements": statements[index],
            ])
        }
        return blocks.add(try JSONText.line(["stores": stores]), leaving: nil)
    }

    private func table(_ table: StoreLayout.Table, _ layout: StoreLayout) -> JSONObject {
        let detail = table.detail
        let columns = detail.columns.prefix(detail.shownColumns).map { column -> JSONObject in
            [
                "name": String(column.name.prefix(200)), "type": String(column.type.prefix(100)),
                "key": column.isKey ? true : nil,
                // The table and the column that a foreign key refers to.
                "ref": column.reference.map {
                    [$0.table, $0.column ?? layout.keyColumn(of: $0.table) ?? ""]
                },
            ]
        }
        return [
            "name": String(detail.name.prefix(200)), "columns": columns,
            // The columns that identify a row; absent for the rowid.
            "keys": detail.keys, "count": detail.count, "shown": table.shownRows, "block": table.block,
            "quiet": detail.isQuiet ? true : nil, "dropped": table.isDropped ? true : nil,
            "note": note(on: table),
        ]
    }

    /// Returns sentences about the parts of a table that are not on the page; nil if all of it is there.
    private func note(on table: StoreLayout.Table) -> String? {
        let detail = table.detail
        if let problem = detail.problem { return "The rows cannot be shown: \(problem)." }
        var sentences: [String] = []
        if Int64(table.shownRows) < detail.count {
            sentences.append(
                "\(Counted.number(Int64(table.shownRows))) of \(Counted.number(detail.count))"
                    + "\(detail.isExact ? "" : " or more") rows are on this page, changed ones first; 'failure-artifacts query' has all."
            )
        }
        if detail.shownColumns < detail.columns.count {
            sentences.append(
                "\(detail.columns.count - detail.shownColumns) columns at the right are left out.")
        }
        return sentences.isEmpty ? nil : sentences.joined(separator: " ")
    }

    private func step(_ step: StepDetail, of layout: StoreLayout) -> JSONObject {
        let last = layout.store.statements(of: step).last
        let isNamed = detail.findings.enumerated().contains { index, finding in
            finding.store == layout.store.store.name && finding.transaction != nil
                && finding.transaction == step.number
                && (index == 0 || finding.confidence > .possible)
        }
        // By table: its index, the numbers of rows inserted, updated and deleted, and of changed rows that are left out.
        let counts = step.tables.compactMap { table in
            layout.index(of: table).map { index in
                let counts = table.counts
                return [
                    Int64(index), counts.inserted, counts.updated, counts.deleted,
                    counts.total - Int64(table.rows.count),
                ]
            }
        }
        // By table: the statements that can have made a kind of change.
        let writers = step.tables.compactMap { table in
            layout.index(of: table).map { index in
                (
                    String(index),
                    Dictionary(
                        uniqueKeysWithValues: table.writers.map { (String($0.rawValue.prefix(1)), $1) })
                )
            }
        }
        return [
            "writers": Dictionary(writers, uniquingKeysWith: { first, _ in first }),
            "kind": step.kind.rawValue, "n": step.number,
            "at": last.map { MetadataTime.timeOfDay($0.at) },
            "connection": last?.connection, "counts": counts, "statements": step.statements,
            "label": String(layout.store.summary(of: step).prefix(200)),
            "pages": step.pages > 0 ? step.pages : nil,
            "schema": Array(step.schema.prefix(50)).nonEmpty, "finding": isNamed ? true : nil,
        ]
    }

    private func statement(_ statement: StatementRecord) -> JSONObject {
        let (sql, isCut) = statement.shownText
        return [
            "sql": sql, "cut": isCut ? true : nil,
            "times": statement.repeated.flatMap { $0 > 1 ? $0 : nil },
            "rows": statement.changedRows, "took": statement.duration.flatMap(DurationText.short),
            "facts": statement.queryFacts.nonEmpty, "error": statement.failureText,
            "place": statement.source?.place, "function": statement.source?.function,
            "url": statement.source.flatMap { SourceLink.url(of: $0, variables: variables) },
            "plan": Array(statement.shownPlan).nonEmpty, "quiet": statement.isQuiet ? true : nil,
        ]
    }
}

/// A store's tables and changes, with the blocks of the page that have them.
struct StoreLayout {
    struct Table {
        let detail: TableDetail
        /// True if the table isn't in the store at the failure.
        var isDropped = false
        /// The block with the rows; nil if none are on the page.
        var block: String?
        var shownRows = 0
    }

    /// The bytes of JSON from which on the next changes are in another block.
    private static let blockBytes = 48 << 10

    let store: StoreDetail
    private(set) var tables: [Table]
    /// The blocks with changed rows, and the steps that each one has, as indices.
    private(set) var changes: [(block: String, range: ClosedRange<Int>)] = []
    private var indices: [String: Int] = [:]

    init(_ store: StoreDetail) {
        self.store = store
        tables = store.tables.map { Table(detail: $0) }
        for (index, table) in tables.enumerated() {
            indices[folded(table.detail.source ?? table.detail.name)] = index
        }
        // Tables that are gone have the columns that they had last.
        for step in store.steps.reversed() {
            for change in step.tables where indices[folded(change.source)] == nil {
                var detail = TableDetail(name: change.name)
                detail.source = change.source
                detail.isQuiet = folded(change.source).hasPrefix("sqlite_")
                let names =
                    change.rows.first { $0.kind == .deleted }?.cells.map(\.column) ?? change.keyColumns
                detail.columns = names.map { .init(name: $0, type: "", isKey: false) }
                detail.shownColumns = names.count
                let keys = change.keyColumns.compactMap { names.firstIndex(of: $0) }
                detail.keys = keys.isEmpty ? nil : keys
                indices[folded(change.source)] = tables.count
                tables.append(Table(detail: detail, isDropped: true))
            }
        }
    }

    /// Returns the index of a changed table; nil if the page doesn't have it.
    func index(of change: StepDetail.Table) -> Int? { index(ofTable: change.source) }

    /// Returns the index of a table by its name in the store; nil if the page doesn't have it.
    func index(ofTable name: String) -> Int? { indices[folded(name)] }

    /// The index of the table to open if nothing names another one: the last changed one, or else the first with rows.
    var firstTable: Int {
        let changes = store.steps.reversed().lazy.flatMap { $0.tables.map(\.source) }
        let written = store.statements.reversed().lazy.filter { $0.changedRows ?? 0 > 0 }
            .compactMap(\.writtenTable)
        func isOpened(_ index: Int) -> Bool { !tables[index].detail.isQuiet && !tables[index].isDropped }
        return changes.compactMap(index).first(where: isOpened)
            ?? written.compactMap(index).first(where: isOpened)
            ?? tables.indices.first { isOpened($0) && tables[$0].detail.count > 0 } ?? 0
    }

    /// Returns the only column of a table's key; nil if the key has several columns.
    func keyColumn(of table: String) -> String? {
        let detail = tables.first { folded($0.detail.name) == folded(table) }?.detail
        guard let keys = detail?.keys, keys.count == 1 else { return nil }
        return detail?.columns[keys[0]].name
    }

    /// Adds the changed rows, the newest first, until there is no space but the bytes that rows need.
    mutating func addChanges(to blocks: inout DataBlocks, leaving reserve: Int) {
        var steps: [(String, JSONValue)] = []
        var bytes = 0
        var last = store.steps.count - 1
        for index in store.steps.indices.reversed() {
            guard let json = json(of: store.steps[index])?.json else {
                // The states before it can't be rebuilt.
                _ = flush(&steps, from: index + 1, to: last, &blocks, reserve)
                return
            }
            steps.append((String(index), .encoded(json)))
            bytes += json.utf8.count
            guard bytes > Self.blockBytes || index == 0 else { continue }
            guard flush(&steps, from: index, to: last, &blocks, reserve) else { return }
            bytes = 0
            last = index - 1
        }
    }

    private mutating func flush(
        _ steps: inout [(String, JSONValue)], from first: Int, to last: Int, _ blocks: inout DataBlocks,
        _ reserve: Int
    ) -> Bool {
        guard !steps.isEmpty else { return true }
        defer { steps = [] }
        guard let block = blocks.add(JSONValue.object(steps).json, leaving: reserve) else {
            return false
        }
        changes.insert((block, first...last), at: 0)
        return true
    }

    mutating func addRows(to blocks: inout DataBlocks) {
        for index in tables.indices {
            guard let (block, count) = blocks.add(first: tables[index].detail.rows) else { continue }
            tables[index].block = block
            tables[index].shownRows = count
        }
    }

    // MARK: - Changes as JSON

    /// Returns the changed rows of a step; nil if a row can't be told from others by the table's key.
    private func json(of step: StepDetail) -> JSONValue? {
        var tables: [JSONValue] = []
        for table in step.tables {
            guard let index = index(of: table) else { continue }
            let part = self.tables[index]
            guard part.isDropped || hasSameKey(part.detail, table) else { return nil }
            let rows = table.rows.map { json(of: $0, in: part.detail, table) }
            let rest = table.counts.total - Int64(rows.count)
            tables.append(.array([.integer(Int64(index)), .array(rows), .integer(rest)]))
        }
        return .array(tables)
    }

    private func hasSameKey(_ detail: TableDetail, _ change: StepDetail.Table) -> Bool {
        let keys = detail.keys.map { $0.map { folded(detail.columns[$0].name) } }
        return change.rows.isEmpty || change.keyColumns.map(folded) == keys ?? []
    }

    private func json(of row: RowChange, in detail: TableDetail, _ change: StepDetail.Table) -> JSONValue
    {
        let key = JSONValue.array(row.key.map { JSONValue(cell: $0) })
        func index(_ column: String) -> Int? {
            detail.columns.prefix(detail.shownColumns).firstIndex { folded($0.name) == folded(column) }
        }
        switch row.kind {
        case .updated:
            let cells = row.cells.compactMap { cell in
                index(cell.column).map { index in
                    JSONValue.array([
                        .integer(Int64(index)), JSONValue(cell: cell.old), JSONValue(cell: cell.new),
                    ])
                }
            }
            return .array([.text("u"), key, .array(cells)])
        case .inserted, .deleted:
            var cells = [JSONValue](repeating: .null, count: detail.shownColumns)
            for (name, value) in zip(change.keyColumns, row.key) {
                if let index = index(name) { cells[index] = JSONValue(cell: value) }
            }
            for cell in row.cells {
                if let index = index(cell.column) {
                    cells[index] = JSONValue(cell: cell.new ?? cell.old)
                }
            }
            return .array([.text(row.kind == .inserted ? "i" : "d"), key, .array(cells)])
        }
    }
}
