internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between two stores as readable text.
struct DiffText {
    /// The maximum number of bytes of a text or a BLOB that are searched for the first difference.
    private static let valueLimit = 16 << 10

    private let output: TextOutput
    private let rowLimit: Int64?
    private let width: Int
    private let coreData: CoreDataChanges?

    init(output: TextOutput, rowLimit: Int64?, coreData: CoreDataChanges? = nil) {
        self.coreData = coreData
        self.output = output
        self.rowLimit = rowLimit
        width = max(output.terminal?.width ?? 80, 40)
    }

    /// Writes the differences between two stores; true if the stores are equal.
    func write(
        _ comparison: borrowing StoreComparison, _ a: ComparedSide, _ b: ComparedSide
    ) throws -> Bool {
        try output.writeLine(output.styled("--- " + SafeText.line(a.title), .bold))
        try output.writeLine(output.styled("+++ " + SafeText.line(b.title), .bold))
        let schema = comparison.schemaChanges()
        if !schema.isEmpty {
            try output.writeLine()
            try output.writeLine(output.styled("Schema", .heading))
            for change in schema {
                for line in lines(of: change) { try output.writeLine(line) }
            }
        }
        var isEqual = schema.isEmpty
        for table in try comparison.tables() {
            if try write(table, of: comparison) { isEqual = false }
        }
        if isEqual { try output.writeLine("The schemas and all rows are the same.") }
        return isEqual
    }

    // MARK: - Rows

    /// Writes the differences in one table; true if anything was written.
    private func write(
        _ table: ComparedTable, of comparison: borrowing StoreComparison
    ) throws -> Bool {
        let name = SafeText.line(table.name)
        if let problem = table.problem {
            try output.writeLine()
            try output.writeLine(
                "\(output.styled(name, .heading)): the rows are not compared, \(SafeText.line(problem))")
            return true
        }
        guard let rowLimit else {
            let counts = try comparison.countRowChanges(in: table)
            guard counts.total > 0 else { return false }
            try output.writeLine()
            try output.writeLine(heading(table, counts))
            try comparison.forEachRowChange(in: table, valueLimit: Self.valueLimit) { change in
                for line in lines(of: change, in: table) { try output.writeLine(line) }
            }
            return true
        }
        // The heading needs the counts, so the first rows are kept until the table has been read once.
        var shown: [String] = []
        let counts = try comparison.forEachRowChange(
            in: table, limit: rowLimit, valueLimit: Self.valueLimit
        ) { change in
            shown += lines(of: change, in: table)
        }
        guard counts.total > 0 else { return false }
        try output.writeLine()
        try output.writeLine(heading(table, counts))
        for line in shown { try output.writeLine(line) }
        if counts.total > rowLimit {
            try output.writeLine(
                output.styled("  … \(counts.total - rowLimit) more; --all shows all of them", .dim))
        }
        return true
    }

    /// Returns a heading such as `account: 2 inserted, 1 updated`.
    private func heading(_ table: ComparedTable, _ counts: RowCounts) -> String {
        var note = ""
        switch table.presence {
        case .both: break
        case .onlyInA: note = " (only in A)"
        case .onlyInB: note = " (only in B)"
        case .replaced: note = " (another key, so all rows are others)"
        }
        if table.isShadow { note += " (content of a virtual table)" }
        let title = coreData?.title(of: table)
        if title != nil { note = " (" + SafeText.line(table.name) + ")" + note }
        return output.styled(SafeText.line(title ?? table.name), .heading) + note + ": "
            + Self.text(of: counts)
    }

    static func text(of counts: RowCounts) -> String {
        [(counts.inserted, "inserted"), (counts.updated, "updated"), (counts.deleted, "deleted")]
            .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// Returns text such as `~ 1: balance 90 → 100`, on several lines if it is long.
    private func lines(of change: RowChange, in table: ComparedTable) -> [String] {
        let change = coreData?.change(change, in: table) ?? change
        let keyColumns = coreData?.keyColumns(of: table) ?? table.keyColumns
        let key = change.key.map { StoredText.text(of: $0, width: 40) }.joined(separator: ", ")
        let (sign, style): (String, TextOutput.Style) =
            switch change.kind {
            case .inserted: ("+", .green)
            case .updated: ("~", .yellow)
            case .deleted: ("-", .red)
            }
        let indent = 6
        var items: [String] = []
        for cell in change.cells {
            let column = SafeText.cell(cell.column)
            let free = max(width - indent - 1 - TextWidth.columns(of: column) - 1, 16)
            switch (cell.old, cell.new) {
            case (let old?, let new?):
                let values = StoredText.text(of: old, new, width: max((free - 3) / 2, 8))
                items.append("\(column) \(values.old) → \(values.new)")
            case (let value?, nil), (nil, let value?):
                if keyColumns.contains(cell.column) { continue }
                items.append("\(column) \(StoredText.text(of: value, width: min(free, 40)))")
            case (nil, nil): break
            }
        }
        let name = keyColumns.isEmpty ? "rowid \(key)" : key
        var lines = ["  \(sign) \(name)" + (items.isEmpty ? "" : ":")]
        for (index, item) in items.enumerated() {
            let text = item + (index + 1 < items.count ? "," : "")
            let last = lines[lines.count - 1]
            if TextWidth.columns(of: last) + 1 + TextWidth.columns(of: text) <= width {
                lines[lines.count - 1] = last + " " + text
            } else {
                lines.append(String(repeating: " ", count: indent) + text)
            }
        }
        return lines.map { output.styled($0, style) }
    }

    // MARK: - Schema

    private func lines(of change: SchemaChange) -> [String] {
        let (sign, style) = Self.sign(of: change.kind)
        var title = "  \(sign) \(change.subject.rawValue)"
        switch change.subject {
        case .userVersion, .applicationID:
            title += " \(change.old ?? "") → \(change.new ?? "")"
            return [output.styled(title, style)]
        case .table, .index, .view, .trigger:
            title += " " + SafeText.line(change.name)
        }
        if let table = change.table { title += " on " + SafeText.line(table) }
        var lines = [output.styled(title, style)]
        if change.columns.isEmpty {
            lines += definition(change.old, .removed, isAlone: change.new == nil)
            lines += definition(change.new, .added, isAlone: change.old == nil)
        }
        for column in change.columns {
            let (sign, style) = Self.sign(of: column.kind)
            let declarations = [column.old, column.new].compactMap { $0 }
                .map { $0.isEmpty ? "no type" : SafeText.line($0) }
            let text =
                "      \(sign) \(SafeText.line(column.name)) \(declarations.joined(separator: " → "))"
            lines.append(output.styled(text, style))
        }
        return lines
    }

    private func definition(_ sql: String?, _ kind: SchemaChange.Kind, isAlone: Bool) -> [String] {
        guard let sql else { return [] }
        let (sign, style) = Self.sign(of: kind)
        return SafeText.lines(sql).map { line in
            isAlone ? "      \(line)" : output.styled("      \(sign) \(line)", style)
        }
    }

    private static func sign(of kind: SchemaChange.Kind) -> (String, TextOutput.Style) {
        switch kind {
        case .added: ("+", .green)
        case .removed: ("-", .red)
        case .changed: ("~", .yellow)
        }
    }
}

/// The differences between two stores as one JSON object, written as they are found.
struct DiffJSON {
    /// The maximum number of bytes written of a text or a BLOB.
    static let valueLimit = 4096

