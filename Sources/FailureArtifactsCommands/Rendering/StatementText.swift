internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

struct StatementText {
    /// The minimum number of columns for a statement beside other text.
    private static let minimumColumns = 40
    /// The maximum number of columns of a statement that is wrapped.
    private static let maximumColumns = 1000

    let output: TextOutput

    /// Returns the lines of a transaction's first statements, and one with the number of the others.
    func lines(of records: some Collection<StatementRecord>, _ limit: Int) -> [String] {
        let lines = records.prefix(limit).flatMap { self.lines($0, after: "     ", style: .dim) }
        let rest = Int64(records.count - limit)
        return lines
            + (rest > 0 ? ["     and \(Counted.items(rest, "more statement")); see --json"] : [])
    }

    /// Returns lines such as `INSERT INTO player VALUES (?)  (1 row)  Team.add(_:) Sources/Team/Team.swift:42`.
    ///
    /// Notes and the place get lines of their own if they don't fit beside the statement. The caller and the query plan
    /// follow.
    ///
    /// - `isWhole`: true to wrap a long statement, up to 1,000 columns. Otherwise it is truncated to one line.
    func lines(
        _ record: StatementRecord, after start: String, style: TextOutput.Style? = nil,
        isWhole: Bool = false, hasCaller: Bool = false
    ) -> [String] {
        let width = max(output.terminal?.width ?? 120, 40)
        let room = width - TextWidth.columns(of: start)
        let indent = start.prefix { $0 == " " }.count + 2
        func styled(_ text: String) -> String { style.map { output.styled(text, $0) } ?? text }

        // The line breaks and indentation of the source are removed.
        let count = Int64(record.repeated ?? 1)
        // The executions may have different values.
        let text = count > 1 ? "\(Counted.number(count)) times: \(record.sql)" : record.sqlWithValues
        let words = text.split(whereSeparator: \.isWhitespace).prefix(2000)
        let sql = SafeText.line(words.joined(separator: " ")) + (record.cut == true ? " …" : "")
        let needed = min(TextWidth.columns(of: sql), Self.minimumColumns)
        let note = Self.note(on: record)
        let noteColumns = note.isEmpty ? 0 : 2 + TextWidth.columns(of: note)
        let place = record.source.map(Place.init)
        let placeColumns = place.map { 2 + $0.columns } ?? 0

        let hasNote = needed + noteColumns <= room
        let hasPlace = hasNote && needed + noteColumns + placeColumns <= room
        let used = (hasNote ? noteColumns : 0) + (hasPlace ? placeColumns : 0)
        let isWrapped = isWhole && TextWidth.columns(of: sql) > room - used
        var lines: [String]
        if isWrapped {
            let text = TextWidth.shortened(sql, to: Self.maximumColumns)
            let first = TextWidth.columns(of: start)
            lines = TextWrap.lines(of: text, width: width, indent: indent, firstIndent: first)
            lines[0] = start + lines[0].dropFirst(first)
            if TextWidth.columns(of: lines[lines.count - 1]) + noteColumns > width {
                lines += TextWrap.lines(of: note, width: width, indent: indent)
            } else if !note.isEmpty {
                lines[lines.count - 1] += "  " + note
            }
            lines = lines.map(styled)
        } else {
            var line = start + TextWidth.abridged(sql, to: room - used)
            if hasNote, !note.isEmpty { line += "  " + note }
            line = styled(line)
            if hasPlace, let place { line += "  " + place.text(for: output) }
            lines = [line]
            if !hasNote { lines += TextWrap.lines(of: note, width: width, indent: indent).map(styled) }
        }
        let margin = String(repeating: " ", count: indent)
        func limit(_ used: Int) -> Int? { output.terminal.map { _ in width - used } }
        if isWrapped || !hasPlace, let place {
            lines.append(margin + place.text(for: output, columns: limit(indent)))
        }
        if hasCaller { lines += callerLine(of: record, indent: indent) }
        for line in record.shownPlan {
            let line = TextWidth.shortened(margin + SafeText.line(line), to: width)
            lines.append(output.styled(line, .dim))
        }
        return lines
    }

    /// Returns the note on a statement, its line and its caller, for a statement that is shown already.
    func placeLines(of record: StatementRecord, after start: String) -> [String] {
        let place = record.source.map { Place($0).text(for: output) }
        let parts = [Self.note(on: record), place ?? ""].filter { !$0.isEmpty }
        let line = start + parts.joined(separator: "  ")
        return (line.allSatisfy { $0 == " " } ? [] : [line]) + callerLine(of: record, indent: 5)
    }

    private func callerLine(of record: StatementRecord, indent: Int) -> [String] {
        let label = "called from "
        let room = output.terminal.map { max($0.width, 40) - indent - label.count }
        return record.shownCallers.map { caller in
            String(repeating: " ", count: indent) + output.styled(label, .dim)
                + Place(caller).text(for: output, columns: room)
        }
    }

    /// Returns the time of day, such as `07:08:09.123456`; the day is the day of the failure.
    static func time(_ record: StatementRecord) -> String {
        TextWidth.shortened(SafeText.line(MetadataTime.timeOfDay(record.at)), to: 16)
    }

    /// Returns text such as `(1 row, 4 ms)`; empty if nothing is known.
    private static func note(on record: StatementRecord) -> String {
        var notes: [String] = []
        if let rows = record.changedRows { notes.append(Counted.items(Int64(rows), "row")) }
        if record.ownChanges == 0, let changes = record.changes {
            notes.append("\(Counted.number(Int64(changes))) by triggers")
        }
        if let duration = record.duration.flatMap(DurationText.short) { notes.append(duration) }
        notes += record.queryFacts
        if let error = record.error {
            notes.append("error \(error.code): \(SafeText.line(error.message))")
        } else if let failure = record.failureText {
            notes.append(failure)
        }
        return notes.isEmpty ? "" : "(\(notes.joined(separator: ", ")))"
    }
}

private struct Place {
    private static let maximumColumns = 300
    /// The minimum number of columns of a function that is truncated.
    private static let minimumColumns = 12

    private let function: String
    private let line: String

    init(_ source: StatementRecord.Source) {
        function = Self.safe(source.function ?? "")
        line = Self.safe(source.file) + ":\(source.line)"
    }

    private static func safe(_ text: String) -> String {
        TextWidth.shortened(SafeText.line(text), to: maximumColumns)
    }

    var columns: Int {
        let columns = TextWidth.columns(of: line)
        return function.isEmpty ? columns : columns + 1 + TextWidth.columns(of: function)
    }

    /// Returns the text; the function is truncated if it is too long.
    func text(for output: TextOutput, columns limit: Int? = nil) -> String {
        let line = output.styled(line, .dim)
        guard !function.isEmpty else { return line }
        let room = limit.map { max($0 - TextWidth.columns(of: self.line) - 1, Self.minimumColumns) }
        return output.styled(TextWidth.shortened(function, to: room ?? .max), .dim) + " " + line
    }
}
