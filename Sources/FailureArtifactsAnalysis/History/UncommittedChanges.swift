package import FailureArtifactsBundle
package import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// What a transaction has changed, in a few words: an open one, or the last one before the failure.
package struct UncommittedChanges: Encodable, Equatable {
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
    package var isComplete = true
    /// The same in the form that a history's changes have.
    private(set) var state = StateChanges()

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
    /// - Returns: The changes.
    /// - Throws: Why the copies cannot be read.
    package static func compare(
        committed: String, seen: String, timeLimit: Double
    ) throws(SQLiteError) -> UncommittedChanges {
        var changes = UncommittedChanges()
        do throws(SQLiteError) {
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: committed, isPrivate: true),
                b: StoreComparison.Side(path: seen, isPrivate: true),
                deadline: Instant.now.advanced(bySeconds: timeLimit))
            try changes.add(comparison)
        } catch {
            guard error.isInterrupted else { throw error }
            changes.isComplete = false
        }
        return changes
    }

    private mutating func add(_ comparison: borrowing StoreComparison) throws(SQLiteError) {
        let schemaChanges = comparison.schemaChanges()
        schema = schemaChanges.map(Self.text)
        for change in schemaChanges { state.add(change) }
        for table in try comparison.tables() {
            guard table.problem == nil else {
                isComplete = false
                continue
            }
            let counts = try comparison.countRowChanges(in: table)
            guard counts.total > 0 else { continue }
            state.tables.append(
                .init(
                    name: table.name, inserted: counts.inserted, updated: counts.updated,
                    deleted: counts.deleted))
            tables.append(
                Table(
                    name: table.name, inserted: counts.inserted, updated: counts.updated,
                    deleted: counts.deleted))
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

    var isEmpty: Bool { schema.isEmpty && tables.isEmpty }

    /// A sentence without a full stop, such as `Not committed: 2 rows inserted into player`.
    var text: String {
        text(after: "Not committed")
    }

    /// The same with another beginning.
    ///
    /// - Parameters:
    ///   - title: The beginning.
    ///   - name: What people call a table.
    /// - Returns: The text.
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

extension StateChanges {
    fileprivate mutating func add(_ change: SchemaChange) {
        switch change.subject {
        case .userVersion: userVersion = change.new.flatMap(Int64.init)
        case .applicationID: break
        case .table, .index, .view, .trigger:
            let kind: Object.Change =
                switch change.kind {
                case .added: .created
                case .removed: .dropped
                case .changed: .changed
                }
            schema.append(Object(change: kind, type: change.subject.rawValue, name: change.name))
        }
    }
}

/// The last transaction of a store before the failure.
package struct LastTransaction: Encodable, Equatable {
    /// What it changed.
    package var changes: UncommittedChanges
    /// Those that made it, where that is known.
    package var statements: [StatementRecord]

    /// Stores with more bytes are not taken out of their bundle for this: `show` is to be quick.
    static let maximumBytes: UInt64 = 16 << 20

    /// Compares the last two states of a store's history.
    ///
    /// - Parameters:
    ///   - store: One of the bundle's.
    ///   - copy: Its copy; nil where there is none.
    ///   - log: Its statements.
    ///   - bundle: The bundle.
    ///   - scratch: A directory for two copies of it.
    /// - Returns: Nil without a history, without changes, and for a large store.
    /// - Throws: Why the states cannot be rebuilt.
    package static func read(
        of store: BundleMetadata.Store, copy: StoreChoice?, log: [StatementRecord],
        in bundle: BundleReader, scratch: String
    ) throws -> LastTransaction? {
        guard let history = store.history, let entry = history.entry, history.transactions > 0,
            let choice = copy,
            [choice.entry, entry].allSatisfy({ name in
                bundle.size(ofEntry: name).map { $0 <= Self.maximumBytes } ?? false
            })
        else { return nil }
        let start = Instant.now
        let states = try bundle.extractHistory(of: choice, below: scratch)
        defer { try? FileSystem.remove(Path.directory(of: states.copy)) }
        let count = states.reader.transactions.count
        guard count > 0 else { return nil }
        let old = try states.rebuild(count - 1)
        // A second for all of it, of which some is left in any case.
        let changes = try UncommittedChanges.compare(
            committed: old, seen: states.copy, timeLimit: max(1 - start.elapsed, 0.2))
        if !changes.isComplete, changes.isEmpty { return nil }
        guard !log.isEmpty, changes.isComplete else {
            return LastTransaction(changes: changes, statements: [])
        }
        let statements = LoggedTransactions(log, of: store)
            .statements(of: [changes.state], isWhole: false)[0]
        return LastTransaction(changes: changes, statements: statements)
    }
}
