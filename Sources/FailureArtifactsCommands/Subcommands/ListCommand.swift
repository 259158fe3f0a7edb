internal import FailureArtifactsBundle

/// `list`: a line for each bundle.
struct ListCommand: Command {
    static let syntax = Syntax(
        command: "list", summary: "List bundles, one a line", positionals: [.paths],
        options: [.json("One object a line: bundle, bytes, metadata."), .noLimits],
        discussion: """
            A line has the outcome, the test, its first failure, how many stores there are, the bundle's \
            size and its name. On a terminal the line is cut to fit. The eight digits at the end of a name \
            are enough to name a bundle: failure-artifacts show DIR/1a2b3c4d

            In a directory, a zip that has no metadata.json and no bundles in it is passed over with a \
            warning.
            """)

    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        var lines: [BundleLine] = []
        let isJSON = isJSON
        let code = try console.withScratchDirectory { scratch in
            try console.readBundles(
                at: paths, scratch: scratch,
                { location, archive, bytes in
                    let metadata = try BundleReader(location, archive: archive).metadata
                    guard isJSON else {
                        return Item.line(BundleLine(metadata, location: location, bytes: bytes))
                    }
                    let entry = Entry(bundle: location.description, bytes: bytes, metadata: metadata)
                    return Item.json(try JSONText.line(entry))
                },
                { item in
                    switch item {
                    case .line(let line): lines.append(line)
                    case .json(let text): try console.output.writeLine(text)
                    }
                })
        }
        for line in BundleLine.text(of: lines, for: console.output) {
            try console.output.writeLine(line)
        }
        return code
    }

    /// What is kept of a bundle until its turn comes.
    private enum Item: Sendable {
        case line(BundleLine)
        case json(String)
    }

    /// The JSON form of a line.
    private struct Entry: Encodable {
        var bundle: String
        var bytes: UInt64
        var metadata: BundleMetadata
    }
}
