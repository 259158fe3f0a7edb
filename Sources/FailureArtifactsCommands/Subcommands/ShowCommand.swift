internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

struct ShowCommand: Command {
    static let syntax = Syntax(
        command: "show", summary: "Show a bundle's failures, stores and environment",
        positionals: [.bundle],
        options: [
            Syntax.Option(
                "--all",
                help:
                    "Show everything. By default, long messages lack their middle, three stores are described, and "
                    + "some lists are cut."),
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
                "Print a JSON object. It has the bundle's path (bundle) and its metadata. By the name of the store, it "
                    + "has the entities of a Core Data store (coreData), the statements (statements), and the version "
                    + "of the SQLite that last wrote it (sqlite). By entry, it has the last lines of attached texts "
                    + "(attachedLines: lines, earlierLines)."),
            .timeLimit, .noLimits,
        ])

    /// The maximum number of attached texts whose last lines are shown, and of these lines.
    private static let shownTexts = 5
    private static let shownLines = 5

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path, listingOthersFor: Self.syntax.command) { bundle, scratch in
            let content = try content(of: bundle, scratch: scratch, console)
            let parts = BundleText.Parts(
                isAll: arguments.has("--all"), hasStatements: arguments.has("--statements"),
                hasSchema: arguments.has("--schema"))
            try write(content, console) {
                BundleText(content, parts: parts, output: console.output).lines
            }
            return .done
        }
    }

    private func content(
        of bundle: BundleReader, scratch: String, _ console: Console
    ) throws -> BundleText.Content {
        var content = BundleText.Content(
            bundle: bundle.location.description,
            metadata: bundle.inspectedMetadata(below: scratch))
        for store in content.metadata.stores {
            do {
                var log = StatementLines.applied(to: try bundle.statements(of: store))
                try? QueryPlan.add(to: &log, of: store, in: bundle, below: scratch)
                if !log.isEmpty { content.statements[store.name] = log }
            } catch {
                try console.warn(
                    "The statements of store '\(store.name)' are not shown: \(CommandError(error))")
            }
            content.sqlite[store.name] = bundle.writerVersion(of: store)
            content.coreData[store.name] = try coreData(in: store, of: bundle, scratch, console)
        }
        for attachment in bundle.metadata.attachments {
            guard content.attachedLines.count < Self.shownTexts, let entry = attachment.entry else {
                continue
            }
            content.attachedLines[entry] = TextTail(
                of: attachment, in: bundle, lines: Self.shownLines)
        }
        return content
    }

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
