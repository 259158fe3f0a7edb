internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// What an open transaction had changed when the test failed.
struct UncommittedChanges: Encodable, Equatable {
    struct Table: Encodable, Equatable {
        var name: String
        var inserted: Int64
        var updated: Int64
        var deleted: Int64
    }

    /// Such as `table account changed`.
    var schema: [String] = []
    /// Those with rows that are not the same.
    var tables: [Table] = []
    /// Whether all tables were looked at.
    var isComplete = true

    private enum CodingKeys: String, CodingKey {
        case schema, tables
        case isComplete = "complete"
    }

    /// Compares two copies that nobody else uses.
    ///
    /// - Parameters:
    ///   - committed: What everyone else saw.
    ///   - seen: What the test saw.
    ///   - timeLimit: Seconds, after which the tables that are left are not looked at.
    /// - Throws: Why the copies cannot be read.
    init(committed: String, seen: String, timeLimit: Double) throws(SQLiteError) {
        do throws(SQLiteError) {
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: committed, isPrivate: true),
                b: StoreComparison.Side(path: seen, isPrivate: true),
                deadline: Instant.now.advanced(bySeconds: timeLimit))
            schema = comparison.schemaChanges().map(Self.text)
            for table in try comparison.tables() {
                guard table.problem == nil else {
                    isComplete = false
                    continue
                }
                let counts = try comparison.countRowChanges(in: table)
                guard counts.total > 0 else { continue }
                tables.append(
                    Table(
                        name: table.name, inserted: counts.inserted, updated: counts.updated,
                        deleted: counts.deleted))
            }
        } catch {
            guard error.isInterrupted else { throw error }
            isComplete = false
        }
    }

    private static func text(of change: SchemaChange) -> String {
        let subject = change.subject.rawValue + (change.name.isEmpty ? "" : " " + change.name)
        switch change.kind {
        case .added: return subject + " added"
        case .removed: return subject + " removed"
        case .changed: return subject + " changed"
        }
    }

    /// A sentence without a full stop, such as `Not committed: 2 rows inserted into player`.
    var text: String {
        var items = schema
        for table in tables {
            let parts = [
                (table.inserted, "inserted into"), (table.updated, "updated in"),
                (table.deleted, "deleted from"),
            ]
            items += parts.filter { $0.0 > 0 }
                .map { "\(Counted.items($0.0, "row")) \($0.1) \(table.name)" }
        }
        let limit = 12
        if items.count > limit { items = items.prefix(limit) + ["\(items.count - limit) more changes"] }
        let rest = isComplete ? "" : "; not all tables were compared, see 'failure-artifacts diff'"
        if items.isEmpty { return "Not committed: no change\(isComplete ? "" : " was found")\(rest)" }
        return "Not committed: " + items.joined(separator: ", ") + rest
    }
}
