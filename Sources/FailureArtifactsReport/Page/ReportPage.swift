internal import CFailureArtifactsShared
package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// The page around the causes: its head, the overview and its end.
package struct ReportPage: Sendable {
    let causes: [ReportedFailure]
    let passed: [ReportedBundle]
    /// The parts that could not be read, as full sentences.
    let problems: [String]

    /// True if the bundles come from several places.
    let hasShards: Bool
    private let reportedBundles: [ReportedBundle]

    package init(causes: [ReportedFailure], passed: [ReportedBundle] = [], problems: [String]) {
        self.causes = causes
        self.passed = passed
        self.problems = problems
        reportedBundles = causes.flatMap(\.bundles)
        hasShards = Set(reportedBundles.map(\.container)).count > 1
    }

    /// Returns the newest bundle in which the test of a failure passed; nil without one.
    func passing(_ failure: ReportedBundle) -> BundleLocation? {
        passed.filter { $0.test == failure.test && $0.arguments == failure.arguments }
            .max { $0.at < $1.at }?.location
    }

    /// Returns the part of the page before the list of the failures.
    func head(groups: Int) -> String {
        let title = title(causes: groups + max(0, causes.count - ReportLimits.describedCauses))
        return """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(PageFiles.policy)">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <meta name="referrer" content="no-referrer">
            <title>\(title)</title>
            <style>\(PageFiles.style)</style>
            </head>
            <body>
            <a class="skip" href="#failures">Go to the failures</a>
            <header class="bar"><button type="button" id="open-list" hidden>Failures</button>
            <h1>Failure Artifacts</h1><p class="run">\(title)\(period)</p>
            <label class="search" hidden>Search <input id="search" type="search" autocomplete="off"></label></header>
            <div class="columns">

            """
    }

    /// The part of the page between the list and the causes.
    var mainStart: String {
        "<main id=\"failures\" tabindex=\"-1\">\n" + Self.warnings(problems)
            + (causes.isEmpty && passed.isEmpty ? "<p>There is no bundle.</p>\n" : "") + passedText
    }

    /// The part of the page after the causes, with the script.
    var foot: String {
        """
        <footer><p>Made by failure-artifacts \(ToolVersion.number). Nothing on this page is loaded from \
        anywhere else.</p></footer>
        <script>\(PageFiles.script)</script>

        """
    }

    var end: String { "</body>\n</html>\n" }

    private func title(causes: Int) -> String {
        let all = Counted.items(Int64(reportedBundles.count), "failed test")
        return causes == reportedBundles.count
            ? all : all + " with " + Counted.items(Int64(causes), "cause")
    }

    private var period: String {
        let times = reportedBundles.map(\.at).filter { MetadataTime.milliseconds(of: $0) != nil }
        guard let first = times.min(), let last = times.max() else { return "" }
        func text(_ at: String) -> String { String(at.prefix(19)).replacing("T", with: " ") }
        return first.prefix(19) == last.prefix(19)
            ? ", \(text(first)) UTC" : ", \(text(first)) to \(text(last)) UTC"
    }

    /// A sentence about bundles of tests that passed; empty if there are no such bundles.
    private var passedText: String {
        guard !passed.isEmpty else { return "" }
        let count = Counted.items(Int64(passed.count), "bundle")
        return "<p class=\"dim\">Also here: \(count) of tests that passed.</p>\n"
    }

    // MARK: - List

    /// Returns the list of the causes: those that have one reason in common are a group.
    func list(_ described: [DescribedCause]) -> String {
        guard !causes.isEmpty else { return "" }
        var text =
            "<nav id=\"list\" aria-label=\"Failures\">\n"
            + "<p id=\"found\" role=\"status\"></p>\n"
        for group in CauseGroup.groups(of: described) {
            let heading = group.heading.map { "<h2>\(HTMLText.line($0))</h2>" } ?? ""
            text += "<section class=\"group\">\(heading)<ol>\n"
            for cause in group.causes { text += item(cause.cause, cause.findings, number: cause.number) }
            text += "</ol></section>\n"
        }
        let rest = causes.dropFirst(described.count)
        if !rest.isEmpty {
            text += "<section class=\"group\"><h2>Not described on this page</h2><ol>\n"
            for cause in rest.prefix(Self.listedCauses) { text += item(cause, [], number: nil) }
            text += "</ol>"
            if rest.count > Self.listedCauses {
                text +=
                    "<p class=\"cut\">\(rest.count - Self.listedCauses) more causes are not listed.</p>"
            }
            text += "</section>\n"
        }
        return text + "</nav>\n"
    }

    /// The maximum number of causes that are listed without a description.
    private static let listedCauses = 1800

    private func item(_ cause: ReportedFailure, _ findings: [Finding], number: Int?) -> String {
        let first = cause.first
        let attempts = Set(cause.bundles.map(\.attempt)).count
        var attributes = [
            ("suite", first.test.suite), ("outcome", first.outcome.rawValue),
            ("shard", first.shard(areSeveral: hasShards)), ("fingerprint", first.fingerprint),
            ("codes", findings.map(\.code.rawValue).joined(separator: " ")),
        ]
        if attempts > 1 { attributes.append(("attempts", String(attempts))) }
        let data = attributes.map { " data-\($0.0)=\"\(HTMLText.line($0.1))\"" }.joined()
        var content =
            "<span class=\"dot \(first.outcome.rawValue)\"></span><b>\(HTMLText.line(cause.title))</b>"
        if first.outcome != .failed {
            content += " <span class=\"outcome\">\(first.outcome.label)</span>"
        }
        let count = cause.bundles.count
        if count > 1 { content += " <span class=\"count\">×\(count)</span>" }
        let line = findings.first.map { $0.title } ?? first.headline
        content += " <span class=\"line\">\(HTMLText.line(line))</span>"
        return "<li\(data)>"
            + (number.map { "<a href=\"#f\($0)\">\(content)</a>" } ?? content) + "</li>\n"
    }

    // MARK: - Parts

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

/// Causes of failures that have one reason in common.
struct CauseGroup {
    /// The reason; nil for causes that have no group.
    let heading: String?
    let causes: [DescribedCause]

    /// Groups causes by the reasons that they have in common.
    static func groups(of causes: [DescribedCause]) -> [CauseGroup] {
        let groups = causes.grouped { $0.reason?.key }
        let several = groups.filter { $0.count > 1 }.map {
            CauseGroup(heading: $0[0].reason?.heading, causes: $0)
        }
        let others = groups.filter { $0.count == 1 }.flatMap(\.self)
        guard !others.isEmpty else { return several }
        func best(_ causes: [DescribedCause]) -> Finding.Confidence {
            causes.compactMap(\.findings.first?.confidence).max() ?? .possible
        }
        // The list begins with the best finding, also if its failure has no group.
        if best(others) > best(several.flatMap(\.causes)) {
            return [CauseGroup(heading: nil, causes: others)] + several
        }
        return several + [CauseGroup(heading: several.isEmpty ? nil : "Others", causes: others)]
    }
}

/// The style and the script of the page: the files of the folder `Web`, which are built into the tool.
enum PageFiles {
    static let style = String(decoding: PackageResources.page_css, as: UTF8.self)

    /// The script, whose files share one scope.
    static let script =
        "(() => {\n\"use strict\";\n" + scripts.map { String(decoding: $0, as: UTF8.self) }.joined()
        + "})();\n"

    private static let scripts = [
        PackageResources.blocks_js, PackageResources.cells_js, PackageResources.states_js,
        PackageResources.list_js, PackageResources.timeline_js, PackageResources.grid_js,
        PackageResources.step_js, PackageResources.story_js, PackageResources.main_js,
    ]

    /// The policy of the page, which loads nothing and runs only its own script and style: their hashes are in it
    /// (<https://www.w3.org/TR/CSP3/#grammardef-hash-source>).
    static let policy =
        "default-src 'none'; style-src 'sha256-\(hash(of: style))'; "
        + "script-src 'sha256-\(hash(of: script))'; img-src data:; base-uri 'none'; form-action 'none'"

    private static func hash(of text: String) -> String {
        let bytes = Array(text.utf8)
        var hash = [UInt8](repeating: 0, count: 32)
        failure_artifacts_sha256(bytes, bytes.count, &hash)
        return JSONText.base64(hash)
    }
}
