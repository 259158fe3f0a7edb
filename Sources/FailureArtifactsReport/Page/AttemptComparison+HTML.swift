internal import FailureArtifactsAnalysis

extension AttemptComparison {
    /// Side by side: what differs in a table, and the rows of the stores cell by cell.
    var html: String {
        let count = titles.count + omitted
        var text =
            "<details class=\"part\" open><summary><h3>\(count) attempts side by side</h3></summary>\n"
            + (summary.map { "<p>\(HTMLText.line($0))</p>\n" } ?? "") + table
        let same = rows.filter { !$0.differs && $0.values.first != .some(nil) }
        if !same.isEmpty {
            text +=
                "<p class=\"facts dim\">The same in all: "
                + same.prefix(24).map {
                    "<span>\(HTMLText.line($0.label)) \(HTMLText.line(($0.values.first ?? nil) ?? ""))</span>"
                }.joined() + "</p>\n"
        }
        for change in changes { text += Self.html(change) }
        if omitted > 0 {
            text +=
                "<p class=\"cut\">\(Counted.items(Int64(omitted), "more attempt")) not compared: "
                + "the bundles are among the occurrences.</p>\n"
        }
        if summary == nil {
            text +=
                "<p class=\"dim\">An attempt that passed has left no bundle, and is not here: "
                + "<code>FAILURE_ARTIFACTS_PASSING</code> asks for one.</p>\n"
        }
        return text
            + ReportPage.warnings(notes) + "</details>\n"
    }

    private var table: String {
        var text =
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Attempts\"><table class=\"attempts\">\n"
            + "<thead><tr><th scope=\"col\">What differs</th>"
            + titles.map { "<th scope=\"col\">\(HTMLText.line($0))</th>" }.joined()
            + "</tr></thead>\n<tbody>\n"
        for row in rows where row.differs {
            text +=
                "<tr><th scope=\"row\">\(HTMLText.line(row.label))</th>"
                + row.values.map {
                    "<td>\($0.map(HTMLText.line) ?? "<span class=\"dim\">–</span>")</td>"
                }
                .joined() + "</tr>\n"
        }
        return text + "</tbody></table></div>\n"
    }

    private static func html(_ change: StoreChange) -> String {
        let label = "store \(change.store), from \(change.from) to \(change.to)"
        let summary = HTMLText.line(ChangeTable.summary(of: change.change))
        let heading =
            "Store \(HTMLText.line(change.store)), \(HTMLText.line(change.from)) → "
            + HTMLText.line(change.to)
        guard !change.change.isEmpty else {
            return "<p>\(heading) <span class=\"dim\">\(summary)</span></p>\n"
        }
        return
            "<details class=\"part\" open><summary>\(heading) <span class=\"dim\">\(summary)</span></summary>\n"
            + ChangeTable(change: change.change, label: label).html + "</details>\n"
    }
}
