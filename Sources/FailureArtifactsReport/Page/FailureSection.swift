internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A cause of failures as HTML.
struct FailureSection {
    let number: Int
    let cause: ReportedFailure
    /// The content of the bundle; nil if the cause is in the overview only.
    let detail: FailureDetail?
    /// The reason why there is no detail, as a full sentence.
    let problem: String?
    /// True if the bundles come from several places.
    let hasShards: Bool
    let folder: PageFolder
    /// The identifier of the block that names the data of the stores; nil if there is no data.
    let outline: String?

    private var variables: [String: String] { detail?.metadata.environment.ci?.variables ?? [:] }

    var html: String {
        var text =
            "<article class=\"failure\" id=\"f\(number)\""
            + (outline.map { " data-outline=\"\($0)\"" } ?? "")
            + " aria-labelledby=\"f\(number)-title\">\n<header>"
            + "<h2 id=\"f\(number)-title\">\(HTMLText.line(cause.title))</h2>\(place)\(arguments)</header>\n"
        guard let detail else {
            return text + (problem.map { ReportPage.warnings([$0]) } ?? "") + "<div class=\"more\">"
                + reportedBundles + "</div></article>\n"
        }
        text +=
            "<div class=\"top\">\n" + message(of: detail)
            + FindingsSection(
                findings: detail.findings, verdict: detail.verdict, culprit: detail.culprit,
                stores: detail.stores, variables: variables
            )
            .html + "</div>\n"
        text += ReportPage.warnings(detail.metadata.warnings.map(\.text) + detail.notes)
        text += story(of: detail) + "<div class=\"more\">\n"
        text += otherFailures(of: detail)
        for store in detail.stores {
            text += StoreSection(detail: store, failure: detail, variables: variables).html
        }
        if detail.omittedStores > 0 {
            text +=
                "<p class=\"cut\">\(Counted.items(Int64(detail.omittedStores), "more store")) "
                + "not shown here: see 'failure-artifacts show'.</p>\n"
        }
        return text + snapshots(of: detail.metadata) + attachments(of: detail) + reportedBundles
            + otherStores(of: detail) + environment(of: detail.metadata)
            + "</div>\n</article>\n"
    }

    /// The line with the place of the assertion, the outcome and the bundle.
    private var place: String {
        let first = cause.first
        var parts: [String] = []
        if let link = detail?.metadata.failures.first.flatMap(linkedPlace) { parts.append(link) }
        if first.outcome != .failed { parts.append(ReportPage.badge(first.outcome)) }
        if first.attempt > 1 { parts.append("attempt \(first.attempt)") }
        if cause.bundles.count > 1 {
            parts.append("\(cause.bundles.count) bundles")
        }
        if let seen = first.seenBefore { parts.append(HTMLText.line(seen)) }
        let location = folder.location(of: first.location)
        let name = HTMLText.line(Path.name(of: location.inner ?? location.path))
        let isLinked = location.inner == nil && folder.holds(first.location)
        let link = isLinked ? "<a href=\"\(URLText.path(location.path))\" download>\(name)</a>" : name
        parts.append("\(link) <span class=\"nowrap\">\(Counted.bytes(first.bytes))</span>")
        return "<p class=\"place\">" + parts.joined(separator: " · ") + "</p>"
    }

    /// The arguments that a parameterized test failed with; empty if there are not several.
    private var arguments: String {
        let all = cause.arguments
        guard let first = all.first else { return "" }
        let others = all[1...].prefix(ReportLimits.arguments - 1).map(Self.argument)
        let rest = all.count - 1 - others.count
        return
            "<p class=\"arguments\">Failed with \(all.count) arguments: \(Self.argument(first)) (shown here) "
            + others.joined(separator: " ") + (rest > 0 ? " and \(rest) more" : "") + "</p>"
    }

    private static func argument(_ text: String) -> String {
        let text = TextWidth.shortened(SafeText.line(text), to: ReportLimits.argumentColumns)
        return "<code>\(HTMLText.line(text))</code>"
    }

    /// Returns the place of a failure, linked to its line; nil if it is unknown.
    private func linkedPlace(of failure: BundleMetadata.Failure) -> String? {
        detail.flatMap { FailureText.place(of: failure, in: $0.packageRoot) }.map { place in
            let url = failure.file.flatMap {
                SourceLink.url(file: $0, line: failure.line, variables: variables)
            }
            return HTMLText.linked("<code>\(HTMLText.line(place))</code>", to: url)
        }
    }

