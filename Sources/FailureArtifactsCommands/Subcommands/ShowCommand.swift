internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `show`: prints the full description of one bundle.
struct ShowCommand: Command {
    static let syntax = Syntax(
        command: "show", summary: "Show a bundle's failures, stores and environment",
        positionals: [.bundle],
        options: [
            Syntax.Option(
                "--all",
                help:
                    "Show everything. By default, the output fits on a screen: long messages lack their middle, one "
                    + "store is described, or more if there is room, and some lists are cut."),
            Syntax.Option(
                "--statements",
                help:
                    "Show all recorded statements of the test. By default, the last \(BundleText.standardStatements) of a store."
            ),
            Syntax.Option(
                "--schema",
                help:
                    "Show the SQL that creates tables, indexes, triggers and views, and the attributes of Core Data's "
                    + "entities."),
            .json(
                "Print a JSON object. It has the bundle's path (bundle), its metadata, the findings as in "
                    + "'explain' (findings), and the changes of watched files with the lines that differ "
                    + "(changedFiles). By the name of the store, it has the changes of the open transaction "
                    + "(uncommitted), those of the last one (lastTransaction: changes, statements), the entities of a "
                    + "Core Data store (coreData), the statements (statements), and the version of the SQLite that "
                    + "last wrote it (sqlite). By entry, it has the last lines of "
                    + "attached texts (attachedLines: lines, earlierLines)."),
            .timeLimit, .noLimits,
        ])

    /// The maximum number of attached texts whose last lines are shown, and of these lines.
    private static let shownTexts = 5
    private static let shownLines = 5

