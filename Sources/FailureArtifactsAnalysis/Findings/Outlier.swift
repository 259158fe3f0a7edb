internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// A value unlike all others of its column, in a row that the test wrote and a question of the assertion reads.
enum Outlier: FindingRule {
    static let code = Finding.Code.outlier

    /// The maximum number of rows of a table that is searched; in larger ones, single values say little.
    private static let rowLimit = 2000
    private static let leastOthers = 4
    private static let factor = 50.0

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        var findings: [Finding] = []
        for (name, columns) in store.asked.columns.sorted(by: { $0.key < $1.key }) {
            guard let shape = store.schema.tables[name], shape.kind != .virtual,
                !LibraryTables.contains(name), store.steps.contains(where: { $0.table(name) != nil })
            else { continue }
            let key = store.keyColumns(of: shape.name)
            let read = shape.columns.map(\.name).filter {
                columns.contains(folded($0)) && !key.map(folded).contains(folded($0))
            }
            let selected = (key + read).map(quotedIdentifier).joined(separator: ", ")
            let rows = try store.rows(
                "SELECT \(selected) FROM \(quotedIdentifier(shape.name)) ORDER BY \(selected)",
                limit: rowLimit + 1)
            guard rows.count <= rowLimit else { continue }
            for (index, column) in read.enumerated() {
                let values = rows.map { $0[key.count + index] }
                guard let (place, text) = outlier(in: values) else { continue }
                let rowKey = Array(rows[place].prefix(key.count))
                let last = store.lastStep(
                    where: { _, change in
                        change.key == rowKey && change.cell(column)?.new == values[place]
                    },
                    of: shape.name)
                guard let last, !store.steps[last.index].isOfOtherTest else { continue }
                findings.append(
                    finding(shape.name, key, rowKey, last.row, column, text, in: store, last.index))
            }
        }
        return findings
    }

    private static func finding(
        _ table: String, _ key: [String], _ values: [StoredValue], _ change: RowChange,
        _ column: String, _ text: String, in store: Timeline, _ step: Int
    ) -> Finding {
        let row = Finding.Row(
            table: table, key: Finding.Row.key(key, values), change: .init(change.kind),
            columns: change.cell(column).map { [$0] } ?? [])
        return Finding(
            code: code, title: "\(SafeText.line("\(table).\(column)")) has \(text) in one row",
            confidence: .possible, store: store.name, rows: [row], transaction: store.steps[step].number,
            explanation:
                "\(store.title(of: store.steps[step])) wrote the value, and a query of the test reads the column.",
            evidence: .outlier)
    }

    /// Returns the place of the only value unlike all others, and the difference; nil without one.
    static func outlier(in values: [StoredValue]) -> (place: Int, difference: String)? {
        guard values.count > leastOthers else { return nil }
        if let place = single(values.map(kind)) {
            return (place, "\(kind(values[place])), unlike all others,")
        }
        if let place = single(values.map(form)), values[place].string != nil {
            return (place, "a text of another form")
        }
        let numbers = values.compactMap(\.number)
        guard numbers.count == values.count else { return nil }
        let sorted = numbers.indices.sorted { (numbers[$0], $0) < (numbers[$1], $1) }
        let (first, second) = (numbers[sorted[0]], numbers[sorted[1]])
        let (last, previous) = (numbers[sorted[sorted.count - 1]], numbers[sorted[sorted.count - 2]])
        if first < 0, second > 0 { return (sorted[0], "the only negative number") }
        if first > 0, last >= factor * previous {
            return (
                sorted[sorted.count - 1], "a number at least \(Int(factor)) times as large as all others"
            )
        }
        if first > 0, first * factor <= second {
            return (sorted[0], "a number at most 1/\(Int(factor)) of all others")
        }
        return nil
    }

    /// Returns the place of the only element that differs from all others, which are the same.
    private static func single(_ elements: [String]) -> Int? {
        let groups = Dictionary(grouping: elements.indices, by: { elements[$0] })
        guard groups.count == 2 else { return nil }
        return groups.values.first { $0.count == 1 }?.first
    }

    private static func kind(_ value: StoredValue) -> String {
        switch value.content {
        case .null: "NULL"
        case .integer, .real: "a number"
        case .text: "a text"
        case .blob: "a BLOB"
        }
    }

    /// Returns a text with a digit, a capital or a small letter in place of each run of them, such as `9-9-9` for a date.
    private static func form(_ value: StoredValue) -> String {
        var form = ""
        for character in (value.string ?? "").prefix(200) {
            let sign: Character =
                character.isNumber
                ? "9" : character.isUppercase ? "A" : character.isLetter ? "a" : character
            if sign != form.last { form.append(sign) }
        }
        return form
    }
}