    /// The first failure: its message, the values that the assertion compared, and the lines around it.
    private func message(of detail: FailureDetail) -> String {
        guard let failure = detail.metadata.failures.first else { return "" }
        var text =
            "<section class=\"message\" aria-label=\"Message\"><p class=\"text\">"
            + HTMLText.lines(
                FailureText.essence(of: failure.message).abridged(toBytes: ReportLimits.messageBytes))
            + "</p>\n"
        if let values = ComparedOperands(failure.message) { text += values.html }
        if let excerpt = detail.excerpt { text += excerpt.html }
        if failure.kind != .assertion {
            text += "<p class=\"dim\">\(HTMLText.line(failure.kind.rawValue))</p>\n"
        }
        return text + "</section>\n"
    }

    /// The place of the explorer, which the page's script fills.
    private func story(of detail: FailureDetail) -> String {
        guard outline != nil else {
            return detail.stores.isEmpty ? "<p>The bundle has no store.</p>\n" : ""
        }
        return "<section class=\"story\" aria-label=\"Transactions and tables\">\n"
            + "<p class=\"cut\">The transactions and the tables are shown by the script of this page."
            + "</p></section>\n"
    }

    /// The further failures of the test.
    private func otherFailures(of detail: FailureDetail) -> String {
        let failures = detail.metadata.failures.dropFirst()
        guard !failures.isEmpty else { return "" }
        let figures = failures.prefix(20).map { failure in
            "<figure><pre>\(HTMLText.lines(failure.message.abridged(toBytes: ReportLimits.messageBytes)))</pre><figcaption>"
                + (linkedPlace(of: failure) ?? "at an unknown place")
                + " <span class=\"dim\">\(failure.kind.rawValue), \(HTMLText.line(MetadataTime.text(failure.at)))</span>"
                + "</figcaption></figure>\n"
        }
        let rest = failures.count - figures.count
        return Self.part(
            Counted.items(Int64(failures.count), "further failure") + " of the test",
            figures.joined() + (rest > 0 ? "<p class=\"cut\">\(rest) more are not shown.</p>\n" : ""))
    }

    private var reportedBundles: String {
        let shown = cause.bundles.prefix(ReportLimits.reportedBundles)
        let hasArguments = !cause.arguments.isEmpty
        var text =
            "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Bundles\"><table>\n<thead><tr>"
            + "<th scope=\"col\">Bundle</th>" + (hasArguments ? "<th scope=\"col\">Arguments</th>" : "")
            + "<th scope=\"col\">Shard</th><th scope=\"col\">Attempt</th>"
            + "<th scope=\"col\">Captured</th><th scope=\"col\" class=\"num\">Size</th></tr></thead>\n<tbody>\n"
        for bundle in shown {
            let location = folder.location(of: bundle.location).description
            let arguments = (bundle.arguments ?? []).joined(separator: ", ")
            text += "<tr><td><code>\(HTMLText.line(location))</code></td>"
            if hasArguments { text += "<td>\(Self.argument(arguments))</td>" }
            text +=
                "<td>\(HTMLText.line(bundle.shard(areSeveral: hasShards)))</td><td>\(bundle.attempt)</td>"
                + "<td>\(HTMLText.line(MetadataTime.text(bundle.at)))</td>"
                + "<td class=\"num\">\(Counted.bytes(bundle.bytes))</td></tr>\n"
        }
        text += "</tbody></table></div>\n"
        let left = cause.bundles.count - shown.count
        if left > 0 { text += "<p class=\"cut\">\(left) more are not listed.</p>\n" }
        let count = cause.bundles.count == 1 ? "Bundle" : "\(cause.bundles.count) bundles"
        return Self.part(count + " of this failure", text)
    }

    /// Returns a folded part of the page.
    private static func part(_ title: String, _ content: String) -> String {
        "<details class=\"part\"><summary><h3>\(title)</h3></summary>\n\(content)</details>\n"
    }

    /// Returns a list of the first 50 items.
    private static func list(_ items: [String]) -> String {
        "<ul>" + items.prefix(50).map { "<li>\($0)</li>" }.joined() + "</ul>\n"
            + (items.count > 50 ? "<p class=\"cut\">\(items.count - 50) more.</p>\n" : "")
    }

    private func snapshots(of metadata: BundleMetadata) -> String {
        let items = (metadata.snapshots ?? []).flatMap { snapshot in
            snapshot.stores.map { store in
                "<code>\(HTMLText.line(snapshot.label + "/" + store.name))</code> "
                    + "<span class=\"dim\">\(HTMLText.line(MetadataTime.text(snapshot.at)))</span>"
            }
        }
        guard !items.isEmpty else { return "" }
        return Self.part(
            "Snapshots",
            Self.list(items) + "<p class=\"dim\">'failure-artifacts open' and 'diff' take these names "
                + "with --store.</p>")
    }

