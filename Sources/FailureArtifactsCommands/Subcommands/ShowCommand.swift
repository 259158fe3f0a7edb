internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `show`: all about one bundle.
struct ShowCommand: Command {
    static let syntax = Syntax(
        command: "show", summary: "Show a bundle's failures, stores, schema and environment",
        positionals: [.bundle],
        options: [.json("An object: bundle, metadata, and schemas by the name of the store.")])

    private let path: String
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            var report = Report(
                bundle: bundle.location.description, metadata: bundle.metadata, schemas: [:])
            for choice in bundle.metadata.storeChoices where !choice.isCommitted {
                do {
                    let file = try bundle.extract(choice, below: scratch)
                    defer { try? FileSystem.remove(Path.directory(of: file)) }
                    report.schemas[choice.name] = try Schema.objects(ofStoreAt: file)
                } catch let error as SQLiteError {
                    try console.warn("The schema of store '\(choice.name)' is not shown: \(error).")
                }
            }
            if isJSON {
                try console.output.writeLine(JSONText.pretty(report))
            } else {
                let rendering = BundleText(output: console.output)
                for line in rendering.lines(report.metadata, report.schemas, bundle: report.bundle) {
                    try console.output.writeLine(line)
                }
            }
            return .done
        }
    }

    private struct Report: Encodable {
        var bundle: String
        var metadata: BundleMetadata
        /// By the name of the store.
        var schemas: [String: [Schema.Object]]
    }
}
