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
        var items = StoreFacts.lines(
            of: store, sqlite: detail.sqlite, in: failure.metadata)
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

/// The last statements up to the failure as HTML.
struct StatementTimeline {
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
        if statements.count < total {
            text +=
                "<p class=\"cut\">The last \(statements.count) of \(total) that the bundle has.</p>\n"
        }
        text +=
            "<div class=\"scroll statements late\" tabindex=\"0\" role=\"group\" aria-label=\"Statements\">"
            + "<table><thead><tr><th scope=\"col\">Time</th><th scope=\"col\">Connection</th>"
            + "<th scope=\"col\">Statement</th><th scope=\"col\" class=\"num\">Rows</th>"
            + "<th scope=\"col\" class=\"num\">Took</th></tr></thead>\n<tbody>\n"
        for statement in statements {
            let duration = statement.duration.flatMap(DurationText.short)
            text +=
                row(statement) + "<td class=\"num\">\(statement.changedRows.map(String.init) ?? "")</td>"
            text += "<td class=\"num\">\(duration ?? "")</td></tr>\n"
        }
        if let failure {
            text +=
                "<tr class=\"end\"><td>\(Self.time(failure.at))</td><td></td><td colspan=\"3\">"
                + "\(HTMLText.line(place ?? "The failure"))</td></tr>\n"
        }
        return text + "</tbody></table></div>\n"
    }

    /// Returns the first cells of a statement's row.
    private func row(_ statement: StatementRecord) -> String {
        var text =
            "<tr\(statement.phase == .earlier ? " class=\"earlier\"" : "")><td>"
            + "\(Self.time(statement.at))</td><td class=\"num\">\(statement.connection)</td>"
            + "<td>\(Self.code(statement))"
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

    private static func code(_ statement: StatementRecord) -> String {
        let times = statement.repeated.map { $0 > 1 ? "\(Counted.number(Int64($0))) × " : "" } ?? ""
        let (sql, isCut) = statement.shownText
        return times + "<code>\(HTMLText.line(sql))\(isCut ? "…" : "")</code>"
    }

    private static func time(_ at: String) -> String { HTMLText.line(MetadataTime.timeOfDay(at)) }
}

extension StatementRecord {
    /// The part of the statement that is shown, with its values if it ran once; `isCut` is true if some of it is missing.
    var shownText: (sql: String, isCut: Bool) {
        let sql = (repeated ?? 1) > 1 ? sql : sqlWithValues
        let isLong = sql.utf8.count > 2000
        return (isLong ? String(sql.prefix(1900)) : sql, isLong || cut == true)
    }
}