    private func attachments(of detail: FailureDetail) -> String {
        let items = detail.metadata.attachments.map { attachment in
            let entry = attachment.entry.map { "<code>\(HTMLText.line($0))</code>" } ?? "not kept"
            return "\(HTMLText.line(attachment.name)) <span class=\"dim\">\(entry), "
                + "\(Counted.bytes(attachment.bytes))</span>" + preview(attachment, of: detail)
        }
        return items.isEmpty ? "" : Self.part("Attachments", Self.list(items))
    }

    private func preview(
        _ attachment: BundleMetadata.Attachment, of detail: FailureDetail
    ) -> String {
        let name = HTMLText.line(attachment.name)
        switch attachment.entry.flatMap({ detail.attachments[$0] }) {
        case .text(let text, let earlierLines):
            let cut =
                earlierLines > 0
                ? "<p class=\"dim\">The end, after \(Counted.items(Int64(earlierLines), "line")):</p>"
                : ""
            return cut
                + "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Content of \(name)\">"
                + HTMLText.lines(text) + "</pre>"
        case .picture(let address): return "<br><img alt=\"\(name)\" src=\"\(address)\">"
        case nil: return ""
        }
    }

    /// The stores that are only named.
    private func otherStores(of detail: FailureDetail) -> String {
        let items = (detail.metadata.otherStores ?? []).map { store in
            "<code>\(HTMLText.line(detail.packageRoot.relativePath(of: store.path)))</code> "
                + "<span class=\"dim\">\(HTMLText.line(store.reason))</span>"
        }
        guard !items.isEmpty else { return "" }
        let title = Counted.items(Int64(items.count), "other store") + " not captured"
        return Self.part(title, Self.list(items))
    }

    private func environment(of metadata: BundleMetadata) -> String {
        let environment = metadata.environment
        var items = [
            "\(metadata.test.framework), Swift \(environment.swift), SQLite \(environment.sqlite)",
            "\(environment.operatingSystem), \(environment.architecture)",
            "fingerprint \(metadata.fingerprint)",
        ]
        if let ci = environment.ci {
            items.append(ci.service)
            items += ci.variables.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        }
        let spans = items.map { "<span>\(HTMLText.line($0))</span>" }.joined()
        return Self.part("Environment", "<p class=\"facts dim\">\(spans)</p>")
    }
}

/// Findings about a failure as HTML, best first.
struct FindingsSection {
    private static let maximumRows = 5

    let findings: [Finding]
    /// The answer if no finding is more than possible; nil otherwise.
    var verdict: String?
    /// The lines around the first finding's; nil if they aren't known.
    var culprit: SourceExcerpt?
    /// The failure's stores, in the order of the page's data.
    let stores: [StoreDetail]
    /// The environment variables that identify the run.
    let variables: [String: String]

    /// The section; empty without findings.
    var html: String {
        guard !findings.isEmpty else { return "" }
        let verdict = verdict.map { "<p>\(HTMLText.line($0))</p>" } ?? ""
        return "<section class=\"findings\" aria-label=\"Findings\">\(verdict)<ol>\n"
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
            JSONValue.array(row.key.map { JSONValue(cell: $0.value) })
        }
        return text + " data-table=\"\(table)\" data-keys=\""
            + HTMLText.attribute(JSONValue.array(keys).json) + "\""
    }

    /// The statement or its result then and now; the page's script also shows it beside the timeline.
    private func comparison(_ finding: Finding) -> String {
        guard let comparison = finding.comparison else { return "" }
        let items = comparison.lines.map { label, text in
            let parts = text.parts.map {
                $0.isMarked ? "<mark>\(HTMLText.line($0.text))</mark>" : HTMLText.line($0.text)
            }
            return "<dt>\(label)</dt><dd class=\"\(label)\">\(parts.joined())</dd>"
        }
        return "<dl class=\"values comparison\">\(items.joined())</dl>"
    }

    private func item(_ finding: Finding, isFirst: Bool) -> String {
        let heading =
            "<p class=\"kind\"><span class=\"confidence\">\(finding.confidence.rawValue)</span> "
            + "\(finding.code.rawValue)</p> <h3>\(HTMLText.line(finding.title))</h3>"
        let sentences =
            finding.explanation.split(separator: "\n").map(String.init)
            + finding.sourceNotes
        // The best finding is open, so that the page begins with it alone.
        var text =
            "<li class=\"\(finding.confidence.rawValue)\"\(attributes(finding))>"
            + (isFirst ? heading : "<details><summary>\(heading)</summary>")
            + comparison(finding)
            + sentences.map { "<p>\(HTMLText.line($0))</p>" }.joined()
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
            if isFirst, let culprit { text += culprit.html }
        }
        if !finding.statements.isEmpty {
            text += "<p>By one or more of these \(finding.statements.count) statements:</p>"
        }
        let isShown = finding.comparison?.isOfStatement == true
        for statement in isShown ? [] : finding.statement.map({ [$0] }) ?? finding.statements {
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
