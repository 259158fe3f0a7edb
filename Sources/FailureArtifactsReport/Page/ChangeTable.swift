internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Changed rows as HTML, cell by cell.
struct ChangeTable {
    let change: ChangeDetail
    /// The origin of the changes, for accessible names.
    let label: String

    /// Returns a summary such as `account: 1 inserted, 2 updated; table entry added`.
    static func summary(of change: ChangeDetail) -> String {
        var items = change.tables.prefix(6).map { table in
            table.name + ": " + (table.problem ?? counts(table.counts))
        }
        if change.tables.count > 6 { items.append("\(change.tables.count - 6) more tables") }
        items += change.schema.prefix(4).map(text)
        if change.schema.count > 4 {
            items.append("\(change.schema.count - 4) more changes of the schema")
        }
        if !change.isComplete { items.append("the time was up before all tables were compared") }
        return items.isEmpty ? "no change of rows" : items.joined(separator: "; ")
    }

    private static func counts(_ counts: RowCounts) -> String {
        [(counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted")]
            .filter { $0.0 > 0 }.map { "\(Counted.number($0.0)) \($0.1)" }.joined(separator: ", ")
    }

    private static func text(of change: SchemaChange) -> String {
        let subject = change.subject.rawValue + (change.name.isEmpty ? "" : " " + change.name)
        switch change.kind {
        case .added: return subject + " added"
        case .removed: return subject + " removed"
        case .changed:
            guard change.name.isEmpty else { return subject + " changed" }
            return "\(subject) \(change.old ?? "") → \(change.new ?? "")"
        }
    }

    var html: String {
        var text = ""
        for table in change.tables where !table.rows.isEmpty || table.problem != nil {
            let name = HTMLText.line(table.name)
            text +=
                "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                + "aria-label=\"Changes of \(name) by \(HTMLText.line(label))\"><table class=\"changes\">\n"
                + "<caption><code>\(name)</code> \(Self.counts(table.counts))</caption>\n<tbody>\n"
            for row in table.rows { text += Self.html(row) }
            text += "</tbody></table></div>\n"
            let left = table.counts.total - Int64(table.rows.count)
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
