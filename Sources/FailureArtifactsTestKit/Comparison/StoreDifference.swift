internal import FailureArtifactsReading
internal import FailureArtifactsSQLite

/// The changes to schema and rows that turn one store into another.
///
/// ```swift
/// let difference = try stores.difference(from: "App V1", to: "App V2")
/// #expect(difference.columns["game"]?.added == ["rating"])
/// #expect(difference.rows["game"] == nil)     // every game is still there, as it was
/// ```
///
/// Two values are equal if their types and bytes are equal. If the columns of a table differ, its rows are compared by
/// the columns that both stores have.
public struct StoreDifference: Equatable, Sendable {
    /// The numbers of rows of one table that differ.
    public struct Rows: Equatable, Sendable {
        /// The number of rows that only the new store has.
        public var inserted: Int
        /// The number of rows with different values in at least one column.
        public var updated: Int
        /// The number of rows that only the old store has.
        public var deleted: Int

        /// Creates counts.
        ///
        /// - Parameters:
        ///   - inserted: The number of rows that only the new store has.
        ///   - updated: The number of rows with different values in at least one column.
        ///   - deleted: The number of rows that only the old store has.
        public init(inserted: Int = 0, updated: Int = 0, deleted: Int = 0) {
            self.inserted = inserted
            self.updated = updated
            self.deleted = deleted
        }
    }

    /// The names of one table's columns that differ.
    public struct Columns: Equatable, Sendable {
        /// The columns that only the new store has.
        public var added: [String]
        /// The columns that only the old store has.
        public var removed: [String]
        /// The columns whose declarations differ.
        public var changed: [String]

        /// Creates a list of columns.
        ///
        /// - Parameters:
        ///   - added: The columns that only the new store has.
        ///   - removed: The columns that only the old store has.
        ///   - changed: The columns whose declarations differ.
        public init(added: [String] = [], removed: [String] = [], changed: [String] = []) {
            self.added = added
            self.removed = removed
            self.changed = changed
        }
    }

    /// The tables that only the new store has, sorted by name.
    public var addedTables: [String] = []
    /// The tables that only the old store has, sorted by name.
    public var removedTables: [String] = []
    /// The differing columns of each table that is in both stores, by the table's name.
    public var columns: [String: Columns] = [:]
    /// Descriptions of other changes to the schema, such as `index fruit_name added` and `user_version changed`.
    public var otherSchemaChanges: [String] = []
    /// The numbers of differing rows, by the table's name; tables whose rows are equal are absent.
    public var rows: [String: Rows] = [:]
    /// The reason for each table whose rows could not be compared, by the table's name.
    public var notCompared: [String: String] = [:]

    /// A Boolean value that indicates whether no difference was found in what could be compared.
    public var isEmpty: Bool { self == StoreDifference(notCompared: notCompared) }

    /// The empty difference.
    public static var none: StoreDifference { StoreDifference() }
}

extension StoreDifference: CustomStringConvertible {
    /// The changes, one on each line; `no difference` without any.
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
    /// The counts that aren't 0, such as `2 rows inserted, 1 row deleted`; otherwise `no row changed`.
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

    /// Compares two database files, each with its journal or WAL beside it, if any.
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