    private let stream: JSONStream
    private let coreData: CoreDataChanges?

    init(output: TextOutput, coreData: CoreDataChanges? = nil) {
        stream = JSONStream(output)
        self.coreData = coreData
    }

    /// Writes the differences between two stores; true if the stores are equal.
    func write(
        _ comparison: borrowing StoreComparison, _ a: ComparedSide, _ b: ComparedSide
    ) throws -> Bool {
        try stream.begin(.object)
        try stream.write(Self.json(a), as: "a")
        try stream.write(Self.json(b), as: "b")
        let schema = comparison.schemaChanges()
        try stream.begin(.array, as: "schema")
        for change in schema { try stream.write(Self.json(change)) }
        try stream.end()
        try stream.begin(.array, as: "tables")
        var isEqual = schema.isEmpty
        for table in try comparison.tables() where try write(table, of: comparison) { isEqual = false }
        try stream.end()
        try stream.write(.boolean(isEqual), as: "equal")
        try stream.end()
        return isEqual
    }

    /// Writes the differences in one table; true if anything was written.
    private func write(
        _ table: ComparedTable, of comparison: borrowing StoreComparison
    ) throws -> Bool {
        var start: [(String, JSONValue)] = [
            ("name", .text(table.name)), ("presence", .text(table.presence.rawValue)),
        ]
        if let problem = table.problem {
            try stream.write(.object(start + [("problem", .text(problem))]))
            return true
        }
        if let title = coreData?.title(of: table) { start.append(("entity", .text(title))) }
        let columns = coreData?.keyColumns(of: table) ?? table.keyColumns
        let key = columns.isEmpty ? ["rowid"] : columns
        start.append(("key", .array(key.map(JSONValue.text))))
        if table.isShadow { start.append(("shadow", .boolean(true))) }
        var isEqual = true
        let counts = try comparison.forEachRowChange(in: table, valueLimit: Self.valueLimit) { change in
            if isEqual {
                try stream.begin(.object)
                for (name, value) in start { try stream.write(value, as: name) }
                try stream.begin(.array, as: "changes")
                isEqual = false
            }
            try stream.write(Self.json(coreData?.change(change, in: table) ?? change, key: key))
        }
        if isEqual { return false }
        try stream.end()
        try stream.write(.integer(counts.inserted), as: "inserted")
        try stream.write(.integer(counts.updated), as: "updated")
        try stream.write(.integer(counts.deleted), as: "deleted")
        try stream.end()
        return true
    }

    private static func json(_ change: RowChange, key: [String]) -> JSONValue {
        let cells = change.cells.map { cell -> (String, JSONValue) in
            guard cell.old != nil, cell.new != nil else {
                return (cell.column, JSONValue(cell.old ?? cell.new))
            }
            return (cell.column, .object([("old", JSONValue(cell.old)), ("new", JSONValue(cell.new))]))
        }
        return .object([
            ("change", .text(change.kind.rawValue)),
            ("key", .object(zip(key, change.key).map { ($0, JSONValue($1)) })),
            (change.kind == .updated ? "columns" : "row", .object(cells)),
        ])
    }

    private static func json(_ side: ComparedSide) throws -> JSONValue {
        // The number of the last transaction in this state.
        let json: JSONObject = ["path": side.path, "store": side.store, "at": side.state?.number]
        return .encoded(try JSONText.line(json))
    }

    private static func json(_ change: SchemaChange) throws -> JSONValue {
        let columns = change.columns.map { column -> JSONObject in
            ["change": column.kind.rawValue, "name": column.name, "old": column.old, "new": column.new]
        }
        let json: JSONObject = [
            "change": change.kind.rawValue, "type": change.subject.rawValue,
            "name": change.name.isEmpty ? nil : change.name, "table": change.table,
            "old": change.old, "new": change.new, "columns": columns.nonEmpty,
        ]
        return .encoded(try JSONText.line(json))
    }
}
