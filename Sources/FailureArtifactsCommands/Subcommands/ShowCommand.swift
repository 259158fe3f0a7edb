internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `show`: all about one bundle.
struct ShowCommand: Command {
    static let syntax = Syntax(
        command: "show", summary: "Show a bundle's failures, stores, schema and environment",
        positionals: [.bundle],
        options: [.json("An object: bundle, metadata.")])

    private let path: String
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        path = arguments.positionals[0]
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let metadata = try withSchemas(bundle, scratch: scratch, console)
            if isJSON {
                try console.output.writeLine(
                    JSONText.pretty(Report(bundle: bundle.location.description, metadata: metadata)))
            } else {
                let rendering = BundleText(output: console.output)
                for line in rendering.lines(metadata, bundle: bundle.location.description) {
                    try console.output.writeLine(line)
                }
            }
            return .done
        }
    }

    /// The metadata, with the schemas that it lacks read from the stores: earlier versions wrote none.
    private func withSchemas(
        _ bundle: BundleReader, scratch: String, _ console: Console
    ) throws -> BundleMetadata {
        var metadata = bundle.metadata
        for index in metadata.stores.indices where metadata.stores[index].schema == nil {
            let store = metadata.stores[index]
            guard let choice = metadata.storeChoices.first(where: { $0.name == store.name }),
                !choice.isCommitted
            else { continue }
            do {
                let file = try bundle.extract(choice, below: scratch)
                defer { try? FileSystem.remove(Path.directory(of: file)) }
                metadata.stores[index].setSchema(
                    try StoreSchema(
                        ofFile: file, maximumBytes: StoreInspection.maximumSchemaBytes))
            } catch let error as SQLiteError {
                try console.warn("The schema of store '\(choice.name)' is not shown: \(error).")
            }
        }
        return metadata
    }

    private struct Report: Encodable {
        var bundle: String
        var metadata: BundleMetadata
    }
}
