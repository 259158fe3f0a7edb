internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The differences between two stores as one JSON object, written as they are found.
struct DiffJSON {
    /// The maximum number of bytes written of a text or a BLOB.
    static let valueLimit = 4096

    private let output: TextOutput
    private let coreData: CoreDataChanges?

    init(output: TextOutput, coreData: CoreDataChanges? = nil) {
        self.coreData = coreData
        self.output = output
    }

    /// Writes the differences between two stores; true if the stores are equal.
    func write(
        _ comparison: borrowing StoreComparison, _ a: ComparedSide, _ b: ComparedSide
    ) throws -> Bool {
        try output.write(
            "{\"a\":\(JSONText.line(Side(a))),\n\"b\":\(JSONText.line(Side(b))),\n\"schema\":[")
        let schema = comparison.schemaChanges()
        var separator = "\n"
        for change in schema {
            try output.write(separator + JSONText.line(Change(change)))
            separator = ",\n"
        }
        try output.write("],\n\"tables\":[")
        separator = "\n"
        var isEqual = schema.isEmpty
        for table in try comparison.tables() {
            guard try write(table, of: comparison, after: separator) else { continue }
            separator = ",\n"
            isEqual = false
        }
        try output.write("],\n\"equal\":\(isEqual)}\n")
        return isEqual
    }

    /// Writes the differences in one table; true if anything was written.
    private func write(
        _ table: ComparedTable, of comparison: borrowing StoreComparison, after separator: String
    ) throws -> Bool {
        var start =
            separator
            + "{\"name\":\(JSONText.string(table.name)),\"presence\":\"\(table.presence.rawValue)\","
        if let problem = table.problem {
            try output.write(start + "\"problem\":\(JSONText.string(problem))}")
            return true
        }
        if let title = coreData?.title(of: table) { start += "\"entity\":\(JSONText.string(title))," }
        let columns = coreData?.keyColumns(of: table) ?? table.keyColumns
        let key = columns.isEmpty ? ["rowid"] : columns
        start += "\"key\":[\(key.map(JSONText.string).joined(separator: ","))],"
        if table.isShadow { start += "\"shadow\":true," }
        start += "\"changes\":["
        var isFirst = true
        let counts = try comparison.forEachRowChange(in: table, valueLimit: Self.valueLimit) { change in
            let change = coreData?.change(change, in: table) ?? change
            try output.write((isFirst ? start + "\n" : ",\n") + Self.text(of: change, key: key))
            isFirst = false
        }
        guard !isFirst else { return false }
        try output.write(
            "],\"inserted\":\(counts.inserted),\"updated\":\(counts.updated),"
                + "\"deleted\":\(counts.deleted)}")
        return true
    }

    private static func text(of change: RowChange, key: [String]) -> String {
        let keys = zip(key, change.key).map { "\(JSONText.string($0)):\(text(of: $1))" }
        let cells = change.cells.map { cell in
            let value =
                switch (cell.old, cell.new) {
                case (let old?, let new?): "{\"old\":\(text(of: old)),\"new\":\(text(of: new))}"
                case (let value?, nil), (nil, let value?): text(of: value)
                case (nil, nil): "null"
                }
            return "\(JSONText.string(cell.column)):\(value)"
        }
        return "{\"change\":\"\(change.kind.rawValue)\",\"key\":{\(keys.joined(separator: ","))},"
            + "\"\(change.kind == .updated ? "columns" : "row")\":{\(cells.joined(separator: ","))}}"
    }

    private static func text(of value: StoredValue) -> String {
        let size = value.isCut ? ",\"bytes\":\(value.byteCount)" : ""
        switch value.content {
        case .null: return "null"
        case .integer(let number): return String(number)
        case .real(let number): return JSONText.number(number)
        case .blob(let bytes): return "{\"base64\":\"\(JSONText.base64(bytes))\"\(size)}"
        case .text(let bytes):
            guard let text = StoredText.valid(bytes, isCut: value.isCut) else {
                return "{\"textBase64\":\"\(JSONText.base64(bytes))\"\(size)}"
            }
            return value.isCut ? "{\"text\":\(JSONText.string(text))\(size)}" : JSONText.string(text)
        }
    }

    private struct Side: Encodable {
        var path: String
        var store: String?
        /// The number of the last transaction in this state; nil if the side isn't a state of a history.
        var at: Int?

        init(_ side: ComparedSide) {
            path = side.path
            store = side.store
            at = side.state?.number
        }
    }

    private struct Change: Encodable {
        var change: String
        var type: String
        var name: String?
        var table: String?
        var old: String?
        var new: String?
        var columns: [Column]?

        struct Column: Encodable {
            var change: String
            var name: String
            var old: String?
            var new: String?
        }

        init(_ schema: SchemaChange) {
            change = Self.word(schema.kind)
            type = schema.subject.rawValue
            name = schema.name.isEmpty ? nil : schema.name
            table = schema.table
            old = schema.old
            new = schema.new
            columns =
                schema.columns.isEmpty
                ? nil
                : schema.columns.map {
                    Column(change: Self.word($0.kind), name: $0.name, old: $0.old, new: $0.new)
                }
        }

        private static func word(_ kind: SchemaChange.Kind) -> String {
            switch kind {
            case .added: "added"
            case .removed: "removed"
            case .changed: "changed"
            }
        }
    }
}
