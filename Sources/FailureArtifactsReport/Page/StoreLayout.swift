internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

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
        var steps: [String] = []
        var bytes = 0
        var last = store.steps.count - 1
        for index in store.steps.indices.reversed() {
            guard let text = json(of: store.steps[index]) else {
                // The states before it can't be rebuilt.
                _ = flush(&steps, from: index + 1, to: last, &blocks, reserve)
                return
            }
            steps.append("\"\(index)\":" + text)
            bytes += text.utf8.count
            guard bytes > Self.blockBytes || index == 0 else { continue }
            guard flush(&steps, from: index, to: last, &blocks, reserve) else { return }
            bytes = 0
            last = index - 1
        }
    }

    private mutating func flush(
        _ steps: inout [String], from first: Int, to last: Int, _ blocks: inout DataBlocks,
        _ reserve: Int
    ) -> Bool {
        guard !steps.isEmpty else { return true }
        defer { steps = [] }
        guard let block = blocks.add("{" + steps.joined(separator: ",\n") + "}", leaving: reserve) else {
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
    private func json(of step: StepDetail) -> String? {
        var texts: [String] = []
        for table in step.tables {
            guard let index = index(of: table) else { continue }
            guard tables[index].isDropped || hasSameKey(tables[index].detail, table) else { return nil }
            let rows = table.rows.map { json(of: $0, in: tables[index].detail, table) }
            texts.append(
                "[\(index),[\(rows.joined(separator: ",\n"))],\(table.counts.total - Int64(rows.count))]"
            )
        }
        return "[" + texts.joined(separator: ",") + "]"
    }

    private func hasSameKey(_ detail: TableDetail, _ change: StepDetail.Table) -> Bool {
        let keys = detail.keys.map { $0.map { folded(detail.columns[$0].name) } }
        return change.rows.isEmpty || change.keyColumns.map(folded) == keys ?? []
    }

    private func json(of row: RowChange, in detail: TableDetail, _ change: StepDetail.Table) -> String {
        let key = "[" + row.key.map(CellJSON.text).joined(separator: ",") + "]"
        func index(_ column: String) -> Int? {
            detail.columns.prefix(detail.shownColumns).firstIndex { folded($0.name) == folded(column) }
        }
        switch row.kind {
        case .updated:
            let cells = row.cells.compactMap { cell in
                index(cell.column).map { index in
                    "[\(index),\(text(cell.old)),\(text(cell.new))]"
                }
            }
            return "[\"u\",\(key),[\(cells.joined(separator: ","))]]"
        case .inserted, .deleted:
            var cells = [String](repeating: "null", count: detail.shownColumns)
            for (name, value) in zip(change.keyColumns, row.key) {
                if let index = index(name) { cells[index] = CellJSON.text(of: value) }
            }
            for cell in row.cells {
                if let index = index(cell.column) { cells[index] = text(cell.new ?? cell.old) }
            }
            let kind = row.kind == .inserted ? "i" : "d"
            return "[\"\(kind)\",\(key),[\(cells.joined(separator: ","))]]"
        }
    }

    private func text(_ value: StoredValue?) -> String { value.map(CellJSON.text) ?? "null" }
}
