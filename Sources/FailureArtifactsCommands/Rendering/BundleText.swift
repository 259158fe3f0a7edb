internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

/// The readable description of a bundle that `show` prints.
struct BundleText {
    /// The content to show.
    ///
    /// The keys of the dictionaries are store names.
    struct Content: Encodable {
        var bundle: String
        var metadata: BundleMetadata
        /// The first findings, best first; nil without findings.
        var findings: [Finding]?
        var uncommitted: [String: UncommittedChanges] = [:]
        var lastTransaction: [String: LastTransaction] = [:]
        var coreData: [String: CoreDataStore] = [:]
        /// The last statements of each store, oldest first.
        var statements: [String: [StatementRecord]] = [:]
        /// The changes of watched files.
        var changedFiles: [FileTree] = []
        /// The last lines of attached texts, by their entries.
        var attachedLines: [String: TextTail] = [:]
        /// The package root, as far as it is known; not part of the JSON form.
        var packageRoot: PackageRoot?

        private enum CodingKeys: String, CodingKey {
            case bundle, metadata, findings, uncommitted, lastTransaction, coreData, statements
            case changedFiles, attachedLines
        }
    }

    private let output: TextOutput
    private let statements: StatementText

    init(output: TextOutput) {
        self.output = output
        statements = StatementText(output: output)
    }

