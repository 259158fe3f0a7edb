internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite

/// The readable description of a bundle that `show` prints.
struct BundleText {
    /// The content to show; the keys of the dictionaries are store names.
    struct Content: Encodable {
        var bundle: String
        var metadata: BundleMetadata
        var coreData: [String: CoreDataStore] = [:]
        /// The last statements of each store, oldest first.
        var statements: [String: [StatementRecord]] = [:]
        /// The versions of the SQLite that last wrote the stores.
        var sqlite: [String: String] = [:]
        /// The last lines of attached texts, by their entries.
        var attachedLines: [String: TextTail] = [:]
    }

    struct Parts {
        let isAll: Bool
        let hasStatements: Bool
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

    static let standardStatements = 5
    /// The number of stores that are described if not everything is shown.
    private static let describedStores = 3
    /// The maximum number of lines for tables, and for a Core Data model.
    private static let (maximumTables, maximumModelLines) = (10, 14)
    /// The maximum number of failures that are listed, and of rows on the screen for the message of a further one.
    private static let (shownFailures, furtherRows) = (3, 4)

    private let report: Content
    private let parts: Parts
    private let output: TextOutput
    private let statements: StatementText

    private var metadata: BundleMetadata { report.metadata }
    private var packageRoot: PackageRoot { PackageRoot(metadata) }

    init(_ report: Content, parts: Parts, output: TextOutput) {
        self.report = report
        self.parts = parts
        self.output = output
        statements = StatementText(output: output)
    }

