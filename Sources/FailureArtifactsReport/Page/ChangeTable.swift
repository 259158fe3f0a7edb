internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Changed rows as HTML, cell by cell.
struct ChangeTable {
    let change: ChangeDetail
    /// The origin of the changes, for accessible names.
    let label: String
    /// The maximum number of rows shown of a table.
    var maximumRows = Int.max

    private static func counts(_ counts: RowCounts) -> String {
        [(counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted")]
            .filter { $0.0 > 0 }.map { "\(Counted.number($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    var html: String {
        var text = ""
        for table in change.tables where !table.rows.isEmpty || table.problem != nil {
            let name = HTMLText.line(table.name)
            text +=
                "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                + "aria-label=\"Changes of \(name) by \(HTMLText.line(label))\"><table class=\"changes\">\n"
                + "<caption><code>\(name)</code> \(Self.counts(table.counts))</caption>\n<tbody>\n"
            for row in table.rows.prefix(maximumRows) { text += Self.html(row) }
            text += "</tbody></table></div>\n"
            let left = table.counts.total - Int64(min(table.rows.count, maximumRows))
            if left > 0 {
                text +=
                    "<p class=\"cut\">\(Counted.items(left, "more changed row")) not shown; "
                    + "'failure-artifacts diff' has all.</p>\n"
            }
        }
        return text
    }

    private static func html(_ row: RowChange) -> String {
        let (kind, sign): (String, String) =
            switch row.kind {
            case .inserted: ("inserted", "+")
            case .updated: ("updated", "±")
            case .deleted: ("deleted", "−")
            }
        let key = row.key.map { StoredText.text(of: $0, width: 40) }.joined(separator: ", ")
        var cells: [String] = []
        for cell in row.cells.prefix(32) {
            let name = "<b>\(HTMLText.cell(cell.column))</b> "
            switch (cell.old, cell.new) {
            case (let old?, let new?):
                let texts = StoredText.text(of: old, new, width: 80)
                cells.append(
                    name
                        + "<del>\(HTMLText.cell(texts.old))</del> → <ins>\(HTMLText.cell(texts.new))</ins>"
                )
            case (let old?, nil):
                cells.append(name + "<del>\(HTMLText.cell(StoredText.text(of: old, width: 60)))</del>")
            case (nil, let new?):
                cells.append(name + "<ins>\(HTMLText.cell(StoredText.text(of: new, width: 60)))</ins>")
            case (nil, nil): break
            }
        }
        if row.cells.count > 32 { cells.append("… \(row.cells.count - 32) more columns") }
        let list = cells.map { "<span>\($0)</span>" }.joined(separator: " ")
        return "<tr class=\"\(kind)\"><th scope=\"row\"><span class=\"sign\">\(sign)</span> "
            + "\(HTMLText.cell(key))<span class=\"hidden\"> \(kind)</span></th><td class=\"cells\">\(list)</td></tr>\n"
    }
}

extension ChangeDetail {
    /// A summary such as `4 rows inserted into posting, 1 row updated in transfer`.
    var summary: String {
        var items = tables.prefix(6).flatMap { table -> [String] in
            if let problem = table.problem { return ["\(table.name): \(problem)"] }
            let parts = [
                (table.counts.inserted, "inserted into"), (table.counts.updated, "updated in"),
                (table.counts.deleted, "deleted from"),
            ]
            return parts.filter { $0.0 > 0 }.map {
                "\(Counted.number($0.0)) \($0.0 == 1 ? "row" : "rows") \($0.1) \(table.name)"
            }
        }
        if tables.count > 6 { items.append("\(tables.count - 6) more tables") }
        items += schema.prefix(4)
        if schema.count > 4 { items.append("\(schema.count - 4) more changes of the schema") }
        if !isComplete { items.append("the time was up before all tables were compared") }
        return items.isEmpty ? "no change of rows" : items.joined(separator: ", ")
    }
}

extension StoreDetail {
    /// Returns a summary of a step's changes, which only the log has if they were rolled back.
    func summary(of step: StepDetail) -> String {
        guard step.kind == .rolledBack, step.change.isEmpty else { return step.change.summary }
        let rows = statements(of: step).reduce(0) { $0 + ($1.changedRows ?? 0) }
        return Counted.items(Int64(rows), "changed row") + " discarded"
    }
}
