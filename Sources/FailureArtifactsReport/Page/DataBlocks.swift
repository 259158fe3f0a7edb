internal import CFailureArtifactsZlib
internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

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
    ///
    /// - `limit`: the maximum number of bytes of all blocks on the page.
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
        JSONText.base64(ZlibData.compressed(Array(json.utf8)))
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
            let text = Self.encoded("[" + items.prefix(count).joined(separator: ",\n") + "]")
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
        return [
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

/// Data in zlib's format (RFC 1950), which browsers call `deflate`.
enum ZlibData {
    /// Returns bytes compressed at zlib's best level.
    ///
    /// - `bytes`: the bytes, less than 4 GiB.
    static func compressed(_ bytes: [UInt8]) -> [UInt8] {
        var count = compressBound(CUnsignedLong(bytes.count))
        // zlib fails only without memory, or if the output is smaller than its own bound.
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { buffer, size in
            let result = compress2(
                buffer.baseAddress, &count, bytes, CUnsignedLong(bytes.count), Z_BEST_COMPRESSION)
            precondition(result == Z_OK, "zlib can't compress: \(result)")
            size = Int(count)
        }
    }
}
