internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The last statements up to the failure as HTML: a drawing with a lane for each connection, and a list.
struct StatementTimeline {
    /// The maximum number of statements that are drawn and listed.
    private static let maximumStatements = 100

    private let statements: [StatementRecord]
    private let total: Int
    /// The reason why some are missing; nil if none are.
    private let reason: String?
    private let failure: BundleMetadata.Failure?
    /// The place of the failure; nil if it is unknown.
    private let place: String?
    /// The environment variables that identify the CI's run.
    private let variables: [String: String]

    init(
        _ detail: StoreDetail, _ failure: BundleMetadata.Failure?, at place: String? = nil,
        variables: [String: String] = [:]
    ) {
        statements = detail.statements.suffix(Self.maximumStatements)
        total = detail.store.statements?.count ?? 0
        reason = detail.store.statements?.reason
        self.failure = failure
        self.place = place
        self.variables = variables
    }

    var html: String {
        guard !statements.isEmpty else { return "" }
        var text = "<h4>Statements \(reason == nil ? "up to the failure" : "in the log")</h4>\n"
        if let reason { text += "<p class=\"cut\">\(HTMLText.line(reason))</p>\n" }
        text += drawing
        if statements.count < total {
            text +=
                "<p class=\"cut\">The last \(statements.count) of \(total) that the bundle has.</p>\n"
        }
        // A column that would be empty is left out.
        let hasRows = statements.contains { $0.changedRows != nil }
        let hasDurations = statements.contains { Self.duration(of: $0) != nil }
        if statements.contains(where: { $0.shownValues != $0.shownText.sql }) {
            text += "<label class=\"as-written\"><input type=\"checkbox\"> without values</label>\n"
        }
        text +=
            "<div class=\"scroll statements late\" tabindex=\"0\" role=\"group\" aria-label=\"Statements\">"
            + "<table><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Connection</th>"
            + "<th scope=\"col\">Statement</th>"
            + (hasRows ? "<th scope=\"col\" class=\"num\">Rows</th>" : "")
            + (hasDurations ? "<th scope=\"col\" class=\"num\">Took</th>" : "")
            + "</tr></thead>\n<tbody>\n"
        for statement in statements {
            text += row(statement)
            if hasRows { text += Self.number(statement.changedRows.map(String.init)) }
            if hasDurations { text += Self.number(Self.duration(of: statement)) }
            text += "</tr>\n"
        }
        if let failure {
            let columns = 1 + (hasRows ? 1 : 0) + (hasDurations ? 1 : 0)
            text +=
                "<tr class=\"end\"><td>\(Self.time(failure.at))</td><td></td><td colspan=\"\(columns)\">"
                + "\(HTMLText.line(place ?? "The failure"))</td></tr>\n"
        }
        return text + "</tbody></table></div>\n"
    }

    /// Returns the statements of a transaction, one line each, with their places.
    func list(of statements: [StatementRecord]) -> String {
        guard !statements.isEmpty else { return "" }
        let shown = statements.prefix(20)
        let lines = shown.map { statement in
            "<div>\(Self.code(statement))</div>\n" + notes(on: statement)
        }
        let rest = statements.count - shown.count
        return "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
            + "aria-label=\"Statements of the transaction\">\n" + lines.joined() + "</div>\n"
            + (rest > 0 ? "<p class=\"cut\">and \(rest) more statements</p>\n" : "")
    }

