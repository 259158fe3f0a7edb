internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A store of a failure as HTML.
struct StoreSection {
    let detail: StoreDetail
    /// The failure at which the store was captured.
    let failure: FailureDetail
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
        StatementTimeline(
            detail, failure.metadata.failures.first, at: failure.place, variables: variables)
    }

    var html: String {
        "<details class=\"part store\"><summary><h3>Store <code>\(HTMLText.line(store.name))</code></h3>"
            + "</summary>\n" + facts + ReportPage.warnings(notes) + timeline.html + schema + commands
            + "</details>\n"
    }

    private var facts: String {
        var items: [String] = []
        if let path = store.originalPath {
            items.append(
                "\(failure.packageRoot.relativePath(of: path))\(store.deleted == true ? " (deleted)" : "")"
            )
        } else {
            items.append(store.storage == .memory ? "in memory" : "without a file")
        }
        if let mode = store.journalMode { items.append("journal mode \(mode)") }
        if let bytes = store.bytes.copy { items.append(Counted.bytes(bytes)) }
        if let version = store.userVersion, version != 0 { items.append("user version \(version)") }
        if let sqlite = detail.sqlite, sqlite != failure.metadata.environment.sqlite {
            items.append("last written by SQLite \(sqlite)")
        }
        if let integrity = store.integrity { items.append("integrity \(integrity)") }
        if store.transactionOpen == true {
            items.append(
                store.isBeforeRollback
                    ? "before the rollback of a transaction" : "inside an open transaction")
        }
        if let opener = store.openedBy {
            items.append("opened by \(opener)")
        } else if store.shared == true {
            items.append("shared with other tests")
        }
        if let coreData = detail.coreData {
            items.append("Core Data" + (coreData.uuid.map { " " + $0 } ?? ""))
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
        if detail.omittedTables > 0 {
            let count = Counted.items(Int64(detail.omittedTables), "more table")
            notes.append("\(count) not shown here: 'failure-artifacts query' has all.")
        }
        for table in detail.tables {
            if let problem = table.problem {
                notes.append("The rows of '\(table.name)' cannot be shown: \(problem).")
            }
        }
        if let reason = store.history?.reason { notes.append(reason) }
        // With statements, it is next to them.
        if let reason = store.statements?.reason, detail.statements.isEmpty { notes.append(reason) }
        return notes
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
