internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store of a failure as HTML.
struct StoreSection {
    let id: String
    let detail: StoreDetail
    /// The failure at which the store was captured.
    let failure: BundleMetadata.Failure?
    /// The bundle's location, as the page names it.
    let bundle: BundleLocation
    /// True if the location is relative to the page's directory.
    let isBesideThePage: Bool
    /// True if the commands use this store when no store is named.
    let isFirst: Bool
    /// The environment variables that identify the CI's run.
    let variables: [String: String]

    private var store: BundleMetadata.Store { detail.store }
    private var timeline: StatementTimeline {
        StatementTimeline(detail, failure, variables: variables)
    }

    var html: String {
        "<section class=\"store\">\n"
            + "<h3>Store <code>\(HTMLText.line(store.name))</code></h3>\n" + facts
            + ReportPage.warnings(notes) + rowCounts + changes + timeline.html
            + tables + schema + modelHashes + commands + "</section>\n"
    }

    private var facts: String {
        var items: [String] = []
        if let path = store.originalPath {
            items.append("\(path)\(store.deleted == true ? " (deleted)" : "")")
        } else {
            items.append(store.storage == .memory ? "in memory" : "without a file")
        }
        if let mode = store.journalMode { items.append("journal mode \(mode)") }
        if let bytes = store.bytes.copy { items.append(Counted.bytes(bytes)) }
        if let version = store.userVersion, version != 0 { items.append("user version \(version)") }
        if let integrity = store.integrity { items.append("integrity \(integrity)") }
        if store.transactionOpen == true { items.append("inside an open transaction") }
        if let opener = store.openedBy {
            items.append("opened by \(opener)")
        } else if store.shared == true {
            items.append("shared with other tests")
        }
        if let coreData = detail.coreData {
            items.append("Core Data" + (coreData.uuid.map { " " + $0 } ?? ""))
            items += coreData.modelIdentifiers.map { "model " + $0 }
        }
        return "<p class=\"facts\">" + items.map { "<span>\(HTMLText.cell($0))</span>" }.joined()
            + "</p>\n"
    }

    private var notes: [String] {
        var notes = detail.notes
        if store.entry == nil { notes.append(store.capture.reason ?? "The store was not copied.") }
        if store.entry != nil, !store.capture.consistent {
            notes.append("The copy may mix several states of the store.")
        }
        if let reason = store.history?.reason { notes.append(reason) }
        if let reason = store.statements?.reason { notes.append(reason) }
        return notes
    }

    // MARK: - Tables

    private var rowCounts: String {
        let tables =
            (store.tables
            ?? detail.tables.map { .init(name: $0.name, rows: $0.count, exact: $0.isExact) })
            .sorted { ($1.rows, $0.name) < ($0.rows, $1.name) }
        guard let largest = tables.first?.rows else { return "" }
        let bars = tables.prefix(24).map { table in
            ReportPage.Bar(
                label: detail.coreData?.title(ofTable: table.name) ?? table.name, value: table.rows,
                text: Counted.number(table.rows) + (table.exact ? "" : " or more"))
        }
        let more = tables.count - bars.count
        return "<h4>Rows by table</h4>\n" + ReportPage.bars(bars, largest: largest)
            + (more > 0
                ? "<p class=\"cut\">\(Counted.items(Int64(more), "smaller table")) not drawn.</p>\n"
                : "")
    }

    private var tables: String {
        guard !detail.tables.isEmpty else { return "" }
        var text =
            "<h4>Tables at the failure</h4>\n"
            + "<noscript><p class=\"cut\">The rows are shown by the script of this page.</p></noscript>\n"
        for (index, table) in detail.tables.enumerated() {
            let name = HTMLText.line(table.name)
            let count = Counted.number(table.count) + (table.isExact ? "" : " or more")
            text +=
                "<details class=\"rows\" data-rows=\"\(id)-\(index)\" data-name=\"\(name)\"><summary>"
                + "<code>\(name)</code> <span class=\"dim\">\(count) \(table.count == 1 ? "row" : "rows"), "
                + "\(Counted.items(Int64(table.columns.count), "column"))</span></summary>\n"
            if let problem = table.problem {
                text += ReportPage.warnings(["The rows cannot be shown: \(problem)."])
            }
            text +=
                cut(table) + "</details>\n"
                + "<script type=\"application/json\" id=\"\(id)-\(index)\">{\"columns\":[\(columns(of: table))],"
                + "\"rows\":\(table.rows)}</script>\n"
        }
        if detail.omittedTables > 0 {
            text +=
                "<p class=\"cut\">\(Counted.items(Int64(detail.omittedTables), "more table")) not shown "
                + "here.</p>\n"
        }
        return text
    }

    private func columns(of table: TableDetail) -> String {
        table.columns.prefix(table.shownColumns).map { CellJSON.string(String($0.name.prefix(200))) }
            .joined(separator: ",")
    }

    /// Returns sentences about the parts of the table that are not on the page.
    private func cut(_ table: TableDetail) -> String {
        var sentences: [String] = []
        if Int64(table.shownRows) < table.count, table.problem == nil {
            sentences.append(
                "The first \(Counted.number(Int64(table.shownRows))) of \(Counted.number(table.count)) rows "
                    + "are on this page; 'failure-artifacts query' has all.")
        }
        if table.shownColumns < table.columns.count {
            sentences.append(
                "\(table.columns.count - table.shownColumns) columns at the right are left out.")
        }
        return sentences.isEmpty ? "" : "<p class=\"cut\">\(sentences.joined(separator: " "))</p>\n"
    }

