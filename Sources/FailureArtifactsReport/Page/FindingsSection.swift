internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// Findings about a failure as HTML, best first.
struct FindingsSection {
    /// The maximum number of rows shown for a finding.
    private static let maximumRows = 5

    let findings: [Finding]
    /// The environment variables that identify the run.
    let variables: [String: String]

    /// The section; empty without findings.
    var html: String {
        guard !findings.isEmpty else { return "" }
        return "<div class=\"findings\"><h3>Findings</h3>\n<ol>\n"
            + findings.map(item).joined() + "</ol></div>\n"
    }

    private func item(_ finding: Finding) -> String {
        var text =
            "<li class=\"\(finding.confidence.rawValue)\"><strong>\(HTMLText.line(finding.title))</strong> "
            + "<span class=\"dim\">\(finding.confidence.rawValue), \(finding.code.rawValue)</span>"
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
                "<p>" + HTMLText.linked("<code>\(HTMLText.line(finding.place))</code>", to: url) + "</p>"
        }
        if let statement = finding.statement {
            text += "<p class=\"statement\"><code>\(HTMLText.line(statement.sql))</code></p>"
        }
        return text + "</li>\n"
    }
}
