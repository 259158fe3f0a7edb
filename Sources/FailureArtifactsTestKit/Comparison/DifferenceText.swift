internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The text of a difference between two stores, with the first changed rows of each table; for a bundle.
enum DifferenceText {
    /// The maximum number of rows shown for each table.
    private static let rowLimit: Int64 = 50
    /// The maximum number of bytes shown of a value.
    private static let valueLimit = 200

    /// Compares two database files.
    static func make(_ a: StoreComparison.Side, _ b: StoreComparison.Side, title: String) -> String {
        var lines = [title, ""]
        do {
            lines.append(try StoreDifference(from: a, to: b).description)
            let comparison = try StoreComparison(a: a, b: b, limits: .none)
            for table in try comparison.tables() where table.problem == nil {
                var rows: [String] = []
                let counts = try comparison.forEachRowChange(
                    in: table, limit: rowLimit, valueLimit: valueLimit
                ) { rows.append(line($0)) }
                guard !rows.isEmpty else { continue }
                lines += ["", "\(table.name)"] + rows
                let left = counts.total - Int64(rows.count)
                if left > 0 { lines.append("  and \(left) more rows") }
            }
        } catch {
            lines.append(TestStoreError.text(error))
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func line(_ change: RowChange) -> String {
        let cells = change.cells.map { cell in
            switch (cell.old, cell.new) {
            case (let old?, let new?): "\(cell.column): \(text(old)) -> \(text(new))"
            case (let value?, nil), (nil, let value?): "\(cell.column): \(text(value))"
            case (nil, nil): cell.column
            }
        }
        let sign =
            switch change.kind {
            case .inserted: "+"
            case .updated: "~"
            case .deleted: "-"
            }
        let key = change.kind == .updated ? "[\(change.key.map(text).joined(separator: ", "))] " : ""
        return "  \(sign) \(key)\(cells.joined(separator: ", "))"
    }

    private static func text(_ value: StoredValue) -> String {
        let rest = value.isCut ? "…" : ""
        return switch value.content {
        case .null: "NULL"
        case .integer(let number): String(number)
        case .real(let number): "\(number)"
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).debugDescription + rest
        case .blob: "\(value.byteCount) bytes"
        }
    }
}
