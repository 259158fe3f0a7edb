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
    /// Nil if the test has one attempt only.
    var attempts: AttemptSeries?
    /// Nil if another cause's section shows it.
    var comparison: AttemptComparison?

    private var variables: [String: String] { detail?.metadata.environment.ci?.variables ?? [:] }

    var html: String {
        var text =
            "<article class=\"failure\" id=\"f\(number)\""
            + (outline.map { " data-outline=\"\($0)\"" } ?? "")
            + " aria-labelledby=\"f\(number)-title\">\n<header>"
            + "<h2 id=\"f\(number)-title\">\(HTMLText.name(cause.title))</h2>\(place)\(arguments)</header>\n"
        guard let detail else {
            return text + (problem.map { ReportPage.warnings([$0]) } ?? "") + "<div class=\"more\">"
                + reportedBundles + "</div></article>\n"
        }
        text +=
            "<div class=\"top\">\n" + message(of: detail)
            + FindingsSection(findings: detail.findings, stores: detail.stores, variables: variables)
            .html + "</div>\n"
        text += ReportPage.warnings(detail.metadata.warnings.map(\.text) + detail.notes)
        text += attemptText + story(of: detail) + "<div class=\"more\">\n"
        text += otherFailures(of: detail)
        for (index, store) in detail.stores.enumerated() {
            text +=
                StoreSection(
                    detail: store, failure: detail,
                    bundle: folder.location(of: detail.location),
                    isBesideThePage: folder.holds(detail.location), isFirst: index == 0,
                    variables: variables
                ).html
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
        if let attempts {
            let place = attempts.attempts.firstIndex { $0.cause == number - 1 } ?? 0
            parts.append("attempt \(place + 1) of \(attempts.attempts.count)")
        } else if first.attempt > 1 {
            parts.append("attempt \(first.attempt)")
        }
        if cause.bundles.count > 1 {
            parts.append("\(cause.bundles.count) bundles")
        }
        let location = folder.location(of: first.location)
        let name = HTMLText.name(Path.name(of: location.inner ?? location.path))
        let isLinked = location.inner == nil && folder.holds(first.location)
        let link = isLinked ? "<a href=\"\(URLText.path(location.path))\" download>\(name)</a>" : name
        parts.append("\(link) <span class=\"nowrap\">\(Counted.bytes(first.bytes))</span>")
        return "<p class=\"place\">" + parts.joined(separator: " · ") + "</p>"
    }

    /// The arguments that a parameterised test failed with; empty if there are not several.
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
        if let values = ComparedValues(failure.message) { text += values.html }
        if let excerpt = detail.excerpt { text += excerpt.html }
        if failure.kind != .assertion {
            text += "<p class=\"dim\">\(HTMLText.line(failure.kind.rawValue))</p>\n"
        }
        return text + "</section>\n"
    }

    /// The newest step of the first store that has one, for readers without the page's script.
    private func story(of detail: FailureDetail) -> String {
        guard outline != nil else {
            return detail.stores.isEmpty ? "<p>The bundle has no store.</p>\n" : ""
        }
        var text = "<section class=\"story\" aria-label=\"Transactions and tables\">\n"
        for store in detail.stores {
            guard let step = store.steps.last else { continue }
            let title =
                switch step.kind {
                case .uncommitted: "Not committed at the failure"
                case .rolledBack: "Rolled back before the failure"
                case .transaction: "Transaction \(step.number ?? 0), the last one"
                }
            text +=
                "<h3>\(title) <span class=\"dim\">\(HTMLText.line(store.store.name)): "
                + "\(HTMLText.line(store.summary(of: step)))</span></h3>\n"
                + (step.kind == .uncommitted
                    ? "<p class=\"dim\">Committed on the left, what \(HTMLText.line(store.store.connection)) "
                        + "saw on the right.</p>\n" : "")
                + ChangeTable(change: step.change, label: title, maximumRows: 20).html
                + StatementTimeline(store, nil, variables: variables).list(
                    of: store.statements(of: step))
            break
        }
        return text
            + "<p class=\"cut\">The other transactions and the tables are shown by the script of this page."
            + "</p></section>\n"
    }

    /// The further failures of the test.
    private func otherFailures(of detail: FailureDetail) -> String {
        let failures = detail.metadata.failures.dropFirst()
        guard !failures.isEmpty else { return "" }
        let shown = failures.prefix(20)
        var text =
            "<details class=\"part\"><summary><h3>\(Counted.items(Int64(failures.count), "further failure"))"
            + " of the test</h3></summary>\n"
        for failure in shown {
            text +=
                "<figure><pre>\(HTMLText.lines(failure.message.abridged(toBytes: ReportLimits.messageBytes)))</pre><figcaption>"
            text += linkedPlace(of: failure) ?? "at an unknown place"
            text +=
                " <span class=\"dim\">\(failure.kind.rawValue), \(HTMLText.line(MetadataTime.text(failure.at)))</span>"
                + "</figcaption></figure>\n"
        }
        if failures.count > shown.count {
            text += "<p class=\"cut\">\(failures.count - shown.count) more are not shown.</p>\n"
        }
        return text + "</details>\n"
    }

    private var attemptText: String {
        if let comparison { return comparison.html }
        guard let attempts, attempts.number != number - 1 else { return "" }
        return "<p>This test has \(attempts.attempts.count) attempts: they are "
            + "<a href=\"#f\(attempts.number + 1)\">side by side</a>.</p>\n"
    }

    private var reportedBundles: String {
        let shown = cause.bundles.prefix(ReportLimits.reportedBundles)
        let hasArguments = !cause.arguments.isEmpty
        var text =
            "<details class=\"part bundles\"><summary><h3>"
            + (cause.bundles.count == 1 ? "Bundle" : "\(cause.bundles.count) bundles")
            + " of this failure</h3></summary>\n"
            + "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Bundles\"><table>\n<thead><tr>"
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
        return text + "</details>\n"
    }

    private func snapshots(of metadata: BundleMetadata) -> String {
        guard let snapshots = metadata.snapshots, !snapshots.isEmpty else { return "" }
        var text = "<details class=\"part\"><summary><h3>Snapshots</h3></summary>\n<ul>"
        for snapshot in snapshots.prefix(20) {
            for store in snapshot.stores.prefix(20) {
                text +=
                    "<li><code>\(HTMLText.line(snapshot.label + "/" + store.name))</code> "
                    + "<span class=\"dim\">\(HTMLText.line(MetadataTime.text(snapshot.at)))</span></li>"
            }
        }
        return text + "</ul>\n<p class=\"dim\">'failure-artifacts open' and 'diff' take these names "
            + "with --store.</p></details>\n"
    }

    private func attachments(of detail: FailureDetail) -> String {
        let attachments = detail.metadata.attachments
        guard !attachments.isEmpty else { return "" }
        var text = "<details class=\"part\"><summary><h3>Attachments</h3></summary>\n<ul>"
        for attachment in attachments.prefix(50) {
            let entry = attachment.entry.map { "<code>\(HTMLText.line($0))</code>" } ?? "not kept"
            text +=
                "<li>\(HTMLText.line(attachment.name)) <span class=\"dim\">\(entry), "
                + "\(Counted.bytes(attachment.bytes))</span>"
                + preview(attachment, of: detail) + "</li>"
        }
        return text + "</ul>\n"
            + (attachments.count > 50 ? "<p class=\"cut\">\(attachments.count - 50) more.</p>\n" : "")
            + "</details>\n"
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
        guard let others = detail.metadata.otherStores, !others.isEmpty else { return "" }
        let root = detail.packageRoot
        let items = others.prefix(50).map { store in
            "<li><code>\(HTMLText.line(root.relativePath(of: store.path)))</code> "
                + "<span class=\"dim\">\(HTMLText.line(store.reason))</span></li>"
        }
        return "<details class=\"part\"><summary><h3>"
            + "\(Counted.items(Int64(others.count), "other store")) not captured"
            + "</h3></summary>\n<ul>" + items.joined() + "</ul>\n"
            + (others.count > 50 ? "<p class=\"cut\">\(others.count - 50) more.</p>\n" : "")
            + "</details>\n"
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
        return "<details class=\"part\"><summary><h3>Environment</h3></summary><p class=\"facts dim\">"
            + items.map { "<span>\(HTMLText.line($0))</span>" }.joined() + "</p></details>\n"
    }
}

extension AttemptComparison {
    /// The attempts side by side: a table of the differences, and the rows of the stores cell by cell.
    var html: String {
        let count = titles.count + omitted
        var text =
            "<details class=\"part attempts-part\" open><summary><h3>\(count) attempts side by side</h3></summary>\n"
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
                + "their bundles are listed below.</p>\n"
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
        let summary = HTMLText.line(change.change.summary)
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
