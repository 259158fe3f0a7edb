package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSystem

/// Failures and their causes as [GitLab's code quality
/// report](https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format), which merge requests show.
///
/// Each failure is at the assertion's line, and the best finding of each cause at the culprit's line. GitLab needs a
/// path in the repository, so failures without one are left out; the JUnit report has them.
package enum CodeQualityText {
    /// The name of the file in the directory of bundles.
    package static let fileName = "gl-code-quality-report.json"
    /// The maximum number of entries.
    private static let entryLimit = 1000
    /// The maximum number of characters of a description.
    private static let descriptionLimit = 1000

    /// Returns the report as JSON; an empty array if there are no entries.
    ///
    /// Entries have different fingerprints, because GitLab keeps one entry for each.
    package static func text(for causes: [BundleCause], in files: RepositoryFiles) throws -> String {
        var fingerprints: Set<String> = []
        let entries = causes.flatMap { Self.entries(of: $0, files) }
            .filter { fingerprints.insert($0.fingerprint).inserted }
        return try JSONText.pretty(Array(entries.prefix(entryLimit))) + "\n"
    }

    private struct Entry: Encodable {
        enum CodingKeys: String, CodingKey {
            case checkName = "check_name"
            case description, fingerprint, location, severity
        }

        struct Location: Encodable {
            struct Lines: Encodable { let begin: Int }

            let path: String
            let lines: Lines
        }

        let checkName: String
        let description: String
        let fingerprint: String
        let location: Location
        let severity: String

        /// Creates an entry, whose fingerprint is made from the name, the path and `identity`.
        ///
        /// `identity` identifies the problem at its path, and is equal in later runs.
        init(
            _ checkName: String, _ description: String, severity: String, path: String, line: Int,
            identity: String
        ) {
            self.checkName = checkName
            self.description = TextWidth.shortened(
                SafeText.line(description), to: CodeQualityText.descriptionLimit)
            self.severity = severity
            location = Location(path: path, lines: .init(begin: line))
            var hash = FNV1a()
            hash.add([checkName, path, identity].joined(separator: "\u{0}").utf8)
            let digits = String(hash.value, radix: 16)
            fingerprint = String(repeating: "0", count: 16 - digits.count) + digits
        }
    }

    private static func entries(of cause: BundleCause, _ files: RepositoryFiles) -> [Entry] {
        var entries = cause.failures.flatMap { Self.entries(of: $0.first, files) }
        if let finding = cause.finding, let source = finding.source, source.isInPackage,
            let (path, line) = place(source.file, source.line, files)
        {
            let severities: [Finding.Confidence: String] = [.certain: "major", .likely: "minor"]
            entries.append(
                Entry(
                    finding.code.rawValue, "\(finding.label): \(finding.line)",
                    severity: severities[finding.confidence] ?? "info", path: path, line: line,
                    identity: finding.line))
        }
        return entries
    }

    /// Returns the entries of a test's failures.
    private static func entries(of bundle: ReportedBundle, _ files: RepositoryFiles) -> [Entry] {
        let title = "\(bundle.title) \(bundle.outcome.label)"
        return bundle.failures.enumerated().compactMap { index, failure -> Entry? in
            guard let (path, line) = place(failure.file, failure.line, files) else { return nil }
            let message = FailureText.essence(of: failure.message)
            let identity =
                bundle.fingerprint.isEmpty ? title + "\u{0}" + message : bundle.fingerprint
            return Entry(
                "test-failure", message.isEmpty ? title : title + ": " + message,
                severity: bundle.outcome == .failed ? "major" : "critical", path: path, line: line,
                identity: "\(identity)\u{0}\(index)")
        }
    }

    /// Returns a place in the repository; nil if it is unknown or elsewhere.
    private static func place(
        _ file: String?, _ line: Int?, _ files: RepositoryFiles
    ) -> (String, Int)? {
        guard let line, line > 0, let path = file.flatMap(files.path), SafeText.line(path) == path else {
            return nil
        }
        return (path, line)
    }
}
