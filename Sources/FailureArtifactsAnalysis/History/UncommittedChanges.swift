package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// A summary of the changes in a transaction: an open one or the last one before the failure.
package struct UncommittedChanges: Encodable, Equatable {
    struct Table: Encodable, Equatable {
        var name: String
        var inserted: Int64
        var updated: Int64
        var deleted: Int64
    }

    /// The schema changes, such as `table account changed`.
    var schema: [String] = []
    /// The tables whose rows differ.
    var tables: [Table] = []
    /// True if all tables were compared.
    package var isComplete = true
    /// The changes in the format of a history's changes.
    private(set) var state = StateChanges()

    private enum CodingKeys: String, CodingKey {
        case schema, tables
        case isComplete = "complete"
    }

    /// Compares two copies that no other code uses.
    ///
    /// - Parameters:
    ///   - committed: The copy with the committed content.
    ///   - seen: The copy with the content that the test saw.
    ///   - timeLimit: The time limit, in seconds. Tables that remain after it aren't compared.
    /// - Returns: The changes.
    /// - Throws: An error if the copies can't be read.
    package static func compare(
        committed: String, seen: String, timeLimit: Double
    ) throws -> UncommittedChanges {
        var changes = UncommittedChanges()
        do {
            let comparison = try StoreComparison(
                a: StoreComparison.Side(path: committed, isPrivate: true),
                b: StoreComparison.Side(path: seen, isPrivate: true),
                deadline: Instant.now.advanced(bySeconds: timeLimit))
            changes.schema = comparison.schemaChanges().map(Self.text)
            try changes.state.add(comparison) { try $0.countRowChanges(in: $1) }
        } catch let error as SQLiteError where error.isInterrupted {
            changes.isComplete = false
        }
        for table in changes.state.tables {
            if table.problem != nil { changes.isComplete = false }
            guard table.inserted + table.updated + table.deleted > 0 else { continue }
            changes.tables.append(
                Table(
                    name: table.name, inserted: table.inserted, updated: table.updated,
                    deleted: table.deleted))
        }
        return changes
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

    /// Returns the sentence with another beginning.
    ///
    /// - Parameters:
    ///   - title: The beginning.
    ///   - name: Returns the displayed name of a table.
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

/// The last transaction of a store before the failure.
package struct LastTransaction: Encodable, Equatable {
    /// The changes that the transaction made.
    package var changes: UncommittedChanges
    /// The transaction's statements, if they are known; otherwise empty.
    package var statements: [StatementRecord]

    /// The maximum size of a store, in bytes.
    ///
    /// Larger stores aren't compared, to keep `show` fast.
    static let maximumBytes: UInt64 = 16 << 20

    /// Compares the last two states of a store's history.
    ///
    /// - Parameters:
    ///   - store: A store of the bundle.
    ///   - copy: The store's copy; nil without a copy.
    ///   - log: The store's statements.
    ///   - bundle: The bundle.
    ///   - scratch: A directory for two copies of the store.
    /// - Returns: The transaction; nil without a history, without changes, or for a large store.
    /// - Throws: An error if the states can't be rebuilt.
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
        // The limit is one second in total, but the comparison has at least 0.2 seconds.
        let changes = try UncommittedChanges.compare(
            committed: old, seen: states.copy, timeLimit: max(1 - start.elapsed, 0.2))
        // The states that are read below have the same names.
        try FileSystem.remove(old)
        if !changes.isComplete, changes.isEmpty { return nil }
        guard !log.isEmpty, changes.isComplete else {
            return LastTransaction(changes: changes, statements: [])
        }
        // The other transactions may be needed to tell the statements apart.
        let statements = try states.statements(
            of: [count], among: log, of: store, seconds: max(1 - start.elapsed, 0.2))[count]
        return LastTransaction(changes: changes, statements: statements ?? [])
    }
}
