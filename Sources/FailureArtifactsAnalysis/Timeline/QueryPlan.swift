internal import CFailureArtifactsSQLite
package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// SQLite's plans for running statements, from `EXPLAIN QUERY PLAN`.
package enum QueryPlan {
    /// The maximum number of lines of a plan; a longer one ends with `…`.
    static let maximumLines = 20
    /// The number of full-scan steps above which a statement gets a plan.
    private static let threshold = 1000
    /// The maximum number of different statements of a store that get a plan.
    private static let maximumPlans = 32
    /// The maximum number of names that SQLite resolves to compile them all: nested views can have any number.
    private static let maximumNames = 10_000

    /// Adds the plans of the costliest statements of a store, from its copy in a bundle.
    package static func add(
        to records: inout [StatementRecord], of store: BundleMetadata.Store, in bundle: BundleReader,
        below directory: String
    ) throws {
        guard let entry = store.entry, records.contains(where: needsPlan) else { return }
        let path = Path.join(directory, "planned.sqlite")
        defer { try? FileSystem.remove(path) }
        try bundle.extract(entryNamed: entry, toNewFile: path)
        add(to: &records, from: try Connection.untrusted(path))
    }

    private static func needsPlan(_ record: StatementRecord) -> Bool {
        record.cut != true && record.queryPlan == nil && record.fullScanSteps ?? 0 > threshold
    }

    /// Adds the plans of the costliest statements, which are not run, if SQLite can compile them on the copy.
    ///
    /// The lines are indented by two spaces per level. The connection has no authorizer.
    static func add(to records: inout [StatementRecord], from connection: borrowing Connection) {
        var steps: [String: Int] = [:]
        for record in records where needsPlan(record) {
            steps[record.sql] = max(steps[record.sql] ?? 0, record.fullScanSteps ?? 0)
        }
        guard !steps.isEmpty else { return }
        let costliest = steps.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(maximumPlans)
        var plans: [String: [String]] = [:]
        var names = maximumNames
        withUnsafeMutablePointer(to: &names) { names in
            sqlite3_set_authorizer(
                connection.handle,
                { context, action, _, _, _, _ in
                    guard let names = context?.assumingMemoryBound(to: Int.self) else {
                        return SQLITE_DENY
                    }
                    names.pointee -= 1
                    // SQLite runs some pragmas while it compiles them.
                    let isRowsOnly = [
                        SQLITE_SELECT, SQLITE_READ, SQLITE_FUNCTION, SQLITE_RECURSIVE, SQLITE_INSERT,
                        SQLITE_UPDATE, SQLITE_DELETE,
                    ].contains(action)
                    return names.pointee > 0 && isRowsOnly ? SQLITE_OK : SQLITE_DENY
                }, names)
            for (sql, _) in costliest { plans[sql] = try? plan(of: sql, in: connection) }
            sqlite3_set_authorizer(connection.handle, nil, nil)
        }
        for index in records.indices where records[index].queryPlan == nil {
            let plan = plans[records[index].sql] ?? []
            if !plan.isEmpty { records[index].queryPlan = plan }
        }
    }

    private static func plan(
        of sql: String, in connection: borrowing Connection
    ) throws(SQLiteError) -> [String] {
        let statement = try connection.prepare("EXPLAIN QUERY PLAN " + sql)
        var lines: [String] = []
        var depths: [Int64: Int] = [:]
        // The columns are the line's number, the number of the line above it, an unused one and the text.
        while try statement.step() {
            guard lines.count < maximumLines else { return lines.dropLast() + ["…"] }
            guard case .text(let text) = statement.value(at: 3) else { continue }
            let depth = depths[statement.integer(at: 1)].map { $0 + 1 } ?? 0
            depths[statement.integer(at: 0)] = depth
            lines.append(String(repeating: "  ", count: depth) + text)
        }
        return lines
    }
}
