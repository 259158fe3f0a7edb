internal import FailureArtifactsAnalysis

/// The result of `reduce`, for JSON and for text.
struct ReductionReport: Encodable {
    struct Size: Encodable {
        var rows: Int
        var tables: [String: Int]
        var bytes: UInt64

        init(_ size: StoreReduction.Size) {
            (rows, tables, bytes) = (size.rowCount, size.rows, size.bytes)
        }
    }

    var store: String
    var end: StoreReduction.End
    var isReliable: Bool
    var runs: Int
    var before: Size
    var after: Size
    /// The written files.
    var files: [String] = []

    init(
        store: String, end: StoreReduction.End, isReliable: Bool, runs: Int,
        before: StoreReduction.Size, after: StoreReduction.Size
    ) {
        self.store = store
        self.end = end
        self.isReliable = isReliable
        self.runs = runs
        self.before = Size(before)
        self.after = Size(after)
    }

    var lines: [String] {
        func text(_ size: Size) -> String {
            let tables = Counted.items(Int64(size.tables.values.count { $0 > 0 }), "table")
            return "\(Counted.number(Int64(size.rows))) \(size.rows == 1 ? "row" : "rows") in \(tables)"
        }
        var lines = [
            "\(SafeText.line(store)): \(text(before)) became \(text(after)), after "
                + Counted.items(Int64(runs), "run") + " of the check"
        ]
        for (table, rows) in after.tables.sorted(by: { $0.key < $1.key }) where rows > 0 {
            lines.append("  \(SafeText.line(table)) \(Counted.items(Int64(rows), "row"))")
        }
        return lines + files.map(SafeText.line)
    }

    /// Returns full sentences about a search that ended early, and about a check that doesn't need the rows.
    func notes(isCommand: Bool) -> [String] {
        var notes: [String] = []
        switch end {
        case .runLimit:
            notes.append(
                "The search ended after \(runs) runs, and a smaller store may fail, too. '--max-runs' sets another limit."
            )
        case .timeLimit:
            notes.append(
                "The search ended because its time was up, and a smaller store may fail, too. '--time-limit' sets "
                    + "another limit.")
        case .interrupted: notes.append("The search was interrupted, and a smaller store may fail, too.")
        case .complete: break
        }
        if isCommand, after.rows == 0, before.rows > 0 {
            notes.append(
                "The command fails with empty tables, too, so its failure may have nothing to do with the rows."
            )
        }
        return notes
    }
}
