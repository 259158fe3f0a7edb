package import FailureArtifactsBundle
internal import FailureArtifactsSQLite

extension StatementRecord {
    /// The number of rows that the statement itself inserted, updated or deleted; nil if unknown.
    ///
    /// SQLite doesn't count the rows of a query, so for other statements the number is nil, not 0. A bundle of an earlier
    /// version counts the rows of triggers, foreign keys and virtual tables, too.
    package var changedRows: Int? {
        let rows = ownChanges ?? changes
        return switch StatementOutline(sql).kind {
        case .insert, .update, .delete: rows == 0 && error != nil ? nil : rows
        // A virtual table writes its own tables when it is created, and when a transaction is committed.
        case .commit, .release, .definition: nil
        default: rows == 0 ? nil : rows
        }
    }

    /// The values of the parameters, of which only the start may be known; nil if they were not recorded.
    var knownValues: [BoundValue]? {
        values ?? (StatementParameter.all(in: Array(sql.utf8)).isEmpty ? [] : nil)
    }

    /// The table whose rows the statement inserts, updates or deletes, in lower case; nil for others or if uncertain.
    package var writtenTable: String? {
        let outline = StatementOutline(sql)
        return outline.isWrite && !outline.isElsewhere ? outline.table : nil
    }

    /// True if the statement is known to have failed.
    package var hasFailed: Bool { error != nil || leftOpen == true }

    /// The error's message and code, or a note on a `COMMIT` that failed for an unknown reason.
    ///
    /// Nil if the statement isn't known to have failed.
    package var failureText: String? {
        error.map { "\($0.message) (\($0.code))" }
            ?? (leftOpen == true ? "failed: the transaction stayed open" : nil)
    }

    /// The minimum number of rows that the statement read in scans; nil without a scan that went past its first row.
    ///
    /// SQLite counts the steps from one row to the next, so each scan has read one row more than it counted. A nested scan
    /// that runs several times reads one more each time, and rows count again.
    var leastScannedRows: Int? {
        guard let fullScanSteps, fullScanSteps > 0 else { return nil }
        return Self.rows(afterSteps: fullScanSteps)
    }

    private static func rows(afterSteps steps: Int) -> Int { steps == .max ? .max : steps + 1 }

    /// The costly work that SQLite counted: `scanned at least 20,000 rows`, `1 sort`,
    /// `automatic index over at least 50 rows`.
    package var queryFacts: [String] {
        var facts: [String] = []
        if let rows = leastScannedRows { facts.append("scanned at least " + Self.rows(rows)) }
        if let sorts, sorts > 0 { facts.append(Counted.items(Int64(sorts), "sort")) }
        if let autoIndexes, autoIndexes > 0 {
            let rows = Self.rows(Self.rows(afterSteps: autoIndexes))
            facts.append("automatic index over at least " + rows)
        }
        return facts
    }

    /// True if the statement only begins or ends a transaction, is a `PRAGMA`, or reads only the schema.
    package var isQuiet: Bool {
        let outline = StatementOutline(sql)
        switch outline.kind {
        case .begin, .commit, .savepoint, .release, .walMode: return true
        default: break
        }
        let words = outline.words
        if words.first == "pragma" { return true }
        // A subquery begins with a parenthesis, and has a FROM of its own.
        let sources = zip(words, words.dropFirst()).filter {
            ["from", "join"].contains($0) && $1 != "("
        }
        return outline.isQuery && !sources.isEmpty
            && sources.allSatisfy { Self.schemaTables.contains($1) || $1.hasPrefix("pragma_") }
    }

    /// The folded names of SQLite's tables with the schema.
    private static let schemaTables: Set = [
        "sqlite_master", "sqlite_schema", "sqlite_temp_master", "sqlite_temp_schema",
    ]

    /// The text and the line, which are the same for all executions of a statement in a loop.
    var textAndPlace: String { (source?.place ?? "") + "\n" + sql }

    /// The lines of the query plan, as many as the packer writes.
    package var shownPlan: ArraySlice<String> { (queryPlan ?? []).prefix(QueryPlan.maximumLines) }

    private static func rows(_ count: Int) -> String {
        Counted.number(Int64(count)) + (count == 1 ? " row" : " rows")
    }
}

extension StatementRecord.Source {
    /// The place, such as `Sources/Ledger/Ledger.swift:42`.
    package var place: String { "\(file):\(line)" }

    /// True if the path stays below the package root.
    package var isInPackage: Bool {
        // An absolute path begins with an empty part.
        file.split(separator: "/", omittingEmptySubsequences: false)
            .allSatisfy { !$0.isEmpty && $0 != "." && $0 != ".." }
    }

    /// True if the file is below a directory for tests, such as `Tests` or `ShopTests`.
    var isInTests: Bool {
        file.split(separator: "/").dropLast().contains { $0.hasSuffix("Tests") }
    }
}