    var lines: [String] {
        let sections =
            [heading, failures] + stores + [
                otherStores, parts.first(8, of: snapshots), parts.first(16, of: attachments),
                parts.first(8, of: warnings), parts.first(12, of: environment),
            ]
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
            let place = FailureText.place(of: failure, in: packageRoot).map(SafeText.line)
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

    // MARK: Stores

    /// The sections of the stores that the test used last, and one with a line for each other store.
    private var stores: [[String]] {
        func lastUse(_ store: BundleMetadata.Store) -> UInt64 {
            let log = report.statements[store.name] ?? []
            return log.last(where: TestStatements(in: log, of: store, metadata).contains)?.order ?? 0
        }
        let stores = metadata.stores.enumerated().sorted {
            let (a, b) = (lastUse($0.element), lastUse($1.element))
            return a != b ? a > b : $0.offset < $1.offset
        }.map(\.element)
        let isWhole = parts.hasStatements || parts.hasSchema
        let shown = isWhole ? stores[...] : stores.prefix(Self.describedStores)
        let rest = stores.dropFirst(shown.count).map { store in
            TextWidth.shortened(
                "  " + SafeText.line(store.name) + store.contentText,
                to: output.terminal?.width ?? 120)
        }
        let title = output.styled("Other stores", .heading) + " (described with --all)"
        return shown.flatMap { [description(of: $0), statements(of: $0)] }
            + [rest.isEmpty ? [] : [title] + parts.first(8, of: rest, "store")]
    }

    /// Returns the state of a store, its tables with their row counts, and its schema.
    private func description(of store: BundleMetadata.Store) -> [String] {
        var lines = [output.styled("Store \(SafeText.line(store.name))", .heading)]
        let facts = StoreFacts.lines(of: store, sqlite: report.sqlite[store.name], in: metadata)
        lines += facts.flatMap {
            TextWrap.message(SafeText.line($0), indent: 2, for: output)
        }
        if let coreData = report.coreData[store.name] {
            let model = CoreDataText.lines(coreData, hasAttributes: parts.hasSchema, output: output)
            lines +=
                [""]
                + (parts.hasSchema ? model : parts.first(Self.maximumModelLines, of: model, indent: 4))
            if !parts.hasSchema { lines.append("  Attributes and relationships: see --schema") }
        }
        if let tables = store.tables, !tables.isEmpty {
            lines += ["", "  " + output.styled("Tables", .bold)]
            let rows = Self.rows(of: tables).map { "    " + $0 }
            lines += parts.first(Self.maximumTables, of: rows, "table", indent: 4)
        }
        if let schema = store.schema, !schema.isEmpty, !parts.hasSchema {
            let count = schema.count + (store.schemaOmitted ?? 0)
            lines += ["", "  Schema: \(Counted.items(Int64(count), "object")) (all with --schema)"]
        } else if let schema = store.schema, !schema.isEmpty {
            lines += ["", "  " + output.styled("Schema", .bold)]
            for object in schema {
                lines += SafeText.lines(object.sql + ";").map { "    " + $0 }
            }
            if let omitted = store.schemaOmitted {
                lines.append("    and \(omitted) more: query 'SELECT sql FROM sqlite_master'")
            }
        }
        return lines
    }

    /// Returns lines such as `account  3 rows`, with aligned numbers.
    private static func rows(of tables: [BundleMetadata.Store.Table]) -> [String] {
        let names = tables.map { TextWidth.shortened(SafeText.line($0.name), to: 48) }
        let counts = tables.map { ($0.exact ? "" : "≥ ") + String($0.rows) }
        let nameWidth = names.map { TextWidth.columns(of: $0) }.max() ?? 0
        let countWidth = counts.map { TextWidth.columns(of: $0) }.max() ?? 0
        return tables.indices.map { index in
            TextWidth.padded(names[index], to: nameWidth) + "  "
                + TextWidth.padded(counts[index], to: countWidth, right: true)
                + (tables[index].rows == 1 ? " row" : " rows")
        }
    }

    private func statements(of store: BundleMetadata.Store) -> [String] {
        let name = metadata.stores.count > 1 ? " of \(SafeText.line(store.name))" : ""
        let log = report.statements[store.name] ?? []
        let earlier = log.filter { $0.phase == .earlier }
        var lines: [String] = []
        if !earlier.isEmpty, parts.isAll {
            lines.append(output.styled("Statements\(name) before the test", .heading))
            lines += earlier.flatMap { self.lines($0) } + [""]
        }
        let own = log.filter { $0.phase == .test }
        let limit = parts.hasStatements ? .max : Self.standardStatements
        let shown = visible(own).suffix(limit)
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
        return lines
    }

    /// Returns statements without those that say little about the data, unless they failed.
    private func visible(_ statements: [StatementRecord]) -> [StatementRecord] {
        if parts.hasStatements { return statements }
        return statements.filter { !$0.isQuiet || $0.hasFailed }
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
                TextWrap.message(packageRoot.relativePath(of: store.path), indent: 2, for: output)
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

enum CoreDataText {
    /// The maximum number of relationships and attributes listed for an entity.
    private static let limit = 60

    static func lines(
        _ store: CoreDataStore, hasAttributes: Bool, output: TextOutput
    ) -> [String] {
        var title = "Core Data"
        if let uuid = store.uuid { title += " " + uuid }
        var lines = ["  " + output.styled(SafeText.line(title), .bold)]
        for entity in store.entities where entity.superentity == nil {
            lines += self.lines(entity, of: store, hasAttributes: hasAttributes, indent: 4)
        }
        return lines
    }

    private static func lines(
        _ entity: CoreDataStore.Entity, of store: CoreDataStore, hasAttributes: Bool, indent: Int
    ) -> [String] {
        let heirs = store.entities.filter { $0.superentity == entity.name }
        var heading = entity.name
        if let rows = entity.rows { heading += "  " + Counted.items(rows, "object") }
        if !heirs.isEmpty, entity.rows != nil { heading += " of its own" }
        if let table = entity.table, entity.superentity == nil { heading += "  (\(table))" }
        if entity.table == nil { heading += "  (no table)" }
        let margin = String(repeating: " ", count: indent)
        var lines = [margin + SafeText.line(heading)]
        // A table's root entity lists the attributes and to-one relationships of its subentities, too.
        var parts = entity.attributes.map { "\($0.name) \($0.type)" }
        parts += entity.toOne.map {
            "\($0.name) → \($0.entity ?? "an object, or an indexed number")"
        }
        parts += store.links.filter { $0.source.entity == entity.name }
            .map { "\($0.target.name) →→ \($0.target.entity)" }
        if parts.count > limit { parts = parts.prefix(limit) + ["\(parts.count - limit) more"] }
        if hasAttributes { lines += parts.map { margin + "  " + SafeText.line($0) } }
        // The depth is limited. Entities that inherit from each other in a circle have no root and aren't listed.
        if indent < 40 {
            for heir in heirs {
                lines += self.lines(heir, of: store, hasAttributes: hasAttributes, indent: indent + 4)
            }
        }
        return lines
    }
}
