internal import FailureArtifactsAnalysis
internal import FailureArtifactsSQLite

/// Rows as CSV by RFC 4180, after a header line.
///
/// NULL is an empty field and empty text is `""`, so that a reader that looks at the quotes can tell them
/// apart. A BLOB is an SQL literal, `X'0A1B'`.
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
        // An empty line would be no row to most readers.
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
        case .blob(let bytes): "X'" + ValueText.hexadecimal(bytes) + "'"
        }
    }

    private static func field(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && !text.utf8.contains { byte in
                switch byte {
                case UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "\r"), UInt8(ascii: "\n"): true
                default: false
                }
            }
        if isPlain { return text }
        // By bytes: to a String, "\r\n" and a quote with a combining mark are one character each.
        var bytes: [UInt8] = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") { bytes.append(byte) }
            bytes.append(byte)
        }
        bytes.append(UInt8(ascii: "\""))
        return String(decoding: bytes, as: UTF8.self)
    }
}
