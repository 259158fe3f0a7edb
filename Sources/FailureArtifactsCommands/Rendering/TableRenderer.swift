internal import FailureArtifactsAnalysis
internal import FailureArtifactsSQLite

/// Rows as an aligned table for a terminal.
///
/// The first rows are kept until the columns' widths are known; what comes later keeps to those widths. Cells
/// that do not fit are cut: the whole values are in the other forms.
struct TableRenderer: RowRenderer {
    /// How many rows decide on the widths.
    private static let sampleSize = 200
    private static let gap = "  "

    private let output: TextOutput
    private let width: Int
    private var columns: [String] = []
    private var sample: [[Value]] = []
    private var widths: [Int] = []
    private var isRight: [Bool] = []
    private var rowCount: Int64 = 0

    init(output: TextOutput, width: Int) {
        self.output = output
        self.width = width
    }

    mutating func begin(columns: [String]) throws {
        self.columns = columns.map(SafeText.cell)
    }

    mutating func write(row: [Value]) throws {
        rowCount += 1
        guard widths.isEmpty else { return try writeLine(of: row) }
        sample.append(row)
        if sample.count == Self.sampleSize { try writeSample() }
    }

    mutating func end() throws {
        guard !columns.isEmpty else { return }
        if widths.isEmpty { try writeSample() }
        try output.writeLine(output.styled("(\(Counted.items(rowCount, "row")))", .dim))
    }

    private mutating func writeSample() throws {
        let cells = sample.map { $0.map { Self.cell($0).text } }
        let natural = columns.indices.map { column in
            max(
                TextWidth.columns(of: columns[column]),
                cells.map { TextWidth.columns(of: $0[column]) }.max() ?? 0, 1)
        }
        isRight = columns.indices.map { column in
            !sample.isEmpty && sample.allSatisfy { Self.cell($0[column]).isNumber }
        }
        widths = Self.fit(natural, into: width - Self.gap.count * (columns.count - 1))
        let header = columns.indices.map { output.styled(cell(columns[$0], $0), .bold) }
        try output.writeLine(header.joined(separator: Self.gap))
        try output.writeLine(
            output.styled(
                widths.map { String(repeating: "─", count: $0) }.joined(separator: Self.gap), .dim))
        for row in sample { try writeLine(of: row) }
        sample = []
    }

    private func writeLine(of row: [Value]) throws {
        let cells = row.enumerated().map { column, value in
            let text = cell(Self.cell(value).text, column)
            return value == .null ? output.styled(text, .dim) : text
        }
        try output.writeLine(cells.joined(separator: Self.gap))
    }

    /// Text cut and aligned to its column; without spaces at the end of a line.
    private func cell(_ text: String, _ column: Int) -> String {
        let shortened = TextWidth.shortened(text, to: widths[column])
        if column == widths.count - 1, !isRight[column] { return shortened }
        return TextWidth.padded(shortened, to: widths[column], right: isRight[column])
    }

    /// Takes from the widest columns until all fit; none gets narrower than a few columns for that.
    static func fit(_ natural: [Int], into width: Int) -> [Int] {
        guard natural.reduce(0, +) > width else { return natural }
        var low = 6
        var high = natural.max() ?? 6
        // The largest cap with which the columns fit.
        while low < high {
            let middle = (low + high + 1) / 2
            if natural.reduce(0, { $0 + min($1, middle) }) <= width {
                low = middle
            } else {
                high = middle - 1
            }
        }
        return natural.map { min($0, low) }
    }

    private static func cell(_ value: Value) -> (text: String, isNumber: Bool) {
        switch value {
        case .null: return ("NULL", true)
        case .integer(let number): return (String(number), true)
        case .real(let number): return (ValueText.real(number), true)
        case .text(let text): return (SafeText.cell(text), false)
        case .blob(let bytes):
            // No terminal shows more.
            let shown = ValueText.hexadecimal(bytes.prefix(2048))
            return ("X'" + shown + (bytes.count > 2048 ? "…" : "'"), false)
        }
    }
}
