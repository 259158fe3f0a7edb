internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The last statements up to the failure as HTML: a drawing with a lane for each connection, and a list.
struct StatementTimeline {
    private let statements: [StatementRecord]
    private let total: Int
    private let failure: BundleMetadata.Failure?

    init(_ detail: StoreDetail, _ failure: BundleMetadata.Failure?) {
        statements = detail.statements
        total = detail.store.statements?.count ?? 0
        self.failure = failure
    }

    var html: String {
        guard !statements.isEmpty else { return "" }
        var text = "<h4>Statements up to the failure</h4>\n" + drawing
        if statements.count < total {
            text +=
                "<p class=\"cut\">The last \(statements.count) of \(total) that the bundle has.</p>\n"
        }
        text +=
            "<div class=\"scroll statements late\" tabindex=\"0\" role=\"group\" aria-label=\"Statements\">"
            + "<table><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Connection</th>"
            + "<th scope=\"col\">Statement</th><th scope=\"col\" class=\"num\">Rows</th>"
            + "<th scope=\"col\" class=\"num\">Took</th></tr></thead>\n<tbody>\n"
        for statement in statements { text += row(statement) }
        if let failure {
            text +=
                "<tr class=\"end\"><td>\(Self.time(failure.at))</td><td></td><td colspan=\"3\">"
                + "\(HTMLText.line(FailureText.place(of: failure) ?? "The failure"))</td></tr>\n"
        }
        return text + "</tbody></table></div>\n"
    }

    /// Returns the statements of a transaction, one line each.
    static func list(of statements: [StatementRecord]) -> String {
        guard !statements.isEmpty else { return "" }
        let shown = statements.prefix(20)
        let lines = shown.map { statement in
            let (sql, isCut) = cut(statement)
            return "<div><code>\(HTMLText.line(sql))\(isCut ? "…" : "")</code></div>\n"
        }
        let rest = statements.count - shown.count
        return "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
            + "aria-label=\"Statements of the transaction\">\n" + lines.joined() + "</div>\n"
            + (rest > 0 ? "<p class=\"cut\">and \(rest) more statements</p>\n" : "")
    }

    /// Returns the part of a statement that is shown; `isCut` is true if some of it is missing.
    private static func cut(_ statement: StatementRecord) -> (sql: String, isCut: Bool) {
        let isLong = statement.sql.utf8.count > 600
        return (
            isLong ? String(statement.sql.prefix(500)) : statement.sql, isLong || statement.cut == true
        )
    }

    private func row(_ statement: StatementRecord) -> String {
        let (sql, isCut) = Self.cut(statement)
        var text =
            "<tr\(statement.phase == .earlier ? " class=\"earlier\"" : "")><td>"
            + "\(Self.time(statement.at))</td><td class=\"num\">\(statement.connection)</td>"
            + "<td><code\(Self.endsTransaction(sql) ? " class=\"commit\"" : "")>\(HTMLText.line(sql))\(isCut ? "…" : "")</code>"
        if let error = statement.error {
            text += "<br><span class=\"error\">\(HTMLText.line(error.message)) (\(error.code))</span>"
        }
        return text + "</td><td class=\"num\">\(statement.changes.map(String.init) ?? "")</td>"
            + "<td class=\"num\">\(statement.duration.map(Self.duration) ?? "")</td></tr>\n"
    }

    private static func endsTransaction(_ sql: String) -> Bool {
        let start = sql.prefix(9).uppercased()
        return ["COMMIT", "END", "ROLLBACK", "BEGIN"].contains { start.hasPrefix($0) }
    }

    /// Returns the time of day of a timestamp.
    private static func time(_ at: String) -> String {
        let parts = at.split(separator: "T")
        return HTMLText.line(parts.count == 2 ? String(parts[1].prefix { $0 != "Z" }) : at)
    }

    private static func duration(_ seconds: Double) -> String {
        guard seconds.isFinite, (0..<1e6).contains(seconds) else { return "" }
        if seconds >= 1 { return "\(Double(Int(seconds * 100)) / 100) s" }
        return seconds >= 0.001 ? "\(Int(seconds * 1000)) ms" : "\(Int(seconds * 1_000_000)) µs"
    }

    // MARK: - Drawing

    private var drawing: String {
        let times = statements.compactMap { MetadataTime.milliseconds(of: $0.at) }
        guard let first = times.min(), let latest = times.max() else { return "" }
        let end = max(latest, failure.flatMap { MetadataTime.milliseconds(of: $0.at) } ?? latest)
        let lanes = Array(Set(statements.map(\.connection)).sorted().suffix(8))
        let span = Double(max(end - first, 1))
        let height = lanes.count * 22 + 30
        func x(_ time: Int64) -> Int { 64 + Int(Double(time - first) / span * 880) }
        var text =
            "<div class=\"scroll late\" tabindex=\"0\" role=\"group\" aria-label=\"Timeline\">"
            + "<svg class=\"lanes\" role=\"img\" width=\"960\" height=\"\(height)\" viewBox=\"0 0 960 \(height)\" "
            + "aria-label=\"\(statements.count) statements in \(end - first) milliseconds before the failure\">\n"
        for (lane, connection) in lanes.enumerated() {
            let y = lane * 22 + 16
            text +=
                "<text x=\"0\" y=\"\(y + 4)\">conn \(connection)</text>"
                + "<line x1=\"64\" x2=\"944\" y1=\"\(y)\" y2=\"\(y)\"/>\n"
            for statement in statements where statement.connection == connection {
                guard let time = MetadataTime.milliseconds(of: statement.at) else { continue }
                let width = max(3, Int(min(statement.duration ?? 0, 1e6) * 1000 / span * 880))
                let start = x(time)
                let kind =
                    statement.error != nil
                    ? "failed" : Self.endsTransaction(statement.sql) ? "commit" : "run"
                text +=
                    "<rect class=\"\(kind)\" x=\"\(start)\" y=\"\(y - 6)\" width=\"\(min(width, 947 - start))\" "
                    + "height=\"12\"/>"
            }
        }
        let mark = x(end)
        text +=
            "<line class=\"end\" x1=\"\(mark)\" x2=\"\(mark)\" y1=\"2\" y2=\"\(height - 16)\"/>"
            + "<text class=\"end\" x=\"\(mark)\" y=\"\(height - 3)\" text-anchor=\"end\">failure</text>"
            + "<text x=\"64\" y=\"\(height - 3)\">−\(end - first) ms</text></svg></div>\n"
        return text
    }
}
