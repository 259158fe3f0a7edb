internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

/// `list`: prints one line for each bundle.
struct ListCommand: Command {
    static let syntax = Syntax(
        command: "list", summary: "List bundles, one per line", positionals: [.paths],
        options: [
            Syntax.Option(
                "--suite", value: "SUITE",
                help: "List only bundles of this suite; * matches any characters. Can be repeated."),
            Syntax.Option(
                "--outcome", value: "OUTCOME",
                kind: .words(BundleMetadata.Outcome.allCases.map(\.rawValue)),
                help:
                    "List only bundles with this outcome: failed, crashed, timedOut, terminated or passed. Can be "
                    + "repeated."),
            Syntax.Option(
                "--since", value: "TIME",
                help:
                    "List only bundles captured since a time in UTC (2026-11-21 or 2026-11-21T07:08), or within the "
                    + "last 90m, 12h or 3d."),
            Syntax.Option(
                "--sort", value: "KEY", kind: .words(ListOrder.words),
                help:
                    "Sort by time, suite, test, outcome, size or name. A dash before the key reverses the order: "
                    + "-time lists the latest first. By default, bundles are listed by runs, the newest last; with "
                    + "--json, they are sorted by path."),
            .json(
                "Print one JSON object per line, with the keys bundle, bytes, metadata and, if a later run in this "
                    + "directory recorded that the test passed, passedSince."),
            .noLimits,
        ],
        discussion: """
            A line has the outcome, the time of the failure in the local time zone, the test with its arguments \
            and the number of its attempt if it isn't the first, the failure, the number of stores, the bundle's size and \
            its name. On a terminal, lines are cut to fit. The eight digits at the end of a name identify a bundle: \
            failure-artifacts show DIR/1a2b3c4d

            Failures of tests that have passed since come first, and then each run of tests, the newest last. Without \
            'failure-artifacts run' and outside CI, bundles of one process are of one run. So are those of processes in \
            close succession, such as those of 'swift test --parallel', unless a test would occur twice.

            In a directory, a zip that contains neither a metadata.json nor bundles is skipped with a warning.
            """)

    private let paths: [String]
    private let isJSON: Bool
    private let filter: ListFilter
    private let order: ListOrder?

    init(_ arguments: ParsedArguments) throws {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
        filter = try ListFilter(arguments, Self.syntax)
        order = try arguments.value(of: "--sort").map { (text) throws(CommandError) in
            guard let order = ListOrder(text) else {
                let known = ListOrder.Key.allCases.map(\.rawValue).joined(separator: ", ")
                throw Self.syntax.valueError("--sort", text, needs: "one of \(known)")
            }
            return order
        }
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var lines: [BundleLine] = []
            var ranks: [ListOrder.Rank] = []
            var buffer = try DiskLineBuffer(in: scratch)
            var (seen, shown) = (0, 0)
            let (isJSON, filter, order) = (isJSON, filter, order)
            let passes = PassRecords()
            let code = try console.readBundles(
                at: paths, scratch: scratch,
                { location, archive, bytes -> Item? in
                    let metadata = try BundleReader(location, archive: archive).metadata
                    guard filter.contains(metadata) else { return nil }
                    let known = KnownBundle(metadata, at: location, passes: passes)
                    let rank = order?.rank(known, bytes: bytes)
                    guard isJSON else {
                        let line = BundleLine(known, metadata, bytes: bytes)
                        return Item(rank: rank, content: .line(line))
                    }
                    let entry = Entry(
                        bundle: location.description, bytes: bytes,
                        passedSince: known.hasPassedSince ? true : nil, metadata: metadata)
                    return Item(rank: rank, content: .json(try JSONText.line(entry)))
                },
                { item in
                    seen += 1
                    guard let item else { return }
                    shown += 1
                    if let rank = item.rank { ranks.append(rank) }
                    switch item.content {
                    case .line(let line): lines.append(line)
                    case .json(let text) where item.rank != nil: try buffer.append(text)
                    case .json(let text): try console.output.writeLine(text)
                    }
                })
            if isJSON {
                try buffer.forEach(in: order?.sorted(ranks) ?? []) { try console.output.writeLine($0) }
            } else {
                let sections =
                    order.map { [.init(lines: $0.sorted(ranks).map { lines[$0] })] }
                    ?? BundleLine.Section.all(lines)
                for line in BundleLine.text(of: sections, for: console.output) {
                    try console.output.writeLine(line)
                }
            }
            if seen > 0, shown == 0 {
                console.say("None of \(Counted.items(Int64(seen), "bundle")) is what was asked for.")
            }
            return code
        }
    }

    /// A bundle's data, kept until its line is printed.
    private struct Item: Sendable {
        enum Content: Sendable {
            case line(BundleLine)
            case json(String)
        }

        /// The sort key; nil if bundles are listed in the order they are read.
        let rank: ListOrder.Rank?
        let content: Content
    }

    /// The JSON form of a line.
    private struct Entry: Encodable {
        var bundle: String
        var bytes: UInt64
        var passedSince: Bool?
        var metadata: BundleMetadata
    }
}

/// Lines buffered on disk until they are printed.
///
/// Only their positions are in memory.
struct DiskLineBuffer: ~Copyable {
    private let file: File
    private var places: [(offset: UInt64, count: Int)] = []
    private var end: UInt64 = 0
    private var buffer: [UInt8] = []

    /// Creates an empty buffer.
    init(in directory: String) throws(SystemError) {
        file = try File(creating: Path.join(directory, "lines"))
    }

    mutating func append(_ line: String) throws(SystemError) {
        let count = line.utf8.count
        places.append((end + UInt64(buffer.count), count))
        buffer += Array(line.utf8)
        if buffer.count >= 1 << 20 { try flush() }
    }

    private mutating func flush() throws(SystemError) {
        try buffer.withBytes { (bytes) throws(SystemError) in try file.write(bytes, at: end) }
        end += UInt64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Passes the lines to `body` in the order of the given indices.
    mutating func forEach(in order: [Int], _ body: (String) throws -> Void) throws {
        try flush()
        for index in order {
            let (offset, count) = places[index]
            var bytes = [UInt8](repeating: 0, count: count)
            _ = try bytes.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: offset)
            }
            try body(String(decoding: bytes, as: UTF8.self))
        }
    }
}
