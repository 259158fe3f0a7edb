internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// A bundle's line in the output of `list`: its result, time, test, message and name.
struct BundleLine: Sendable {
    let bundle: KnownBundle
    private let time: String
    private let test: String
    private let message: String

    init(_ bundle: KnownBundle, _ metadata: BundleMetadata) {
        self.bundle = bundle
        time = LocalTime.text(bundle.at)
        test = SafeText.line(bundle.title)
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

        init(_ lines: [BundleLine], _ terminal: Terminal?) {
            func width(_ text: (BundleLine) -> String) -> Int {
                lines.map { TextWidth.columns(of: text($0)) }.max() ?? 0
            }
            outcome = width(\.bundle.outcome.label)
            test = width(\.test)
            message = width(\.message)
            hasShortNames = terminal != nil
            guard let terminal else { return }
            let others = outcome + width(\.time) + width(\.shortName) + 4 * 2
            let room = max(terminal.width - others, 28)
            test = min(test, max(room * 3 / 5, room - message))
            message = min(message, room - test)
        }
    }

    private func text(_ layout: Layout, _ output: TextOutput) -> String {
        func padded(_ text: String, _ width: Int) -> String {
            TextWidth.padded(TextWidth.shortened(text, to: width), to: width)
        }
        let outcome = bundle.outcome
        return [
            output.styled(padded(outcome.label, layout.outcome), outcome.style), time,
            output.styled(padded(test, layout.test), .bold),
            TextWidth.padded(TextWidth.abridged(message, to: layout.message), to: layout.message),
            output.styled(layout.hasShortNames ? shortName : name, .dim),
        ].joined(separator: "  ")
    }

    private var name: String { SafeText.line(bundle.location.name) }

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
