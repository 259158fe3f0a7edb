internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// Rows as an aligned table for a terminal.
///
/// The first rows are buffered until the column widths are known. Later rows use the same widths. Cells that don't fit
/// are truncated; the other formats contain the full values.
struct TableRenderer: RowRenderer {
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

    /// Returns text truncated and aligned to its column, without spaces at the end of a line.
    private func cell(_ text: String, _ column: Int) -> String {
        let shortened = TextWidth.shortened(text, to: widths[column])
        if column == widths.count - 1, !isRight[column] { return shortened }
        return TextWidth.padded(shortened, to: widths[column], right: isRight[column])
    }

    /// Narrows the widest columns until all fit, but no column below a minimum width.
    static func fit(_ natural: [Int], into width: Int) -> [Int] {
        guard natural.reduce(0, +) > width else { return natural }
        var low = 6
        var high = natural.max() ?? 6
        // Finds the largest maximum width with which the columns fit.
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
            // Longer values don't fit on a terminal.
            let shown = hexadecimalText(bytes.prefix(2048))
            return ("X'" + shown + (bytes.count > 2048 ? "…" : "'"), false)
        }
    }
}

/// Writes the rows of a query one by one.
protocol RowRenderer {
    mutating func begin(columns: [String]) throws
    mutating func write(row: [Value]) throws
    mutating func end() throws
}

/// Rows as CSV (RFC 4180), after a header line.
///
/// NULL is an empty field and empty text is `""`, so that readers that check the quotes can distinguish them. A BLOB is
/// an SQL literal: `X'0A1B'`.
struct CSVRenderer: RowRenderer {
    private let output: TextOutput
    private var columnCount = 0

    init(output: TextOutput) {
        self.output = output
    }

    mutating func begin(columns: [String]) throws {
        columnCount = columns.count
        guard columnCount > 0 else { return }
        try output.write(columns.map(Self.field).joined(separator: ",") + "\r\n")
    }

    mutating func write(row: [Value]) throws {
        var line = row.map(Self.field).joined(separator: ",")
        // Most readers ignore an empty line, so the row is written as a quoted empty field.
        if line.isEmpty { line = "\"\"" }
        try output.write(line + "\r\n")
    }

    mutating func end() throws {}

    private static func field(_ value: Value) -> String {
        switch value {
        case .null: ""
        case .integer(let number): String(number)
        case .real(let number): ValueText.real(number)
        case .text(let text): field(text)
        case .blob(let bytes): "X'" + hexadecimalText(bytes) + "'"
        }
    }

    private static func field(_ text: String) -> String {
        guard text.isEmpty || text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else {
            return text
        }
        // Works on bytes, because a String treats "\r\n" and a quote with a combining mark as one character each.
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// Rows as a JSON array of objects, one row per line.
///
/// The objects keep the order of the columns, and rows are written as they arrive.
struct JSONRowRenderer: RowRenderer {
    private let stream: JSONStream
    private var keys: [String] = []

    init(output: TextOutput) { stream = JSONStream(output) }

    mutating func begin(columns: [String]) throws {
        keys = Self.distinct(columns)
        try stream.begin(.array)
    }

    mutating func write(row: [Value]) throws {
        try stream.write(.object(zip(keys, row).map { ($0, Self.json($1)) }))
    }

    mutating func end() throws { try stream.end() }

    /// Returns the names and adds a number to repeated names: `id`, `id_2`.
    static func distinct(_ names: [String]) -> [String] {
        var taken: Set<String> = []
        let all = Set(names)
        return names.map { name in
            var result = name
            var number = 1
            while taken.contains(result) || (number > 1 && all.contains(result)) {
                number += 1
                result = "\(name)_\(number)"
            }
            taken.insert(result)
            return result
        }
    }

    private static func json(_ value: Value) -> JSONValue {
        switch value {
        case .null: .null
        case .integer(let number): .integer(number)
        case .real(let number): .real(number)
        case .text(let text): .text(text)
        case .blob(let bytes): JSONValue(StoredValue(.blob(bytes)))
        }
    }
}