    /// Returns all lines.
    ///
    /// - Parameters:
    ///   - report: The content to show.
    ///   - limit: The maximum number of statements for each store; nil for all.
    ///   - hasSchema: True to list the objects of the schema.
    ///   - hasOtherStores: True to list the stores that are only named.
    /// - Returns: Lines without line endings.
    func lines(
        _ report: Content, statements limit: Int?, hasSchema: Bool, hasOtherStores: Bool = false
    ) -> [String] {
        let (metadata, uncommitted) = (report.metadata, report.uncommitted)
        var sections = [
            heading(metadata, bundle: report.bundle), failures(metadata, in: report.packageRoot),
        ]
        sections.append(findings(report.findings ?? [], hasCallers: limit == nil))
        sections += metadata.stores.flatMap { story(of: $0, report, limit) }
        for store in metadata.stores {
            sections.append(
                StoreText(output: output).lines(
                    store, uncommitted: uncommitted[store.name], coreData: report.coreData[store.name],
                    hasSchema: hasSchema, in: metadata))
        }
        sections.append(otherStores(metadata, areListed: hasOtherStores))
        sections.append(snapshots(metadata))
        sections.append(FileText(output: output).lines(report.changedFiles))
        sections.append(attachments(report))
        sections.append(warnings(metadata))
        sections.append(environment(metadata))
        return Array(sections.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private func heading(_ metadata: BundleMetadata, bundle: String) -> [String] {
        let test = metadata.test
        var facts = "\(test.framework), \(MetadataTime.text(metadata.capture.at))"
        if test.attempt > 1 { facts += ", attempt \(test.attempt)" }
        return [
            Self.title(test.title, metadata.outcome, for: output),
            SafeText.line(facts), output.styled(SafeText.line(bundle), .dim),
        ]
    }

    /// Returns the test and its outcome, such as `LedgerTests.testMarch failed`.
    static func title(
        _ test: String, _ outcome: BundleMetadata.Outcome, for output: TextOutput
    ) -> String {
        output.styled(SafeText.line(test), .bold) + " " + output.styled(outcome.label, outcome.style)
    }

    private func failures(_ metadata: BundleMetadata, in root: PackageRoot?) -> [String] {
        guard !metadata.failures.isEmpty else { return [] }
        var lines = [output.styled(metadata.failures.count == 1 ? "Failure" : "Failures", .heading)]
        for failure in metadata.failures {
            let place = FailureText.place(of: failure, in: root).map(SafeText.line)
            lines.append("  " + (place ?? "at an unknown place"))
            lines += TextWrap.message(
                FailureText.essence(of: failure.message), indent: 4, for: output)
        }
        return lines
    }

    private func findings(_ findings: [Finding], hasCallers: Bool) -> [String] {
        guard let first = findings.first else { return [] }
        let text = FindingText(output: output.narrowed(by: 2), hasCallers: hasCallers)
        var lines = [output.styled("Findings", .heading)]
        lines += text.lines(first, number: 1).map { "  " + $0 }
        for (index, finding) in findings.enumerated().dropFirst() {
            lines += text.title(finding, number: index + 1).map { "  " + $0 }
        }
        if findings.count > 1 {
            lines.append(output.styled("  See 'explain' for their rows and lines.", .dim))
        }
        return lines
    }

    /// Returns the sections with the last transaction before the failure and with the last statements.
    private func story(
        of store: BundleMetadata.Store, _ report: Content, _ limit: Int?
    ) -> [[String]] {
        let name = report.metadata.stores.count > 1 ? " of \(SafeText.line(store.name))" : ""
        var sections: [[String]] = []
        if let last = report.lastTransaction[store.name] {
            let end = report.metadata.outcome == .passed ? "end" : "failure"
            let title = "Last transaction\(name) before the \(end)"
            let coreData = report.coreData[store.name]
            let text = last.changes.text(after: title) { coreData?.title(ofTable: $0) ?? $0 }
            var lines = TextWrap.message(text, indent: 0, for: output)
            if let rest = lines.first?.dropFirst(title.count), lines[0].hasPrefix(title) {
                lines[0] = output.styled(title, .heading) + rest
            }
            let shown = last.statements.suffix(limit ?? last.statements.count)
            if shown.count < last.statements.count {
                let count = Int64(last.statements.count - shown.count)
                lines.append("  \(Counted.items(count, "more statement")), then")
            }
            sections.append(lines + statements.lines(shown, after: "  "))
        }
        var lines: [String] = []
        let log = report.statements[store.name] ?? []
        if !log.isEmpty {
            let shown = log.suffix(limit ?? log.count)
            let title = output.styled("Last statements\(name)", .heading)
            let isPart = shown.count < log.count
            lines.append(
                title + (isPart ? ", \(shown.count) of \(log.count) (all with --statements)" : "")
            )
            lines += shown.flatMap {
                statements.lines(
                    $0, after: "  \(StatementText.time($0))  ",
                    isWhole: limit == nil || $0.order == log.last?.order, hasCaller: limit == nil)
            }
        }
        if let reason = store.statements?.reason {
            lines.append(output.styled(SafeText.line("Statements\(name): \(reason)"), .yellow))
        }
        return sections + [lines]
    }

    private func snapshots(_ metadata: BundleMetadata) -> [String] {
        guard let snapshots = metadata.snapshots, !snapshots.isEmpty else { return [] }
        var lines = [output.styled("Snapshots", .heading)]
        for snapshot in snapshots {
            for store in snapshot.stores {
                let tables = store.tables.map { ": " + $0.summary } ?? ""
                let at = MetadataTime.text(snapshot.at)
                lines.append(SafeText.line("  \(snapshot.label)/\(store.name), \(at)\(tables)"))
            }
        }
        return lines
    }

    private func otherStores(_ metadata: BundleMetadata, areListed: Bool) -> [String] {
        guard let others = metadata.otherStores, !others.isEmpty else { return [] }
        guard areListed else {
            let count = Counted.items(Int64(others.count), "other store")
            return [
                "Not captured: \(count) that the process had open (--all lists them)"
            ]
        }
        return [output.styled("Not captured", .heading)]
            + others.flatMap { store in
                TextWrap.message(store.path, indent: 2, for: output)
                    + TextWrap.message(store.reason, indent: 4, for: output)
            }
    }

    private func attachments(_ report: Content) -> [String] {
        guard !report.metadata.attachments.isEmpty else { return [] }
        var lines = [output.styled("Attachments", .heading)]
        for attachment in report.metadata.attachments {
            lines.append(
                "  "
                    + SafeText.line(
                        "\(attachment.entry ?? attachment.name) (\(Counted.bytes(attachment.bytes)))"
                            + (attachment.entry == nil ? ", not kept" : "")))
            guard let tail = attachment.entry.flatMap({ report.attachedLines[$0] }) else { continue }
            if tail.earlierLines > 0 {
                lines.append(
                    output.styled("    … after \(Counted.items(Int64(tail.earlierLines), "line"))", .dim)
                )
            }
            lines += tail.lines.map { "    " + SafeText.line($0) }
        }
        return lines
    }

    private func warnings(_ metadata: BundleMetadata) -> [String] {
        guard !metadata.warnings.isEmpty else { return [] }
        return [output.styled("Warnings", .heading)]
            + metadata.warnings.flatMap { TextWrap.message($0.text, indent: 2, for: output) }
            .map { output.styled($0, .yellow) }
    }

    private func environment(_ metadata: BundleMetadata) -> [String] {
        let environment = metadata.environment
        var lines = [
            output.styled("Environment", .heading),
            "  \(environment.operatingSystem), \(environment.architecture)",
            "  Swift \(environment.swift), SQLite \(environment.sqlite), process \(environment.processID)",
        ]
        if let ci = environment.ci {
            lines.append("  " + ci.service)
            lines += ci.variables.sorted { $0.key < $1.key }.map { "    \($0.key)=\($0.value)" }
        }
        return [lines[0]] + lines.dropFirst().map(SafeText.line)
    }
}
