internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// What `list` says of a bundle.
struct BundleLine: Sendable {
    private let outcome: String
    private let style: TextOutput.Style
    private let time: String
    private let suite: String
    private let test: String
    private let message: String
    private let stores: String
    private let size: String
    private let name: String

    init(_ metadata: BundleMetadata, location: BundleLocation, bytes: UInt64) {
        outcome = metadata.outcome.label
        style = metadata.outcome.style
        time = SafeText.line(String(metadata.capture.at.prefix(19)).replacing("T", with: " "))
        suite = SafeText.line(metadata.test.suite)
        test = SafeText.line(metadata.test.title)
        let first = metadata.failures.first?.message ?? ""
        message = TextWidth.shortened(SafeText.line(FailureText.essence(of: first)), to: 100)
        stores = Counted.items(Int64(metadata.stores.count), "store")
        size = Counted.bytes(bytes)
        name = SafeText.line(location.name)
    }

    /// A column, by its place in the line.
    private enum Column: Int, CaseIterable {
        case outcome, time, test, message, stores, size, name
    }

    /// The lines, aligned; cut to the width of a terminal.
    ///
    /// - Parameters:
    ///   - lines: What is listed.
    ///   - hasTime: Whether it is said when they were captured.
    ///   - output: Where they go.
    /// - Returns: A line for each, without line ends.
    static func text(of lines: [BundleLine], hasTime: Bool, for output: TextOutput) -> [String] {
        guard !lines.isEmpty else { return [] }
        var layout = Layout(lines, hasTime: hasTime)
        if let terminal = output.terminal { layout.fit(into: terminal.width, lines) }
        return lines.map { $0.text(layout, output) }
    }

    /// The widths of the columns.
    private struct Layout {
        var columns: [Column]
        var widths: [Column: Int]
        var isNameShort = false

        init(_ lines: [BundleLine], hasTime: Bool) {
            columns = Column.allCases.filter { hasTime || $0 != .time }
            widths = [:]
            for column in columns {
                widths[column] = lines.map { TextWidth.columns(of: $0.cell(column)) }.max() ?? 0
            }
        }

        /// By how much the lines are too long; what they could be longer by is negative.
        private func excess(over width: Int) -> Int {
            columns.reduce(2 * (columns.count - 1) - width) { $0 + (widths[$1] ?? 0) }
        }

        /// Least is lost where first the message gives way, then the name, then what is the same mostly, and
        /// the test last.
        mutating func fit(into width: Int, _ lines: [BundleLine]) {
            let natural = widths[.message] ?? 0
            shrink(.message, to: 36, width)
            if excess(over: width) > 0 {
                isNameShort = true
                widths[.name] = lines.map { TextWidth.columns(of: $0.shortName) }.max() ?? 0
            }
            for column in [Column.stores, .size] where excess(over: width) > 0 {
                columns.removeAll { $0 == column }
            }
            shrink(.test, to: 32, width)
            shrink(.message, to: 24, width)
            shrink(.test, to: 20, width)
            shrink(.message, to: 8, width)
            // What that gave too much goes to the message.
            let room = -excess(over: width)
            if room > 0 { widths[.message] = min(natural, (widths[.message] ?? 0) + room) }
        }

        private mutating func shrink(_ column: Column, to least: Int, _ width: Int) {
            let current = widths[column] ?? 0
            widths[column] = current - min(max(excess(over: width), 0), max(current - least, 0))
        }
    }

    private func cell(_ column: Column) -> String {
        switch column {
        case .outcome: outcome
        case .time: time
        case .test: test
        case .message: message
        case .stores: stores
        case .size: size
        case .name: name
        }
    }

    private func text(_ layout: Layout, _ output: TextOutput) -> String {
        layout.columns.map { column in
            let width = layout.widths[column] ?? 0
            func padded(_ text: String) -> String {
                TextWidth.padded(
                    TextWidth.shortened(text, to: width), to: width, right: column == .size)
            }
            switch column {
            case .outcome: return output.styled(padded(outcome), style)
            case .test: return output.styled(padded(shortTest(width)), .bold)
            case .name: return output.styled(layout.isNameShort ? shortName : name, .dim)
            case .time, .message, .stores, .size: return padded(cell(column))
            }
        }.joined(separator: "  ")
    }

    /// The test in so many columns: of a long suite and a long name both are to be recognised.
    private func shortTest(_ width: Int) -> String {
        guard TextWidth.columns(of: test) > width, !suite.isEmpty, test.hasPrefix(suite + ".") else {
            return test
        }
        let name = String(test.dropFirst(suite.count + 1))
        let room = max(width / 3, width - 1 - TextWidth.columns(of: name))
        return TextWidth.shortened(suite, to: room) + "." + name
    }

    /// What tells a bundle's name from the others, and is enough to name it: `1a2b3c4d`.
    private var shortName: String { String(name.dropLast(4).suffix(8)) }
}

extension BundleMetadata.Outcome {
    /// How it is shown on a terminal.
    var style: TextOutput.Style {
        switch self {
        case .failed: .red
        case .crashed, .timedOut, .terminated: .yellow
        case .passed: .green
        }
    }
}
