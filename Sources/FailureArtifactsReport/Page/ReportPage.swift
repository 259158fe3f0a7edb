package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// The page around the causes: its head, the overview and its end.
package struct ReportPage {
    let causes: [FailureCause]
    /// The bundles of tests that passed.
    let passed: [ReportedBundle]
    /// The parts that could not be read, as full sentences.
    let problems: [String]

    /// True if the bundles come from several places.
    let hasShards: Bool
    private let reportedBundles: [ReportedBundle]

    package init(causes: [FailureCause], passed: [ReportedBundle] = [], problems: [String]) {
        self.causes = causes
        self.passed = passed
        self.problems = problems
        reportedBundles = causes.flatMap(\.reportedBundles)
        hasShards = Set(reportedBundles.map(\.container)).count > 1
    }

    /// The part of the page before the causes.
    ///
    /// The page loads nothing, and runs only its own script and style: their hashes are in the policy
    /// (<https://www.w3.org/TR/CSP3/#grammardef-hash-source>).
    var head: String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
        style-src 'sha256-\(ReportStyle.hash)'; script-src 'sha256-\(ReportScript.hash)'; img-src data:; \
        base-uri 'none'; form-action 'none'">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta name="referrer" content="no-referrer">
        <title>\(title)</title>
        <style>\(ReportStyle.text)</style>
        </head>
        <body>
        <a class="skip" href="#failures">Go to the failures</a>
        <header><h1>Failure Artifacts</h1><p>\(title)\(period)</p></header>
        <main>

        """ + Self.warnings(problems) + overview + "<section id=\"failures\" aria-label=\"Failures\">\n"
    }

    /// The part of the page after the causes.
    var foot: String {
        """
        </section>
        </main>
        <footer><p>Made by failure-artifacts \(ToolVersion.number). Nothing on this page is loaded from \
        anywhere else.</p></footer>
        <script>\(ReportScript.text)</script>
        </body>
        </html>

        """
    }

    private var title: String {
        let all = Counted.items(Int64(reportedBundles.count), "failed test")
        return causes.count == reportedBundles.count
            ? all : all + " with " + Counted.items(Int64(causes.count), "cause")
    }

    private var period: String {
        let times = reportedBundles.map(\.at).filter { MetadataTime.milliseconds(of: $0) != nil }
        guard let first = times.min(), let last = times.max() else { return "" }
        func text(_ at: String) -> String { String(at.prefix(19)).replacing("T", with: " ") }
        return first.prefix(19) == last.prefix(19)
            ? ", \(text(first)) UTC" : ", \(text(first)) to \(text(last)) UTC"
    }

    // MARK: - Overview

    private var overview: String {
        guard !causes.isEmpty else {
            return passed.isEmpty ? "<p>There is no bundle.</p>\n" : passedText
        }
        var text = ""
        if reportedBundles.count > 1 {
            text += "<section class=\"overview\" aria-label=\"Overview\">\n"
            text += chart("By suite") { $0.suite.isEmpty ? "no suite" : $0.suite }
            text += chart("By outcome") { $0.outcome.label }
            text += chart("By shard") { $0.shard(areSeveral: hasShards) }
            text += times + "</section>\n"
        }
        return text + index
    }

    /// A sentence about bundles of tests that passed; empty if there are no such bundles.
    private var passedText: String {
        guard !passed.isEmpty else { return "" }
        let failed = Set(reportedBundles.map(\.identity))
        let others = passed.filter { !failed.contains($0.identity) }.count
        var text = "Also here: " + Counted.items(Int64(passed.count), "bundle") + " of tests that passed"
        text += others < passed.count ? ", beside the failures of the same tests" : ""
        text +=
            others > 0
            ? "; \(others) of them, of tests without a failure here, \(others == 1 ? "is" : "are") not shown"
            : ""
        return "<p class=\"dim\">\(text).</p>\n"
    }

    private func chart(_ heading: String, _ key: (ReportedBundle) -> String) -> String {
        var counts: [String: Int64] = [:]
        for reportedBundle in reportedBundles { counts[key(reportedBundle), default: 0] += 1 }
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let bars = sorted.prefix(8).map { Bar(label: $0.key, value: $0.value, text: String($0.value)) }
        let more = sorted.count - bars.count
        return "<div class=\"card\"><h2>\(heading)</h2>" + Self.bars(bars, largest: sorted[0].value)
            + (more > 0 ? "<p class=\"cut\">and \(more) more</p>" : "") + "</div>\n"
    }

    /// A chart with a bar for each part of the time between the first failure and the last.
    private var times: String {
        let times = reportedBundles.compactMap { MetadataTime.milliseconds(of: $0.at) }
        guard let first = times.min(), let last = times.max(), first < last else { return "" }
        let count = 24
        var counts = [Int](repeating: 0, count: count)
        for time in times {
            counts[
                min(count - 1, Int(Double(time - first) / Double(max(last - first, 1)) * Double(count)))] +=
                1
        }
        let largest = counts.max() ?? 1
        let seconds = (last - first) / 1000
        let span =
            seconds >= 7200
            ? "\(seconds / 3600) h"
            : seconds >= 120
                ? "\(seconds / 60) min" : seconds >= 2 ? "\(seconds) s" : "\(last - first) ms"
        var text =
            "<div class=\"card\"><h2>By time</h2><svg class=\"times\" role=\"img\" viewBox=\"0 0 240 74\" "
            + "aria-label=\"Failures over \(span), most at a time: \(largest)\">"
        for (index, value) in counts.enumerated() where value > 0 {
            let height = max(3, 56 * value / largest)
            text += "<rect x=\"\(index * 10)\" y=\"\(58 - height)\" width=\"8\" height=\"\(height)\"/>"
        }
        return text
            + "<line x1=\"0\" x2=\"240\" y1=\"59\" y2=\"59\"/><text x=\"0\" y=\"72\">first</text>"
            + "<text x=\"240\" y=\"72\" text-anchor=\"end\">\(span) later</text></svg></div>\n"
    }

    /// The list of causes, one line each.
    private var index: String {
        let listed = causes.prefix(2000)
        var text = "<section class=\"index\" aria-label=\"All failures\"><h2>Failures</h2>\n"
        if causes.count > 5 {
            text +=
                "<label class=\"search\" for=\"search\">Filter "
                + "<input id=\"search\" type=\"search\" autocomplete=\"off\"></label>\n"
                + "<p class=\"dim\" id=\"found\" role=\"status\"></p>\n"
        }
        text += "<ol id=\"index\">\n"
        for (number, cause) in listed.enumerated() {
            let first = cause.first
            let count = cause.reportedBundles.count
            let name = HTMLText.line(first.test)
            let link =
                number < ReportLimits.describedCauses ? "<a href=\"#f\(number + 1)\">\(name)</a>" : name
            text +=
                "<li>\(Self.badge(first.outcome)) \(link)"
                + (count > 1 ? " <span class=\"count\">×\(count)</span>" : "")
                + "<span class=\"line\">\(HTMLText.line(first.message))</span></li>\n"
        }
        text += "</ol>\n"
        if causes.count > listed.count {
            text += "<p class=\"cut\">\(causes.count - listed.count) more causes are not listed.</p>\n"
        }
        if causes.count > ReportLimits.describedCauses {
            text +=
                "<p class=\"cut\">The first \(ReportLimits.describedCauses) causes are described below; "
                + "the others are in this list only.</p>\n"
        }
        return text + passedText + "</section>\n"
    }

    // MARK: - Parts

    /// A row of a bar chart.
    struct Bar {
        let label: String
        let value: Int64
        let text: String
    }

    static func bars(_ bars: [Bar], largest: Int64) -> String {
        var text = "<table class=\"bars\"><tbody>\n"
        for bar in bars {
            // A value above zero is always visible.
            let share = largest > 0 ? Double(bar.value) / Double(largest) : 0
            let width = bar.value > 0 ? max(0.5, Double(Int(share * 1000)) / 10) : 0
            text +=
                "<tr><th scope=\"row\">\(HTMLText.line(bar.label))</th><td class=\"num\">\(bar.text)</td>"
                + "<td class=\"bar\"><svg aria-hidden=\"true\" width=\"100%\" height=\"12\">"
                + "<rect width=\"\(width)%\" height=\"12\" rx=\"2\"/></svg></td></tr>\n"
        }
        return text + "</tbody></table>\n"
    }

    static func badge(_ outcome: BundleMetadata.Outcome) -> String {
        "<span class=\"badge \(outcome.rawValue)\">\(outcome.label)</span>"
    }

    static func warnings(_ sentences: [String]) -> String {
        guard !sentences.isEmpty else { return "" }
        let shown = sentences.prefix(50)
        return "<ul class=\"warnings\" aria-label=\"Warnings\">"
            + shown.map { "<li>\(HTMLText.line($0))</li>" }.joined()
            + (sentences.count > shown.count ? "<li>\(sentences.count - shown.count) more.</li>" : "")
            + "</ul>\n"
    }
}
