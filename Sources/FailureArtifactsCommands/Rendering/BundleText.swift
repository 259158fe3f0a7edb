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
        /// The changes of the open transactions.
        var uncommitted: [String: UncommittedChanges] = [:]
        var lastTransaction: [String: LastTransaction] = [:]
        var coreData: [String: CoreDataStore] = [:]
        /// The last statements of each store, oldest first.
        var statements: [String: [StatementRecord]] = [:]
        /// The versions of the SQLite that last wrote the stores.
        var sqlite: [String: String] = [:]
        /// The changes of watched files.
        /// The last lines of attached texts, by their entries.
        var attachedLines: [String: TextTail] = [:]
        /// The package root, as far as it is known; not part of the JSON form.
        var packageRoot: PackageRoot

        private enum CodingKeys: String, CodingKey {
            case bundle, metadata, findings, uncommitted, lastTransaction, coreData, statements, sqlite
            case attachedLines
        }
    }

    /// The parts that are shown in full.
    struct Parts {
        /// True to show everything.
        let isAll: Bool
        /// True to show all statements of the test.
        let hasStatements: Bool
        /// True to show the schemas of stores.
        let hasSchema: Bool

        init(isAll: Bool = false, hasStatements: Bool = false, hasSchema: Bool = false) {
            self.isAll = isAll
            self.hasStatements = isAll || hasStatements
            self.hasSchema = isAll || hasSchema
        }

        /// Returns the first lines of a list, and a line with the number of the others if there are more.
        func first(
            _ count: Int, of lines: [String], _ noun: String = "line", indent: Int = 2
        ) -> [String] {
            // The last line takes the place of one of the list.
            guard !isAll, lines.count > count else { return lines }
            let more = Counted.items(Int64(lines.count - count + 1), "more \(noun)")
            return lines.prefix(count - 1)
                + [String(repeating: " ", count: indent) + "and \(more) (all with --all)"]
        }
    }

    /// The default number of statements shown for a store.
    static let standardStatements = 5
    /// The number of lines that the output has if it isn't asked for everything, and nothing in it is unusually long.
    private static let screen = 60
    /// The maximum number of failures that are listed, and of rows on the screen for the message of a further one.
    private static let (shownFailures, furtherRows) = (3, 4)

    private let report: Content
    private let parts: Parts
    private let output: TextOutput
    private let statements: StatementText

    private var metadata: BundleMetadata { report.metadata }

    init(_ report: Content, parts: Parts, output: TextOutput) {
        self.report = report
        self.parts = parts
        self.output = output
        statements = StatementText(output: output)
    }

    /// All lines, without line endings.
    var lines: [String] {
        let start = [heading, failures, findings]
        let end = [
            otherStores, parts.first(8, of: snapshots),
            parts.first(16, of: attachments), parts.first(8, of: warnings),
            parts.first(12, of: environment),
        ]
        let used = (start + end).reduce(0) { $0 + $1.count + ($1.isEmpty ? 0 : 1) }
        let sections = start + stores(in: Self.screen - used) + end
        return Array(sections.filter { !$0.isEmpty }.joined(separator: [""]))
    }

    private var heading: [String] {
        let test = metadata.test
        var facts = "\(test.framework), \(MetadataTime.text(metadata.capture.at))"
        if test.attempt > 1 { facts += ", attempt \(test.attempt)" }
        return [
            Self.title(test.title, metadata.outcome, for: output),
            SafeText.line(facts), output.styled(SafeText.line(report.bundle), .dim),
        ]
    }

    /// Returns the test and its outcome, such as `LedgerTests.testMarch failed`.
    static func title(
        _ test: String, _ outcome: BundleMetadata.Outcome, for output: TextOutput
    ) -> String {
        output.styled(SafeText.line(test), .bold) + " " + output.styled(outcome.label, outcome.style)
    }

    private var failures: [String] {
        let failures = metadata.failures
        guard !failures.isEmpty else { return [] }
        var lines = [output.styled(failures.count == 1 ? "Failure" : "Failures", .heading)]
        let shown = parts.isAll ? failures[...] : failures.prefix(Self.shownFailures)
        for (index, failure) in shown.enumerated() {
            let place = FailureText.place(of: failure, in: report.packageRoot).map(SafeText.line)
            lines.append("  " + (place ?? "at an unknown place"))
            let rows = index == 0 ? FindingText.messageRows : Self.furtherRows
            lines += TextWrap.excerpt(
                of: FailureText.essence(of: failure.message), rows: parts.isAll ? nil : rows, indent: 4,
                for: output)
        }
        let rest = failures.count - shown.count
        if rest > 0 {
            lines.append("  and \(Counted.items(Int64(rest), "more failure")) (all with --all)")
        }
        return lines
    }

    private var findings: [String] {
        let findings = report.findings ?? []
        guard !findings.isEmpty else { return [] }
        let text = FindingText(
            isAll: parts.isAll, output: output.narrowed(by: 2), hasCallers: parts.hasStatements)
        var lines = [output.styled("Findings", .heading)]
        let shown = findings.prefix(parts.isAll ? .max : Explanation.standardCount)
        for (index, finding) in shown.enumerated() {
            let isWhole = parts.isAll || index == 0
            lines += (isWhole ? text.lines : text.title)(finding, index + 1).map { "  " + $0 }
        }
        let rest = findings.count - shown.count
        if rest > 0 {
            lines.append("  and \(Counted.items(Int64(rest), "more finding")) (all with --all)")
        }
        if findings.count > 1, !parts.isAll {
            lines.append(output.styled("  See 'explain' for their rows and lines.", .dim))
        }
        return lines
    }

    // MARK: Stores

    /// Returns the sections of the stores that matter most, as far as they fit, and one with a line for each other
    /// store.
    ///
    /// - `room`: the number of lines for all sections. One store is always described.
    private func stores(in room: Int) -> [[String]] {
        let stores = metadata.stores
        let details = stores.map { (story: story(of: $0), description: description(of: $0)) }
        var room = room
        var shown: Set<Int> = []
        for index in byImportance(stores) {
            let sections = details[index].story + [details[index].description]
            let count = sections.reduce(0) { $0 + $1.count + ($1.isEmpty ? 0 : 1) }
            guard parts.hasStatements || parts.hasSchema || shown.isEmpty || count <= room else {
                break
            }
            shown.insert(index)
            room -= count
        }
        let indices = shown.sorted()
        let rest = stores.indices.filter { !shown.contains($0) }.map { index in
            let name = "  " + SafeText.line(stores[index].name)
            return TextWidth.shortened(
                name + stores[index].contentText, to: output.terminal?.width ?? 120)
        }
        let title = output.styled("Other stores", .heading) + " (described with --all)"
        return indices.flatMap { details[$0].story } + indices.map { details[$0].description }
            + [rest.isEmpty ? [] : [title] + parts.first(8, of: rest, "store")]
    }

    /// Returns the indices of stores: first those of findings, and then those that the test used last.
    private func byImportance(_ stores: [BundleMetadata.Store]) -> [Int] {
        let names = (report.findings ?? []).map(\.store)
        let ranks = stores.map { store in
            (
                names.firstIndex(of: store.name) ?? .max,
                report.statements[store.name]?.last { $0.phase == .test }?.order ?? 0
            )
        }
        return stores.indices.sorted { first, second in
            let (a, b) = (ranks[first], ranks[second])
            return a.0 != b.0 ? a.0 < b.0 : a.1 != b.1 ? a.1 > b.1 : first < second
        }
    }

    private func description(of store: BundleMetadata.Store) -> [String] {
        StoreText(parts: parts, output: output, packageRoot: report.packageRoot).lines(
            store, uncommitted: report.uncommitted[store.name], coreData: report.coreData[store.name],
            sqlite: report.sqlite[store.name], in: metadata)
    }

    /// Returns the sections with the last transaction before the failure and with the last statements.
    private func story(of store: BundleMetadata.Store) -> [[String]] {
        let name = metadata.stores.count > 1 ? " of \(SafeText.line(store.name))" : ""
        var sections: [[String]] = []
        let limit = parts.hasStatements ? .max : Self.standardStatements
        if let last = report.lastTransaction[store.name] {
            let end = metadata.outcome == .passed ? "end" : "failure"
            let title = "Last transaction\(name) before the \(end)"
            let coreData = report.coreData[store.name]
            let text = last.changes.text(after: title) { coreData?.title(ofTable: $0) ?? $0 }
            var lines = TextWrap.message(text, indent: 0, for: output)
            if let rest = lines.first?.dropFirst(title.count), lines[0].hasPrefix(title) {
                lines[0] = output.styled(title, .heading) + rest
            }
            let shown = visible(last.statements).suffix(limit)
            if shown.count < last.statements.count {
                let count = Int64(last.statements.count - shown.count)
                lines.append("  \(Counted.items(count, "more statement")), then")
            }
            sections.append(lines + statements.lines(shown, after: "  "))
        }
        let log = report.statements[store.name] ?? []
        let earlier = log.filter { $0.phase == .earlier }
        if !earlier.isEmpty, parts.isAll {
            let title = output.styled("Statements\(name) before the test", .heading)
            sections.append([title] + earlier.flatMap { self.lines($0) })
        }
        let own = log.filter { $0.phase == .test }
        let shown = visible(own).suffix(limit)
        var lines: [String] = []
        if !own.isEmpty {
            let isPart = shown.count < own.count
            let title =
                store.statements?.reason == nil ? "Last statements" : "Last statements in the log"
            lines.append(
                output.styled("\(title)\(name)", .heading)
                    + (isPart ? ", \(shown.count) of \(own.count) (all with --statements)" : ""))
            lines += shown.flatMap { self.lines($0, isWhole: $0.order == shown.last?.order) }
        }
        if !earlier.isEmpty, !parts.isAll {
            let count = Counted.items(Int64(earlier.count), "earlier statement")
            lines.append("\(count)\(own.isEmpty ? name : ""), from before the test (shown with --all)")
        }
        if let reason = store.statements?.reason {
            lines.append(output.styled(SafeText.line("Statements\(name): \(reason)"), .yellow))
        }
        return sections + [lines]
    }

    /// Returns statements without those that say little about the data, unless a finding is about them or they failed.
    private func visible(_ statements: [StatementRecord]) -> [StatementRecord] {
        if parts.hasStatements { return statements }
        let named = Set((report.findings ?? []).compactMap(\.statement?.order))
        return statements.filter { !$0.isQuiet || $0.hasFailed || named.contains($0.order) }
    }

    private func lines(_ statement: StatementRecord, isWhole: Bool = false) -> [String] {
        statements.lines(
            statement, after: "  \(StatementText.time(statement))  ",
            isWhole: isWhole || parts.hasStatements, hasCaller: parts.hasStatements)
    }

    private var snapshots: [String] {
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

    private var otherStores: [String] {
        guard let others = metadata.otherStores, !others.isEmpty else { return [] }
        guard parts.isAll else {
            let count = Counted.items(Int64(others.count), "other store")
            return [
                "Not captured: \(count) that the process had open (--all lists them)"
            ]
        }
        return [output.styled("Not captured", .heading)]
            + others.flatMap { store in
                TextWrap.message(report.packageRoot.relativePath(of: store.path), indent: 2, for: output)
                    + TextWrap.message(store.reason, indent: 4, for: output)
            }
    }

    private var attachments: [String] {
        guard !metadata.attachments.isEmpty else { return [] }
        var lines = [output.styled("Attachments", .heading)]
        for attachment in metadata.attachments {
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

    private var warnings: [String] {
        guard !metadata.warnings.isEmpty else { return [] }
        return [output.styled("Warnings", .heading)]
            + metadata.warnings.flatMap { TextWrap.message($0.text, indent: 2, for: output) }
            .map { output.styled($0, .yellow) }
    }

    private var environment: [String] {
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

/// The last transaction of a store before the failure.
struct LastTransaction: Encodable, Equatable {
    /// The changes that the transaction made.
    var changes: UncommittedChanges
    /// The transaction's statements, if they are known; otherwise empty.
    var statements: [StatementRecord]
}