    // MARK: - Changes

    private var changes: String {
        var text = ""
        if !detail.changes.isEmpty {
            text += "<h4>Transactions before the failure</h4>\n"
            let hidden = detail.transactionCount - detail.changes.count
            if hidden > 0 {
                text +=
                    "<p class=\"cut\">The last of \(detail.transactionCount) transactions that the history has.</p>\n"
            }
            text += "<ol class=\"timeline\">\n"
            for (index, transaction) in detail.changes.enumerated() {
                let isLast = index == detail.changes.count - 1
                text +=
                    "<li><details\(isLast ? " open" : "")><summary>Transaction \(transaction.number) "
                    + "<span class=\"dim\">\(HTMLText.line(ChangeTable.summary(of: transaction.change)))</span></summary>\n"
                    + ChangeTable(change: transaction.change, label: "transaction \(transaction.number)")
                    .html
                    + timeline.list(of: transaction.statements)
                    + "</details></li>\n"
            }
            if let failure {
                text +=
                    "<li class=\"end\">\(HTMLText.line(FailureText.place(of: failure) ?? "The failure"))</li>\n"
            }
            text += "</ol>\n"
        }
        if let uncommitted = detail.uncommitted {
            text +=
                "<h4>Not committed at the failure</h4>\n"
                + "<p class=\"dim\">Committed on the left, what \(HTMLText.line(store.connection)) saw on the right: "
                + "\(HTMLText.line(ChangeTable.summary(of: uncommitted))).</p>\n"
                + ChangeTable(change: uncommitted, label: "what was not committed").html
        }
        return text
    }

    // MARK: - Schema

    private var schema: String {
        let drawn = detail.tables.filter { $0.problem == nil && !$0.columns.isEmpty }
        let objects = store.schema ?? []
        guard !drawn.isEmpty || !objects.isEmpty else { return "" }
        var text = "<details class=\"part\"><summary><h4>Schema</h4></summary>\n"
        if !drawn.isEmpty {
            if drawn.count <= EntityDiagram.maximumTables {
                text +=
                    "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Drawing of the schema\">"
                    + EntityDiagram(drawn).svg + "</div>\n"
            } else {
                text += "<p class=\"cut\">\(drawn.count) tables are too many for a drawing.</p>\n"
            }
            let relations = EntityDiagram.relations(of: drawn)
            if !relations.isEmpty {
                text +=
                    "<ul class=\"relations\">"
                    + relations.prefix(200).map { "<li><code>\(HTMLText.line($0))</code></li>" }.joined()
                    + "</ul>\n"
            }
        }
        if !objects.isEmpty {
            var left = 48 << 10
            var statements: [String] = []
            for object in objects {
                left -= object.sql.utf8.count
                if left < 0 { break }
                statements.append(object.sql + ";")
            }
            text +=
                "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Statements of the schema\">"
                + "\(HTMLText.lines(statements.joined(separator: "\n\n")))</pre>\n"
            let missing = objects.count - statements.count + (store.schemaOmitted ?? 0)
            if missing > 0 {
                text +=
                    "<p class=\"cut\">\(Counted.items(Int64(missing), "more object")) not shown.</p>\n"
            }
        }
        return text + "</details>\n"
    }

    /// The hashes by which Core Data finds a store's model.
    private var modelHashes: String {
        guard let hashes = detail.coreData?.modelHashes, !hashes.isEmpty else { return "" }
        let lines = hashes.sorted { $0.key < $1.key }.prefix(200).map { "\($0.key) \($0.value)" }
        return
            "<details class=\"part\"><summary><h4>Model hashes</h4></summary>\n"
            + "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Model hashes\">"
            + "\(HTMLText.lines(lines.joined(separator: "\n")))</pre></details>\n"
    }

    // MARK: - Commands

    private var commands: String {
        guard let entry = store.entry else { return "" }
        let path = ShellWord.quoted(bundle.description)
        let option = isFirst ? "" : " --store " + ShellWord.quoted(store.name)
        var lines = ["failure-artifacts open \(path)\(option)"]
        let query =
            detail.tables.first.map { "SELECT * FROM " + quotedIdentifier($0.name) } ?? "SELECT 1"
        let entities = detail.tables.first?.source == nil ? "" : " --entities"
        lines.append("failure-artifacts query \(path) \(ShellWord.quoted(query))\(option)\(entities)")
        if store.history?.entry != nil {
            lines.append("failure-artifacts history \(path)\(option)")
            lines.append("failure-artifacts open \(path) --at -2\(option)")
        }
        if bundle.inner == nil {
            let (path, file) = (ShellWord.quoted(bundle.path), ShellWord.quoted(entry))
            lines.append(
                "unzip -o \(path) \(file) -d bundle && sqlite3 \(ShellWord.quoted("bundle/" + entry))")
        } else {
            lines.append(
                "unzip -o \(ShellWord.quoted(bundle.path)) \(ShellWord.quoted(bundle.inner ?? "")) && unzip -o "
                    + "\(ShellWord.quoted(bundle.inner ?? "")) \(ShellWord.quoted(entry)) -d bundle && sqlite3 "
                    + ShellWord.quoted("bundle/" + entry))
        }
        return
            "<h4>Open it</h4>\n"
            + (isBesideThePage ? "<p class=\"dim\">In the directory of this page:</p>\n" : "")
            + "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Commands\">"
            + HTMLText.lines(lines.joined(separator: "\n")) + "</pre>\n"
    }
}
