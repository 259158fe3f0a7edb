internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// `list`: prints one line for each bundle.
struct ListCommand: Command {
    static let syntax = Syntax(
        command: "list", summary: "List bundles, one per line", positionals: [.paths],
        options: [
            .json(
                "Print one JSON object per line, sorted by path, with the keys bundle, bytes, metadata and, if a later "
                    + "run in this directory recorded that the test passed, passedSince."),
            .noLimits,
        ],
        discussion: """
            A line has the outcome, the time of the failure in the local time zone, the test with its arguments \
            and the number of its attempt if it isn't the first, the failure, and the bundle's name. On a terminal, \
            lines are cut to fit. The eight digits at the end of a name identify a bundle: failure-artifacts show \
            DIR/1a2b3c4d

            Failures of tests that have passed since come first, and then each run of tests, the newest last. Without \
            'failure-artifacts run' and outside CI, bundles of one process are of one run. So are those of processes in \
            close succession, such as those of 'swift test --parallel', unless a test would occur twice.

            In a directory, a zip that contains neither a metadata.json nor bundles is skipped with a warning.
            """)

    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var lines: [BundleLine] = []
            let isJSON = isJSON
            let passes = PassRecords()
            let code = try console.readBundles(
                at: paths, scratch: scratch,
                { location, archive, bytes -> Item in
                    let metadata = try BundleReader(location, archive: archive).metadata
                    let known = KnownBundle(metadata, at: location, passes: passes)
                    guard isJSON else { return .line(BundleLine(known, metadata)) }
                    let entry = Entry(
                        bundle: location.description, bytes: bytes,
                        passedSince: known.hasPassedSince ? true : nil, metadata: metadata)
                    return .json(try JSONText.line(entry))
                },
                { item in
                    switch item {
                    case .line(let line): lines.append(line)
                    case .json(let text): try console.output.writeLine(text)
                    }
                })
            for line in BundleLine.text(of: lines, for: console.output) {
                try console.output.writeLine(line)
            }
            return code
        }
    }

    /// A bundle's data. JSON isn't kept until the end, so that a list of any length needs little memory.
    private enum Item: Sendable {
        case line(BundleLine)
        case json(String)
    }

    /// The JSON form of a line.
    private struct Entry: Encodable {
        var bundle: String
        var bytes: UInt64
        var passedSince: Bool?
        var metadata: BundleMetadata
    }
}
