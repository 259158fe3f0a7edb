internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The rows that differ from a passing run's store, if the test's statements on it aren't known.
struct PassingStore: FindingRule {
    static let code = Finding.Code.differenceFromPass
    private static let maximumRows = 20

    static func findings(in store: Timeline, of failure: FailureEvidence) throws -> [Finding] {
        guard let run = failure.passing,
            let name = StoreCounterpart.name(
                of: store.name, among: failure.stores.map(\.name), in: run.stores.map(\.name)),
            let passing = run.stores.first(where: { $0.name == name }),
            store.testStatements.isEmpty || passing.testStatements.isEmpty
        else { return [] }
        let comparison = try StoreComparison(
            a: .init(path: passing.path, isPrivate: true), b: .init(path: store.path, isPrivate: true))
        // The passing run's store is copied at the test's end, when a test may have dropped its tables.
        let tables = try comparison.changes(rowLimit: Timeline.rowLimit).tables.filter {
            $0.table.presence == .both && !LibraryTables.contains($0.table.name)
        }
        let times = [run, failure].map { ComparedValues.seconds(of: $0.metadata.capture.at) }
        var rows: [Finding.Row] = []
        for table in tables {
            for row in table.rows {
                let cells = row.cells.filter { !isGenerated($0, times) }
                if cells.isEmpty, row.kind == .updated { continue }
                rows.append(Timeline.row(row, in: table, columns: Set(cells.map { folded($0.column) })))
            }
        }
        guard !rows.isEmpty else { return [] }
        let changed = rows.compactMap { row in
            store.lastStep(where: { $1.key == row.key.map(\.value) }, of: row.table).map {
                ($0.index, row.table)
            }
        }.max { $0.0 < $1.0 }
        let origin = changed.map {
            store.origin(inStep: $0.0, of: $0.1, by: [.insert, .update, .delete])
        }
        let count =
            (tables.allSatisfy(\.isComplete) ? "" : "At least ")
            + Counted.items(Int64(rows.count), "row")
        let isAsked = rows.contains { store.asked.tables.contains(folded($0.table)) }
        return [
            Finding(
                code: code,
                title: "\(count) \(rows.count == 1 ? "differs" : "differ") from the passing run",
                confidence: isAsked ? .likely : .possible, store: store.name,
                rows: rows.prefix(maximumRows).map { row in
                    var row = row
                    if row.change != .updated {
                        row.change = row.change == .inserted ? .present : .missing
                    }
                    return row
                }, transaction: origin?.transaction, statement: origin?.statement?.record,
                explanation: "Before is the passing run, after the failed one. The statements of "
                    + "\(store.testStatements.isEmpty ? "the failed" : "the passing") run on the store aren't known."
                    + (origin?.transaction.map {
                        " Transaction \($0) of the failed run changed one of the rows last."
                    } ?? ""),
                evidence: .difference)
        ]
    }

    /// True if both values of an updated row are UUIDs, or times near the runs.
    private static func isGenerated(_ cell: RowChange.Cell, _ times: [Double]) -> Bool {
        let forms = zip([cell.old, cell.new], times).map { value, time in
            value.flatMap { ComparedValues.generatedForm(of: $0, at: time) }
        }
        return forms[0] != nil && forms[0] == forms[1]
    }
}
