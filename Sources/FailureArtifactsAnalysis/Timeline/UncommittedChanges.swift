internal import FailureArtifactsSQLite

/// A summary of the changes in a transaction: an open one or the last one before the failure.
package struct UncommittedChanges: Encodable, Equatable {
    struct Table: Encodable, Equatable {
        var name: String
        var inserted: Int64
        var updated: Int64
        var deleted: Int64
    }

    /// The schema changes, such as `table account changed`.
    var schema: [String]
    /// The tables whose rows differ.
    var tables: [Table]
    /// True if all tables were compared.
    package var isComplete: Bool

    private enum CodingKeys: String, CodingKey {
        case schema, tables
        case isComplete = "complete"
    }

    package init(_ step: Timeline.Step) {
        schema = step.changes.schemaTexts
        tables = step.changes.tables.filter { $0.inserted + $0.updated + $0.deleted > 0 }.map {
            Table(name: $0.name, inserted: $0.inserted, updated: $0.updated, deleted: $0.deleted)
        }
        isComplete = step.changes.tables.allSatisfy { $0.problem == nil }
    }

    var isEmpty: Bool { schema.isEmpty && tables.isEmpty }

    /// A sentence without a full stop, such as `Not committed: 2 rows inserted into player`.
    var text: String {
        text(after: "Not committed")
    }

    /// Returns the sentence with another beginning.
    package func text(after title: String, naming name: (String) -> String = { $0 }) -> String {
        var items = schema
        for table in tables {
            let parts = [
                (table.inserted, "inserted into"), (table.updated, "updated in"),
                (table.deleted, "deleted from"),
            ]
            items += parts.filter { $0.0 > 0 }
                .map { "\(Counted.items($0.0, "row")) \($0.1) \(name(table.name))" }
        }
        let limit = 12
        if items.count > limit { items = items.prefix(limit) + ["\(items.count - limit) more changes"] }
        let rest = isComplete ? "" : "; not all tables were compared, see 'failure-artifacts diff'"
        if items.isEmpty { return "\(title): no change\(isComplete ? "" : " was found")\(rest)" }
        return "\(title): " + items.joined(separator: ", ") + rest
    }
}
