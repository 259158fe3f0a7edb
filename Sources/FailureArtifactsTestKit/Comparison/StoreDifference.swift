internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// What was changed, so that one store became another: schema and rows.
///
/// ```swift
/// let difference = try stores.difference(from: "App V1", to: "App V2")
/// #expect(difference.columns["game"]?.added == ["rating"])
/// #expect(difference.rows["game"] == nil)     // every game is still there, as it was
/// ```
///
/// Values are the same where type and bytes are. Of tables that were changed, rows are compared by the columns
/// that both stores have.
public struct StoreDifference: Equatable, Sendable {
    /// How many rows of a table are not the same.
    public struct Rows: Equatable, Sendable {
        /// Rows that only the second store has.
        public var inserted: Int
        /// Rows with other values in some column.
        public var updated: Int
        /// Rows that only the first store has.
        public var deleted: Int

        /// Creates counts.
        ///
        /// - Parameters:
        ///   - inserted: Rows that only the second store has.
        ///   - updated: Rows with other values in some column.
        ///   - deleted: Rows that only the first store has.
        public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
            self.inserted = inserted
            self.updated = updated
            self.deleted = deleted
        }
    }

    /// The names of a table's columns that are not the same.
    public struct Columns: Equatable, Sendable {
        /// Columns that only the second store has.
        public var added: [String]
        /// Columns that only the first store has.
        public var removed: [String]
        /// Columns that are declared otherwise.
        public var changed: [String]

        /// Creates a list of columns.
        ///
        /// - Parameters:
        ///   - added: Columns that only the second store has.
        ///   - removed: Columns that only the first store has.
        ///   - changed: Columns that are declared otherwise.
        public init(added: [String] = [], removed: [String] = [], changed: [String] = []) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }
    }

    /// Tables that only the second store has, sorted.
    public var addedTables: [String] = []
    /// Tables that only the first store has, sorted.
    public var removedTables: [String] = []
    /// The columns of tables that are in both stores and not the same.
    public var columns: [String: Columns] = [:]
    /// What else differs in the schemas, such as `index fruit_name added` and `user_version changed`.
    public var otherSchemaChanges: [String] = []
    /// The rows that differ, by table; tables whose rows are all the same are not listed.
    public var rows: [String: Rows] = [:]
    /// Tables whose rows could not be compared, each with the reason.
    public var notCompared: [String: String] = [:]

    /// Whether the stores are the same, as far as they could be compared.
    public var isEmpty: Bool { self == StoreDifference(notCompared: notCompared) }

    /// No difference.
    public static var none: StoreDifference { StoreDifference() }
}

extension StoreDifference: CustomStringConvertible {
    /// A line for each change.
    public var description: String {
        var lines = addedTables.map { "table \($0) added" } + removedTables.map { "table \($0) removed" }
        for (table, columns) in columns.sorted(by: { $0.key < $1.key }) {
            let parts = [
                (columns.added, "added"), (columns.removed, "removed"), (columns.changed, "changed"),
            ]
            lines += parts.flatMap { names, verb in names.map { "column \(table).\($0) \(verb)" } }
            if parts.allSatisfy(\.0.isEmpty) { lines.append("table \(table) changed") }
        }
        lines += otherSchemaChanges
        for (table, rows) in rows.sorted(by: { $0.key < $1.key }) { lines.append("\(table): \(rows)") }
        for (table, reason) in notCompared.sorted(by: { $0.key < $1.key }) {
            lines.append("\(table) was not compared: \(reason)")
        }
        return lines.isEmpty ? "no difference" : lines.joined(separator: "\n")
    }
}

extension StoreDifference.Rows: CustomStringConvertible {
    /// Such as `2 rows inserted, 1 row deleted`.
    public var description: String {
        let parts = [(inserted, "inserted"), (updated, "updated"), (deleted, "deleted")]
        let texts = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? "row" : "rows") \($0.1)" }
        return texts.isEmpty ? "no row changed" : texts.joined(separator: ", ")
    }
}

extension StoreDifference {
    /// Compares two database files.
    init(from a: StoreComparison.Side, to b: StoreComparison.Side) throws(TestStoreError) {
        do throws(SQLiteError) {
            let comparison = try StoreComparison(a: a, b: b, limits: .none)
            for change in comparison.schemaChanges() { add(change) }
            for table in try comparison.tables() {
                if let problem = table.problem {
                    notCompared[table.name] = problem
                    continue
                }
                let counts = try comparison.countRowChanges(in: table)
                guard counts.total > 0 else { continue }
                rows[table.name] = Rows(
                    inserted: Int(counts.inserted), updated: Int(counts.updated),
                    deleted: Int(counts.deleted))
            }
        } catch {
            throw TestStoreError(error)
        }
    }

    /// Compares two database files that have their journals beside them, if any.
    package init(fromFile old: String, to new: String) throws(TestStoreError) {
        try self.init(
            from: StoreComparison.Side(path: old, isPrivate: false),
            to: StoreComparison.Side(path: new, isPrivate: false))
    }

    private mutating func add(_ change: SchemaChange) {
        switch (change.subject, change.kind) {
        case (.table, .added): addedTables.append(change.name)
        case (.table, .removed): removedTables.append(change.name)
        case (.table, .changed):
            func names(_ kind: SchemaChange.Kind) -> [String] {
                change.columns.filter { $0.kind == kind }.map(\.name)
            }
            columns[change.name] = Columns(
                added: names(.added), removed: names(.removed), changed: names(.changed))
        default:
            let name = change.name.isEmpty ? "" : " \(change.name)"
            otherSchemaChanges.append("\(change.subject.rawValue)\(name) \(change.kind)")
        }
    }
}
