internal import FailureArtifactsBundle

/// What `list` says of a bundle.
struct BundleLine: Sendable {
    private let outcome: String
    private let isCrash: Bool
    private let test: String
    private let message: String
    private let stores: String
    private let size: String
    private let name: String

    init(_ metadata: BundleMetadata, location: BundleLocation, bytes: UInt64) {
        outcome = metadata.outcome.label
        isCrash = metadata.outcome != .failed
        test = SafeText.line(metadata.test.title)
        let first = metadata.failures.first?.message ?? ""
        message = TextWidth.shortened(SafeText.line(FailureText.essence(of: first)), to: 100)
        stores = Counted.items(Int64(metadata.stores.count), "store")
        size = Counted.bytes(bytes)
        name = SafeText.line(location.name)
    }

    /// The lines, aligned; cut to the width of a terminal.
    static func text(of lines: [BundleLine], for output: TextOutput) -> [String] {
        let columns: [KeyPath<BundleLine, String>] = [
            \.outcome, \.test, \.message, \.stores, \.size, \.name,
        ]
        var widths = columns.map { column in
            lines.map { TextWidth.columns(of: $0[keyPath: column]) }.max() ?? 0
        }
        var isNameShort = false
        if let terminal = output.terminal {
            // Least is lost where first the message gives way, then the name, then the test.
            var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - terminal.width
            shrink(&widths[2], to: 36, by: &excess)
            if excess > 0 {
                isNameShort = true
                let short = lines.map { TextWidth.columns(of: $0.shortName) }.max() ?? 0
                excess -= widths[5] - short
                widths[5] = short
                // What that gave too much goes to the message.
                if excess < 0 {
                    widths[2] -= excess
                    excess = 0
                }
            }
            shrink(&widths[2], to: 24, by: &excess)
            shrink(&widths[1], to: 20, by: &excess)
            shrink(&widths[2], to: 8, by: &excess)
        }
        return lines.map { $0.text(widths, isNameShort: isNameShort, output) }
    }

    private static func shrink(_ width: inout Int, to least: Int, by excess: inout Int) {
        let give = min(max(excess, 0), max(width - least, 0))
        width -= give
        excess -= give
    }

    private func text(_ widths: [Int], isNameShort: Bool, _ output: TextOutput) -> String {
        func cell(_ text: String, _ column: Int, right: Bool = false) -> String {
            let width = widths[column]
            return TextWidth.padded(TextWidth.shortened(text, to: width), to: width, right: right)
        }
        return [
            output.styled(cell(outcome, 0), isCrash ? .yellow : .red),
            output.styled(cell(test, 1), .bold),
            cell(message, 2), cell(stores, 3), cell(size, 4, right: true),
            output.styled(isNameShort ? shortName : name, .dim),
        ].joined(separator: "  ")
    }

    /// What tells a bundle's name from the others, and is enough to name it: `1a2b3c4d.zip`.
    private var shortName: String { String(name.suffix(12)) }
}