    /// Returns the first cells of a statement's row.
    private func row(_ statement: StatementRecord) -> String {
        var text =
            "<tr\(statement.phase == .earlier ? " class=\"earlier\"" : "")><td>"
            + "\(Self.time(statement.at))</td><td class=\"num\">\(statement.connection)</td>"
            + "<td>\(Self.code(statement, isCommit: Self.endsTransaction(statement.sql)))"
        if let failure = statement.failureText {
            text += "<br><span class=\"error\">\(HTMLText.line(failure))</span>"
        }
        return text + notes(on: statement) + "</td>"
    }

    /// Returns the place of a statement, what SQLite counted and the query plan; empty if nothing is known.
    private func notes(on statement: StatementRecord) -> String {
        var notes: [String] = []
        if let source = statement.source {
            let place = "<code>\(HTMLText.line(source.place))</code>"
            notes.append(
                (source.function.map { "<code>\(HTMLText.line($0))</code> " } ?? "")
                    + HTMLText.linked(place, to: SourceLink.url(of: source, variables: variables)))
        }
        let facts = statement.queryFacts
        if !facts.isEmpty { notes.append(facts.joined(separator: ", ")) }
        var text = notes.isEmpty ? "" : "<div class=\"notes\">\(notes.joined(separator: " · "))</div>"
        let plan = statement.shownPlan
        if !plan.isEmpty {
            text += "<pre class=\"notes plan\">\(plan.map(HTMLText.line).joined(separator: "\n"))</pre>"
        }
        return text
    }

    /// Returns a statement with its values and, if they differ, as it is written; the page shows one of them.
    private static func code(_ statement: StatementRecord, isCommit: Bool = false) -> String {
        let (sql, isCut) = statement.shownText
        let times = statement.repeated.map { $0 > 1 ? "\(Counted.number(Int64($0))) × " : "" } ?? ""
        func code(_ text: String, _ name: String) -> String {
            "<code\(name.isEmpty ? "" : " class=\"\(name)\"")>\(HTMLText.line(text))\(isCut ? "…" : "")</code>"
        }
        let valued = statement.shownValues
        guard valued != sql else { return times + code(sql, isCommit ? "commit" : "") }
        return times + code(valued, "valued") + code(sql, "written")
    }

    private static func number(_ text: String?) -> String { "<td class=\"num\">\(text ?? "")</td>" }

    private static func endsTransaction(_ sql: String) -> Bool {
        let start = sql.prefix(9).uppercased()
        return ["COMMIT", "END", "ROLLBACK", "BEGIN"].contains { start.hasPrefix($0) }
    }

    /// Returns the time of day; a narrow page hides the digits beyond milliseconds.
    private static func time(_ at: String) -> String {
        let time = MetadataTime.timeOfDay(at)
        let end = time.firstIndex(of: ".").map { time[$0...].dropFirst(4).startIndex } ?? time.endIndex
        guard end < time.endIndex else { return HTMLText.line(time) }
        return HTMLText.line(String(time[..<end]))
            + "<span class=\"fine\">\(HTMLText.line(String(time[end...])))</span>"
    }

    private static func duration(of statement: StatementRecord) -> String? {
        statement.duration.flatMap(DurationText.short)
    }

    // MARK: - Drawing

    private var drawing: String {
        let times = statements.compactMap { MetadataTime.microseconds(of: $0.at) }
        guard let first = times.min(), let latest = times.max() else { return "" }
        let end = max(latest, failure.flatMap { MetadataTime.microseconds(of: $0.at) } ?? latest)
        let lanes = Array(Set(statements.map(\.connection)).sorted().suffix(8))
        let span = Double(max(end - first, 1))
        let duration = DurationText.short(Double(end - first) / 1e6) ?? "a long time"
        let height = lanes.count * 22 + 30
        func x(_ time: Int64) -> Int { 64 + Int(Double(time - first) / span * 880) }
        var text =
            "<div class=\"scroll late\" tabindex=\"0\" role=\"group\" aria-label=\"Timeline\">"
            + "<svg class=\"lanes\" role=\"img\" width=\"960\" height=\"\(height)\" viewBox=\"0 0 960 \(height)\" "
            + "aria-label=\"\(statements.count) statements in \(duration) before the failure\">\n"
        for (lane, connection) in lanes.enumerated() {
            let y = lane * 22 + 16
            text +=
                "<text x=\"0\" y=\"\(y + 4)\">conn \(connection)</text>"
                + "<line x1=\"64\" x2=\"944\" y1=\"\(y)\" y2=\"\(y)\"/>\n"
            for statement in statements where statement.connection == connection {
                guard let time = MetadataTime.microseconds(of: statement.at) else { continue }
                let width = max(3, Int(min(max(statement.duration ?? 0, 0), 1e6) * 1e6 / span * 880))
                let start = x(time)
                let kind =
                    statement.hasFailed
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
            + "<text x=\"64\" y=\"\(height - 3)\">−\(duration)</text></svg></div>\n"
        return text
    }
}

extension StatementRecord {
    /// The statement with its values, as far as it is shown.
    var shownValues: String { (repeated ?? 1) > 1 ? shownText.sql : String(sqlWithValues.prefix(4000)) }

    /// The part of the statement that is shown; `isCut` is true if some of it is missing.
    var shownText: (sql: String, isCut: Bool) {
        let isLong = sql.utf8.count > 2000
        return (isLong ? String(sql.prefix(1900)) : sql, isLong || cut == true)
    }
}
