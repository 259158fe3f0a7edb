internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// A bundle's line in the output of `list`.
struct BundleLine: Sendable {
    let bundle: KnownBundle
    private let outcome: String
    private let style: TextOutput.Style
    private let time: String
    private let suite: String
    private var test: String
    private let message: String
    private let stores: String
    private let size: String
    private let name: String

    init(_ bundle: KnownBundle, _ metadata: BundleMetadata, bytes: UInt64) {
        self.bundle = bundle
        outcome = metadata.outcome.label
        style = metadata.outcome.style
        time = LocalTime.text(bundle.at)
        suite = SafeText.line(metadata.test.suite)
        test = SafeText.line(bundle.title)
        message = TextWidth.abridged(FailureText.headline(of: metadata.failures.first), to: 100)
        stores = Counted.items(Int64(metadata.stores.count), "store")
        size = Counted.bytes(bytes)
        name = SafeText.line(bundle.location.name)
    }

    /// A column of the line, in display order.
    private enum Column: Int, CaseIterable {
        case outcome, time, test, message, stores, size, name

        var heading: String {
            switch self {
            case .outcome: "result"
            case .time: "time"
            case .test: "test"
            case .message: "message"
            case .stores: "stores"
            case .size: "size"
            case .name: "bundle"
            }
        }
    }

    /// A part of the list: the failures of tests that have passed since, or the bundles of a run.
    struct Section {
        var title = ""
        let lines: [BundleLine]

        /// Returns the bundles of tests that have passed since, and then those of each run, newest last.
        static func all(_ lines: [BundleLine]) -> [Section] {
            var bundles = lines.map(\.bundle)
            KnownBundle.markPasses(in: &bundles)
            let runs = KnownBundle.runs(of: bundles)
            let passed = runs.joined().filter { bundles[$0].hasPassedSince }
            let sections = runs.map { $0.filter { !bundles[$0].hasPassedSince } }.map { run in
                Section(
                    title: run.first.map { "Run of \(lines[$0].time)" } ?? "",
                    lines: run.map { lines[$0] })
            }
            return
                ([Section(title: "Passed since, in a later run", lines: passed.map { lines[$0] })]
                + sections).filter { !$0.lines.isEmpty }
        }
    }

    /// Returns the aligned lines, truncated to the width of a terminal.
    ///
    /// - `sections`: the bundles to list. Several sections have headings.
    static func text(of sections: [Section], for output: TextOutput) -> [String] {
        var sections = sections.map { ($0.title, $0.lines) }
        let count = markAlikes(in: &sections)
        guard count > 0 else { return [] }
        let all = sections.flatMap { $0.1 }
        var layout = Layout(all)
        if let terminal = output.terminal { layout.fit(into: terminal.width, all) }
        let blocks = sections.map { title, lines in
            (sections.count > 1 ? [output.styled(title, .heading)] : [])
                + lines.map { $0.text(layout, output) }
        }
        return (output.terminal == nil ? [] : [layout.heading(output)])
            + blocks.joined(separator: [""])
    }

    /// Adds the places of the failures to the tests of bundles that would otherwise differ in their names only.
    private static func markAlikes(in sections: inout [(String, [BundleLine])]) -> Int {
        func text(_ line: BundleLine) -> [String] { [line.outcome, line.time, line.test, line.message] }
        var counts: [[String]: Int] = [:]
        for line in sections.flatMap({ $0.1 }) { counts[text(line), default: 0] += 1 }
        for section in sections.indices {
            for index in sections[section].1.indices {
                let line = sections[section].1[index]
                guard counts[text(line), default: 0] > 1, let place = line.bundle.place else { continue }
                sections[section].1[index].test += " at " + SafeText.line(place)
            }
        }
        return counts.values.reduce(0, +)
    }

    /// The widths of the columns.
    private struct Layout {
        var columns: [Column]
        var widths: [Column: Int]
        var isNameShort = false

        init(_ lines: [BundleLine]) {
            columns = Column.allCases
            widths = [:]
            for column in columns {
                widths[column] = lines.map { TextWidth.columns(of: $0.cell(column)) }.max() ?? 0
            }
        }

        /// Returns the line with the names of the columns.
        func heading(_ output: TextOutput) -> String {
            let names = columns.map { column in
                let width = widths[column] ?? 0
                return TextWidth.padded(
                    TextWidth.shortened(column.heading, to: width), to: width, right: column == .size)
            }
            var line = names.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            return output.styled(line, .dim)
        }

        /// Returns the number of columns beyond `width`; a negative number is the free space.
        private func excess(over width: Int) -> Int {
            columns.reduce(2 * (columns.count - 1) - width) { $0 + (widths[$1] ?? 0) }
        }

        /// Shortens or removes columns until the lines fit.
        ///
        /// The order loses the least information: first the message, then the name, then the stores and the size, which
        /// are often the same in all lines. The test is shortened last.
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
            // Space that is left over goes to the message.
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
            case .message: return TextWidth.padded(TextWidth.abridged(message, to: width), to: width)
            case .time, .stores, .size: return padded(cell(column))
            }
        }.joined(separator: "  ")
    }

    /// Returns the test in `width` columns, so that both a long suite and a long name remain recognisable.
    private func shortTest(_ width: Int) -> String {
        guard TextWidth.columns(of: test) > width, !suite.isEmpty, test.hasPrefix(suite + ".") else {
            return test
        }
        let name = String(test.dropFirst(suite.count + 1))
        let room = max(width / 3, width - 1 - TextWidth.columns(of: name))
        return TextWidth.shortened(suite, to: room) + "." + name
    }

    /// The part of the name that identifies a bundle and is accepted as an argument: `1a2b3c4d`.
    private var shortName: String { String(name.dropLast(4).suffix(8)) }
}

extension BundleMetadata.Outcome {
    /// The style on a terminal.
    var style: TextOutput.Style {
        switch self {
        case .failed: .red
        case .crashed, .timedOut, .terminated: .yellow
        case .passed: .green
        }
    }
}