    private let path: String
    private let isJSON: Bool
    private let parts: BundleText.Parts

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        isJSON = arguments.has("--json")
        parts = BundleText.Parts(
            isAll: arguments.has("--all"), hasStatements: arguments.has("--statements"),
            hasSchema: arguments.has("--schema"))
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path, listingOthersFor: Self.syntax.command) { bundle, scratch in
            let content = try content(of: bundle, scratch: scratch, console)
            if isJSON {
                try console.output.writeLine(JSONText.pretty(content))
            } else {
                let text = BundleText(content, parts: parts, output: console.output)
                for line in text.lines { try console.output.writeLine(line) }
            }
            return .done
        }
    }

    /// Reads all that is shown of a bundle, within the time limit.
    private func content(
        of bundle: BundleReader, scratch: String, _ console: Console
    ) throws -> BundleText.Content {
        var content = BundleText.Content(
            bundle: bundle.location.description,
            metadata: try withSchemas(bundle, scratch: scratch, console),
            packageRoot: PackageRoot(bundle.metadata))
        let choices = bundle.metadata.storeChoices
        let copies = Dictionary(
            choices.filter { !$0.isCommitted }.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        for store in bundle.metadata.stores {
            try checkTime(console)
            let log = try statements(of: store, in: bundle, console)
            if !log.isEmpty { content.statements[store.name] = log }
            content.sqlite[store.name] = bundle.writerVersion(of: store)
            content.lastTransaction[store.name] = try lastTransaction(
                of: store, copy: copies[store.name], log, in: bundle, scratch, console)
        }
        for store in bundle.metadata.stores {
            try checkTime(console)
            content.coreData[store.name] = try coreData(in: store, of: bundle, scratch, console)
        }
        for attachment in bundle.metadata.attachments {
            try checkTime(console)
            guard content.attachedLines.count < Self.shownTexts, let entry = attachment.entry else {
                continue
            }
            content.attachedLines[entry] = TextTail(
                of: attachment, in: bundle, lines: Self.shownLines)
        }
        for choice in choices where choice.name == choice.store.name {
            try checkTime(console)
            content.uncommitted[choice.name] = try uncommitted(
                in: choice, among: choices, of: bundle, scratch, console)
        }
        if bundle.metadata.outcome != .passed {
            try checkTime(console)
            let evidence = FailureEvidence(bundle, scratch: scratch, limits: console.limits.store)
            content.packageRoot = evidence.packageRoot
            let explanation = Explanation(evidence, bundle: bundle.location.description)
            if !explanation.findings.isEmpty { content.findings = explanation.findings }
            content.changedFiles = explanation.files
        }
        return content
    }

    /// Reads what a store's last transaction changed; if that can't be read, warns and returns nil.
    private func lastTransaction(
        of store: BundleMetadata.Store, copy: StoreChoice?, _ log: [StatementRecord],
        in bundle: BundleReader, _ scratch: String, _ console: Console
    ) throws -> LastTransaction? {
        do {
            return try LastTransaction.read(
                of: store, copy: copy, log: log, in: bundle, scratch: scratch)
        } catch {
            try console.warn(
                "The last transaction of store '\(store.name)' is not shown: \(CommandError(error))")
            return nil
        }
    }

    /// Reads a store's log of statements; if it is damaged, warns and returns no statements.
    private func statements(
        of store: BundleMetadata.Store, in bundle: BundleReader, _ console: Console
    ) throws -> [StatementRecord] {
        do {
            return StatementLines.applied(to: try bundle.statements(of: store))
        } catch {
            try console.warn(
                "The statements of store '\(store.name)' are not shown: \(CommandError(error))")
            return []
        }
    }

    private func checkTime(_ console: Console) throws(CommandError) {
        guard console.time.isOver else { return }
        throw CommandError(
            .inputOutput, "'\(path)' takes too long to be shown. \(CommandError.limitsHint)")
    }

    /// Returns the metadata with missing schemas read from the stores.
    ///
    /// Earlier versions wrote no schemas.
    private func withSchemas(
        _ bundle: BundleReader, scratch: String, _ console: Console
    ) throws -> BundleMetadata {
        var metadata = bundle.metadata
        let choices = Dictionary(
            metadata.storeChoices.filter { !$0.isCommitted }.map { ($0.name, $0) },
            uniquingKeysWith: { first, _ in first })
        for index in metadata.stores.indices where metadata.stores[index].schema == nil {
            let store = metadata.stores[index]
            guard let choice = choices[store.name] else { continue }
            try checkTime(console)
            do {
                let file = try bundle.extract(choice, below: scratch)
                defer { try? FileSystem.remove(Path.directory(of: file)) }
                metadata.stores[index].setSchema(
                    try StoreSchema(
                        of: Connection.untrusted(file),
                        maximumBytes: StoreInspection.maximumSchemaBytes))
            } catch let error as SQLiteError {
                try console.warn("The schema of store '\(choice.name)' is not shown: \(error).")
            }
        }
        return metadata
    }

    /// Returns the changes of the open transaction; nil if there was none or the changes can't be determined.
    private func uncommitted(
        in choice: StoreChoice, among choices: [StoreChoice], of bundle: BundleReader,
        _ scratch: String, _ console: Console
    ) throws -> UncommittedChanges? {
        // The stores of snapshots, of which there may be many, are named in the text but not described.
        guard choice.store.committedEntry != nil, let committed = choice.committed(among: choices) else {
            return nil
        }
        do {
            let file = try bundle.extract(choice, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: file)) }
            let other = try bundle.extract(committed, below: scratch)
            defer { try? FileSystem.remove(Path.directory(of: other)) }
            return try UncommittedChanges.compare(committed: other, seen: file, timeLimit: 1)
        } catch {
            try console.warn(
                "What was not committed in store '\(choice.name)' is not shown: \(CommandError(error))")
            return nil
        }
    }

    /// Returns the Core Data description of a store; nil for other stores.
    private func coreData(
        in store: BundleMetadata.Store, of bundle: BundleReader, _ scratch: String, _ console: Console
    ) throws -> CoreDataStore? {
        guard Set((store.tables ?? []).map(\.name)).isSuperset(of: ["Z_METADATA", "Z_PRIMARYKEY"]),
            let choice = bundle.metadata.storeChoices.first(where: {
                $0.name == store.name && !$0.isCommitted
            })
        else { return nil }
        do {
            let connection = try Connection.untrusted(
                try bundle.extract(choice, below: scratch), limits: console.limits.store)
            connection.setDeadline(Instant.now.advanced(bySeconds: 1))
            return try CoreDataStore.read(connection, counts: true)
        } catch {
            try console.warn(
                "The entities of store '\(store.name)' are not shown: \(CommandError(error))")
            return nil
        }
    }
}
