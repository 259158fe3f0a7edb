internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

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

            Failures of tests that have passed since come first, and then the others, the newest last.

            In a directory, a zip that contains neither a metadata.json nor bundles is skipped with a warning.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var lines: [BundleLine] = []
            let isJSON = isJSON
            let passes = PassRecords()
            let code = try console.readBundles(
                at: arguments.positionals, scratch: scratch,
                { location, archive, bytes -> Item in
                    let metadata = try BundleReader(location, archive: archive).metadata
                    let known = KnownBundle(metadata, at: location, passes: passes)
                    guard isJSON else { return .line(BundleLine(known, metadata)) }
                    let entry: JSONObject = [
                        "bundle": location.description, "bytes": bytes,
                        "passedSince": known.hasPassedSince ? true : nil, "metadata": metadata,
                    ]
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

    /// A bundle's data; JSON isn't kept until the end, so that a list of any length needs little memory.
    private enum Item: Sendable {
        case line(BundleLine)
        case json(String)
    }
}

/// A bundle's line in the output of `list`: its result, time, test, message and name.
struct BundleLine: Sendable {
    let bundle: KnownBundle
    private let time: String
    private let test: String
    private let message: String

    init(_ bundle: KnownBundle, _ metadata: BundleMetadata) {
        self.bundle = bundle
        time = LocalTime.text(bundle.at)
        test = TextWidth.shortened(SafeText.line(bundle.title), to: 300)
        message = TextWidth.abridged(FailureText.headline(of: metadata.failures.first), to: 100)
    }

    /// Returns the lines of bundles, the newest last; failures of tests that have passed since come first, under a
    /// heading.
    static func text(of lines: [BundleLine], for output: TextOutput) -> [String] {
        var bundles = lines.map(\.bundle)
        KnownBundle.markPasses(in: &bundles)
        let sorted = lines.indices.sorted { (bundles[$0].at, $0) < (bundles[$1].at, $1) }
        var sections = [
            ("Passed since, in a later run", sorted.filter { bundles[$0].hasPassedSince }),
            ("Others", sorted.filter { !bundles[$0].hasPassedSince }),
        ]
        sections.removeAll { $0.1.isEmpty }
        let layout = Layout(lines, output.terminal)
        let blocks = sections.map { title, indices in
            (sections.count > 1 ? [output.styled(title, .heading)] : [])
                + indices.map { lines[$0].text(layout, output) }
        }
        return Array(blocks.joined(separator: [""]))
    }

    private struct Layout {
        let outcome: Int
        var test: Int
        var message: Int
        /// True if only the digits of a name are shown.
        let hasShortNames: Bool
        // A narrow terminal has room for the time only after the message, and for both only after the test.
        var hasTime = true
        var hasMessage = true

        /// The columns that the test and the message need at least.
        private static let leastRoom = 28

        init(_ lines: [BundleLine], _ terminal: Terminal?) {
            func width(_ text: (BundleLine) -> String) -> Int {
                lines.map { TextWidth.columns(of: text($0)) }.max() ?? 0
            }
            outcome = width(\.bundle.outcome.label)
            test = width(\.test)
            message = width(\.message)
            hasShortNames = terminal != nil
            guard let terminal else { return }
            let gap = BundleLine.gap.count
            var room = terminal.width - outcome - width(\.shortName) - 2 * gap
            hasMessage = room - gap >= Self.leastRoom
            if hasMessage { room -= gap }
            hasTime = room - width(\.time) - gap >= Self.leastRoom
            if hasTime { room -= width(\.time) + gap }
            if !hasMessage { message = 0 }
            test = min(test, max(room * 3 / 5, room - message, 8))
            message = hasMessage ? min(message, room - test) : 0
        }
    }

    private func text(_ layout: Layout, _ output: TextOutput) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            TextWidth.padded(TextWidth.shortened(text, to: width), to: width)
        }
        let outcome = bundle.outcome
        let message = TextWidth.padded(
            TextWidth.abridged(message, to: layout.message), to: layout.message)
        return [
            output.styled(padded(outcome.label, layout.outcome), outcome.style),
            layout.hasTime ? time : nil, output.styled(padded(test, layout.test), .bold),
            layout.hasMessage ? message : nil,
            output.styled(layout.hasShortNames ? shortName : name, .dim),
        ].compactMap(\.self).joined(separator: Self.gap)
    }

    private static let gap = "  "

    private var name: String { TextWidth.abridged(SafeText.line(bundle.location.name), to: 300) }

    /// The part of the name that identifies a bundle and is accepted as an argument: `1a2b3c4d`.
    private var shortName: String { String(name.dropLast(4).suffix(8)) }
}

extension BundleMetadata.Outcome {
    var style: TextOutput.Style {
        switch self {
        case .failed: .red
        case .crashed, .timedOut, .terminated: .yellow
        case .passed: .green
        }
    }
}
