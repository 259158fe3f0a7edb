internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// Blocks of data that the page's script unpacks when they are needed.
///
/// A block is JSON, compressed as zlib data (RFC 1950) and encoded in Base64 (RFC 4648), in a `script` element that
/// the browser doesn't run.
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

    /// Adds a block.
    ///
    /// Nil if there is no space for it.
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

    /// The blocks as HTML.
    var html: String {
        blocks.map { "<script type=\"text/plain\" id=\"\($0.id)\">\($0.text)</script>\n" }.joined()
    }
}

/// The stores of a failure as data for the page's script.
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
    /// Changes come first, the newest ones before older ones, and then rows.
    ///
    /// Nil if there is no data.
    func add(to blocks: inout DataBlocks) -> String? {
        guard detail.stores.contains(where: { !$0.tables.isEmpty || !$0.steps.isEmpty }) else {
            return nil
        }
        var layouts = detail.stores.map { StoreLayout($0) }
        // The block that names the others is small, but always there. Steps and statements are most of it.
        let fixed = layouts.map { layout in
            (
                steps: JSONObject.array(layout.store.steps.map { step($0, of: layout) }),
                statements: JSONObject.array(layout.store.statements.map(statement))
            )
        }
        let columns = layouts.flatMap(\.tables).reduce(0) { $0 + 4 + $1.detail.shownColumns }
        blocks.reserve(
            fixed.reduce(256 + columns * 20) {
                ($0 + ($1.steps.utf8.count + $1.statements.utf8.count) / 3)
            })
        let forRows = blocks.left * 2 / 5
        for index in layouts.indices { layouts[index].addChanges(to: &blocks, leaving: forRows) }
        for index in layouts.indices { layouts[index].addRows(to: &blocks) }
        let path = ShellWord.quoted(folder.location(of: detail.location).description)
        let stores = layouts.enumerated().map { index, layout in
            let name = layout.store.store.name
            let option = index == 0 ? "" : " --store " + ShellWord.quoted(name)
            return JSONObject([
                ("name", CellJSON.string(name)),
                ("open", CellJSON.string("failure-artifacts open \(path)\(option)")),
                ("tables", JSONObject.array(layout.tables.map { table($0, layout) })),
                ("firstTable", String(layout.firstTable)),
                ("steps", fixed[index].steps),
                ("total", String(layout.store.transactionCount)),
                (
                    "changes",
                    JSONObject.array(
                        layout.changes.map {
                            JSONObject([
                                ("block", CellJSON.string($0.block)),
                                ("from", String($0.range.lowerBound)),
                                ("to", String($0.range.upperBound)),
                            ]).text
                        })
                ),
                ("statements", fixed[index].statements),
            ]).text
        }
        return blocks.add(JSONObject([("stores", JSONObject.array(stores))]).text, leaving: nil)
    }

    private func table(_ table: StoreLayout.Table, _ layout: StoreLayout) -> String {
        let detail = table.detail
        let columns = detail.columns.prefix(detail.shownColumns).map { column in
            var object = JSONObject([
                ("name", CellJSON.string(String(column.name.prefix(200)))),
                ("type", CellJSON.string(String(column.type.prefix(100)))),
            ])
            if column.isKey { object.add("key", "true") }
            if let reference = detail.foreignKeys.first(where: { $0.columns == [column.name] }) {
                let target =
                    reference.targets.first ?? layout.keyColumn(of: reference.table) ?? ""
                object.add(
                    "ref",
                    JSONObject.array([CellJSON.string(reference.table), CellJSON.string(target)]))
            }
            return object.text
        }
        var object = JSONObject([
            ("name", CellJSON.string(String(detail.name.prefix(200)))),
            ("columns", JSONObject.array(columns)),
            ("keys", detail.keys.map { JSONObject.array($0.map(String.init)) } ?? "null"),
            ("count", String(detail.count)),
            ("shown", String(table.shownRows)),
            ("block", table.block.map(CellJSON.string) ?? "null"),
        ])
        if detail.isQuiet { object.add("quiet", "true") }
        if table.isDropped { object.add("dropped", "true") }
        if let note = note(on: table) { object.add("note", CellJSON.string(note)) }
        return object.text
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

    private func step(_ step: StepDetail, of layout: StoreLayout) -> String {
        let statements = layout.store.statements(of: step)
        let counts = step.change.tables.compactMap { table -> String? in
            guard let index = layout.index(of: table) else { return nil }
            let numbers = [
                Int64(index), table.counts.inserted, table.counts.updated, table.counts.deleted,
                table.counts.total - Int64(table.rows.count),
            ]
            return JSONObject.array(numbers.map(String.init))
        }
        var object = JSONObject([
            ("kind", CellJSON.string(step.kind.rawValue)),
            ("n", step.number.map(String.init) ?? "null"),
            (
                "at",
                statements.last.map { CellJSON.string(MetadataTime.timeOfDay($0.at)) } ?? "null"
            ),
            ("connection", statements.last.map { String($0.connection) } ?? "null"),
            ("counts", JSONObject.array(counts)),
            ("statements", JSONObject.array(step.statements.map(String.init))),
            ("label", CellJSON.string(String(layout.store.summary(of: step).prefix(200)))),
        ])
        if step.pages > 0 { object.add("pages", String(step.pages)) }
        if !step.change.schema.isEmpty {
            object.add("schema", JSONObject.array(step.change.schema.prefix(50).map(CellJSON.string)))
        }
        let isNamed = detail.findings.enumerated().contains { index, finding in
            finding.store == layout.store.store.name && finding.transaction != nil
                && finding.transaction == step.number
                && (index == 0 || finding.confidence > .possible)
        }
        if isNamed { object.add("finding", "true") }
        return object.text
    }

    private func statement(_ statement: StatementRecord) -> String {
        let (sql, isCut) = statement.shownText
        var object = JSONObject([
            ("at", CellJSON.string(MetadataTime.timeOfDay(statement.at))),
            ("connection", String(statement.connection)), ("sql", CellJSON.string(sql)),
        ])
        if isCut { object.add("cut", "true") }
        let valued = statement.shownValues
        if valued != sql { object.add("valued", CellJSON.string(valued)) }
        if let repeated = statement.repeated, repeated > 1 { object.add("times", String(repeated)) }
        if let rows = statement.changedRows { object.add("rows", String(rows)) }
        if let duration = statement.duration.flatMap(DurationText.short) {
            object.add("took", CellJSON.string(duration))
        }
        let facts = statement.queryFacts
        if !facts.isEmpty { object.add("facts", JSONObject.array(facts.map(CellJSON.string))) }
        if let failure = statement.failureText { object.add("error", CellJSON.string(failure)) }
        if let source = statement.source {
            object.add("place", CellJSON.string(source.place))
            if let function = source.function { object.add("function", CellJSON.string(function)) }
            if let url = SourceLink.url(of: source, variables: variables) {
                object.add("url", CellJSON.string(url))
            }
        }
        let plan = statement.shownPlan
        if !plan.isEmpty { object.add("plan", JSONObject.array(plan.map(CellJSON.string))) }
        if statement.isQuiet { object.add("quiet", "true") }
        return object.text
    }
}

/// The text of a JSON object.
private struct JSONObject {
    private var members: [String] = []

    init(_ members: [(name: String, value: String)]) {
        for member in members { add(member.name, member.value) }
    }

    /// Adds a member.
    mutating func add(_ name: String, _ value: String) { members.append("\"\(name)\":\(value)") }

    var text: String { "{" + members.joined(separator: ",") + "}" }

    static func array(_ values: [String]) -> String { "[" + values.joined(separator: ",") + "]" }
}
