internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// A store of a failure as HTML.
struct StoreSection {
    let detail: StoreDetail
    /// The failure at which the store was captured.
    let failure: FailureDetail
    /// The environment variables that identify the CI's run.
    let variables: [String: String]

    private var store: BundleMetadata.Store { detail.store }

    var html: String {
        let timeline = StatementTimeline(
            detail, failure.metadata.failures.first, at: failure.place, variables: variables)
        return
            "<details class=\"part store\"><summary><h3>Store <code>\(HTMLText.line(store.name))</code></h3>"
            + "</summary>\n" + facts + ReportPage.warnings(notes) + timeline.html + schema
            + "</details>\n"
    }

    private var facts: String {
        var items = StoreFacts(packageRoot: failure.packageRoot).lines(
            of: store, in: failure.metadata)
        if let coreData = detail.coreData {
            items.append("Core Data" + (coreData.uuid.map { " " + $0 } ?? ""))
        }
        return "<p class=\"facts\">" + items.map { "<span>\(HTMLText.cell($0))</span>" }.joined()
            + "</p>\n"
    }

    private var notes: [String] {
        var notes = detail.notes
        if detail.omittedTables > 0 {
            let count = Counted.items(Int64(detail.omittedTables), "more table")
            notes.append("\(count) not shown here: 'failure-artifacts query' has all.")
        }
        for table in detail.tables {
            if let problem = table.problem {
                notes.append("The rows of '\(table.name)' cannot be shown: \(problem).")
            }
        }
        // With statements, it is next to them.
        if let reason = store.statements?.reason, detail.statements.isEmpty { notes.append(reason) }
        return notes
    }

    private var schema: String {
        let objects = store.schema ?? []
        guard !objects.isEmpty else { return "" }
        var left = 48 << 10
        let statements = objects.map { $0.sql + ";" }.prefix {
            left -= $0.utf8.count
            return left >= 0
        }
        let missing = objects.count - statements.count + (store.schemaOmitted ?? 0)
        return "<details class=\"part\"><summary><h4>Schema</h4></summary>\n"
            + "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Statements of the schema\">"
            + "\(HTMLText.lines(statements.joined(separator: "\n\n")))</pre>\n"
            + (missing > 0
                ? "<p class=\"cut\">\(Counted.items(Int64(missing), "more object")) not shown.</p>\n"
                : "")
            + "</details>\n"
    }
}
