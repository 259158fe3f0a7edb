internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A cause of failures as HTML.
struct FailureSection {
    let number: Int
    let cause: FailureCause
    /// The content of the bundle; nil if the cause is in the overview only.
    let detail: FailureDetail?
    /// The reason why there is no detail, as a full sentence.
    let problem: String?
    /// True if the bundles come from several places.
    let hasShards: Bool
    let folder: PageFolder
    /// True if the section is open at first.
    let isOpen: Bool
    /// Nil if the test has one attempt only.
    var attempts: AttemptSeries?
    /// Nil if another cause's section shows it.
    var comparison: AttemptComparison?

    var html: String {
        let first = cause.first
        let count = cause.reportedBundles.count
        var text =
            "<details class=\"failure\" id=\"f\(number)\"\(isOpen ? " open" : "")>\n<summary>"
            + ReportPage.badge(first.outcome) + "<h2>\(HTMLText.line(first.test))</h2>"
        if count > 1 { text += "<span class=\"count\">\(count) occurrences</span>" }
        text += "</summary>\n<div class=\"body\">\n"
        if let detail {
            text += failures(of: detail.metadata)
            text +=
                FindingsSection(
                    findings: detail.findings,
                    variables: detail.metadata.environment.ci?.variables ?? [:]
                ).html
            text += attemptText
            text += ReportPage.warnings(detail.metadata.warnings.map(\.text) + detail.notes)
            for (index, store) in detail.stores.enumerated() {
                text +=
                    StoreSection(
                        id: "f\(number)-\(index)", detail: store,
                        failure: detail.metadata.failures.first,
                        bundle: folder.location(of: detail.location),
                        isBesideThePage: folder.holds(detail.location), isFirst: index == 0,
                        variables: detail.metadata.environment.ci?.variables ?? [:]
                    ).html
            }
            if detail.omittedStores > 0 {
                text +=
                    "<p class=\"cut\">\(Counted.items(Int64(detail.omittedStores), "more store")) "
                    + "not shown here: see 'failure-artifacts show'.</p>\n"
            }
            if detail.stores.isEmpty { text += "<p>The bundle has no store.</p>\n" }
            text += snapshots(of: detail.metadata)
            text += attachments(of: detail)
        } else if let problem {
            text += ReportPage.warnings([problem])
        }
        text += reportedBundles
        if let detail { text += environment(of: detail.metadata) }
        return text + "</div>\n</details>\n"
    }

    private var attemptText: String {
        if let comparison { return comparison.html }
        guard let attempts, attempts.number != number - 1 else { return "" }
        return "<p>This test has \(attempts.attempts.count) attempts: they are "
            + "<a href=\"#f\(attempts.number + 1)\">side by side</a>.</p>\n"
    }

    private func failures(of metadata: BundleMetadata) -> String {
        let variables = metadata.environment.ci?.variables ?? [:]
        let shown = metadata.failures.prefix(20)
        var text = ""
        for failure in shown {
            var message = failure.message
            if message.utf8.count > 8000 { message = String(message.prefix(6000)) + "…" }
            text += "<figure class=\"message\"><pre>\(HTMLText.lines(message))</pre><figcaption>"
            if let place = FailureText.place(of: failure) {
                let url = failure.file.flatMap {
                    SourceLink.url(file: $0, line: failure.line, variables: variables)
                }
                text += HTMLText.linked("<code>\(HTMLText.line(place))</code>", to: url)
            } else {
                text += "at an unknown place"
            }
            text += " <span class=\"dim\">\(failure.kind.rawValue), \(HTMLText.line(failure.at))</span>"
            text += "</figcaption></figure>\n"
        }
        if metadata.failures.count > shown.count {
            text +=
                "<p class=\"cut\">\(metadata.failures.count - shown.count) more failures of this test "
                + "are not shown.</p>\n"
        }
        return text
    }

    private var reportedBundles: String {
        let shown = cause.reportedBundles.prefix(ReportLimits.reportedBundles)
        var text =
            "<details class=\"part\"\(cause.reportedBundles.count > 1 ? " open" : "")><summary><h3>"
            + "\(Counted.items(Int64(cause.reportedBundles.count), "occurrence"))</h3></summary>\n"
            + "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Occurrences\"><table>\n<thead><tr>"
            + "<th scope=\"col\">Bundle</th><th scope=\"col\">Shard</th><th scope=\"col\">Attempt</th>"
            + "<th scope=\"col\">Captured</th><th scope=\"col\" class=\"num\">Size</th></tr></thead>\n<tbody>\n"
        for reportedBundle in shown {
            text +=
                "<tr><td><code>\(HTMLText.line(folder.location(of: reportedBundle.location).description))</code></td>"
                + "<td>\(HTMLText.line(reportedBundle.shard(areSeveral: hasShards)))</td>"
                + "<td>\(reportedBundle.attempt)</td><td>\(HTMLText.line(reportedBundle.at))</td>"
                + "<td class=\"num\">\(Counted.bytes(reportedBundle.bytes))</td></tr>\n"
        }
        text += "</tbody></table></div>\n"
        let left = cause.reportedBundles.count - shown.count
        if left > 0 { text += "<p class=\"cut\">\(left) more are not listed.</p>\n" }
        return text + "</details>\n"
    }

    private func snapshots(of metadata: BundleMetadata) -> String {
        guard let snapshots = metadata.snapshots, !snapshots.isEmpty else { return "" }
        var text = "<h3>Snapshots</h3>\n<ul>"
        for snapshot in snapshots.prefix(20) {
            for store in snapshot.stores.prefix(20) {
                text +=
                    "<li><code>\(HTMLText.line(snapshot.label + "/" + store.name))</code> "
                    + "<span class=\"dim\">\(HTMLText.line(snapshot.at))</span></li>"
            }
        }
        return text + "</ul>\n<p class=\"dim\">'failure-artifacts open' and 'diff' take these names "
            + "with --store.</p>\n"
    }

    private func attachments(of detail: FailureDetail) -> String {
        let attachments = detail.metadata.attachments
        guard !attachments.isEmpty else { return "" }
        var text = "<h3>Attachments</h3>\n<ul>"
        for attachment in attachments.prefix(50) {
            let entry = attachment.entry.map { "<code>\(HTMLText.line($0))</code>" } ?? "not kept"
            text +=
                "<li>\(HTMLText.line(attachment.name)) <span class=\"dim\">\(entry), "
                + "\(Counted.bytes(attachment.bytes))</span>"
                + preview(attachment, of: detail) + "</li>"
        }
        return text + "</ul>\n"
            + (attachments.count > 50 ? "<p class=\"cut\">\(attachments.count - 50) more.</p>\n" : "")
    }

    private func preview(
        _ attachment: BundleMetadata.Attachment, of detail: FailureDetail
    ) -> String {
        let name = HTMLText.line(attachment.name)
        switch attachment.entry.flatMap({ detail.attachments[$0] }) {
        case .text(let text):
            return "<pre class=\"sql\" tabindex=\"0\" role=\"group\" aria-label=\"Content of \(name)\">"
                + HTMLText.lines(text) + "</pre>"
        case .picture(let address): return "<br><img alt=\"\(name)\" src=\"\(address)\">"
        case nil: return ""
        }
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
        return "<p class=\"facts dim\">" + items.map { "<span>\(HTMLText.line($0))</span>" }.joined()
            + "</p>\n"
    }
}

extension AttemptComparison {
    /// The attempts side by side: a table of the differences, and the rows of the stores cell by cell.
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
