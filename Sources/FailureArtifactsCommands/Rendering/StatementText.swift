internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle

/// Logged statements for people.
enum StatementText {
    /// `INSERT INTO player VALUES (?) (1 row)`, on one line; a long text is cut.
    static func line(_ record: StatementRecord, width: Int) -> String {
        var notes: [String] = []
        if let changes = record.changes, changes > 0 {
            notes.append(Counted.items(Int64(changes), "row"))
        }
        if let duration = record.duration { notes.append(Self.duration(duration)) }
        if let error = record.error {
            notes.append("error \(error.code): \(SafeText.line(error.message))")
        }
        let note = notes.isEmpty ? "" : "  (\(notes.joined(separator: ", ")))"
        // Lines and indentation of the source do not matter here.
        let words = record.sql.split(whereSeparator: \.isWhitespace).prefix(2000)
        let sql = SafeText.line(words.joined(separator: " ")) + (record.cut == true ? " …" : "")
        return TextWidth.shortened(sql, to: max(width - TextWidth.columns(of: note), 40)) + note
    }

    /// `07:08:09.123`: the day is that of the failure.
    static func time(_ record: StatementRecord) -> String {
        guard let start = record.at.firstIndex(of: "T") else { return SafeText.line(record.at) }
        return SafeText.line(String(record.at[record.at.index(after: start)...].prefix { $0 != "Z" }))
    }

    private static func duration(_ seconds: Double) -> String {
        let microseconds = seconds * 1_000_000
        if microseconds < 1000 { return "\(Int(max(microseconds, 0).rounded())) µs" }
        let milliseconds = microseconds / 1000
        if milliseconds < 1000 { return "\(Int(milliseconds.rounded())) ms" }
        return milliseconds < 1e12 ? "\(Int((milliseconds / 1000).rounded())) s" : "long"
    }
}
