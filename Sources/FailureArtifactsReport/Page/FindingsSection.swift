internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// Findings about a failure as HTML, best first.
struct FindingsSection {
    /// The maximum number of rows shown for a finding.
    private static let maximumRows = 5

    let findings: [Finding]
    /// The failure's stores, in the order of the page's data.
    let stores: [StoreDetail]
    /// The environment variables that identify the run.
    let variables: [String: String]

    /// The section; empty without findings.
    var html: String {
        guard !findings.isEmpty else { return "" }
        return "<section class=\"findings\" aria-label=\"Findings\"><ol>\n"
            + findings.enumerated().map { item($1, isFirst: $0 == 0) }.joined() + "</ol></section>\n"
    }

    /// The attributes by which the page's script finds the rows and the transaction.
    private func attributes(_ finding: Finding) -> String {
        guard let store = stores.firstIndex(where: { $0.store.name == finding.store }) else { return "" }
        var text = " data-store=\"\(store)\""
        if let transaction = finding.transaction { text += " data-transaction=\"\(transaction)\"" }
        let statement = finding.statement ?? finding.statements.last
        guard let name = finding.rows.first?.table ?? statement?.writtenTable,
            let table = StoreLayout(stores[store]).index(ofTable: name)
        else { return text }
        let keys = finding.rows.filter { $0.table == name }.prefix(20).map { row in
            "[" + row.key.map { CellJSON.text(of: $0.value) }.joined(separator: ",") + "]"
        }
        return text + " data-table=\"\(table)\" data-keys=\""
            + HTMLText.attribute("[" + keys.joined(separator: ",") + "]") + "\""
    }

    private func item(_ finding: Finding, isFirst: Bool) -> String {
        let heading =
            "<p class=\"kind\"><span class=\"confidence\">\(finding.confidence.rawValue)</span> "
            + "\(finding.code.rawValue)</p> <h3>\(HTMLText.line(finding.title))</h3>"
        // The best finding is open, so that the page begins with it alone.
        var text =
            "<li class=\"\(finding.confidence.rawValue)\"\(attributes(finding))>"
            + (isFirst ? heading : "<details><summary>\(heading)</summary>")
            + "<p>\(HTMLText.line(finding.explanation))</p>"
        let rows = finding.rows.prefix(Self.maximumRows)
        if !rows.isEmpty {
            text += "<ul>" + rows.map { "<li><code>\(HTMLText.line($0.text))</code></li>" }.joined()
            let rest = finding.rows.count - rows.count
            if rest > 0 { text += "<li>and \(Counted.items(Int64(rest), "more row"))</li>" }
            text += "</ul>"
        }
        if !finding.place.isEmpty {
            let url = finding.source.flatMap { SourceLink.url(of: $0, variables: variables) }
            text +=
                "<p class=\"place\">"
                + HTMLText.linked("<code>\(HTMLText.line(finding.place))</code>", to: url) + "</p>"
        }
        if !finding.statements.isEmpty {
            text += "<p>By one or more of these \(finding.statements.count) statements:</p>"
        }
        for statement in finding.statement.map({ [$0] }) ?? finding.statements {
            text += "<p class=\"statement\"><code>\(HTMLText.line(statement.sqlWithValues))</code>"
            if finding.statement == nil, let source = statement.source {
                let url = SourceLink.url(of: source, variables: variables)
                text += " " + HTMLText.linked("<code>\(HTMLText.line(source.place))</code>", to: url)
            }
            text += "</p>"
        }
        return text + (isFirst ? "" : "</details>") + "</li>\n"
    }
}
