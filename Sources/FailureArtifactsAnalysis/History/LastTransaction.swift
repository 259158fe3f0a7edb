package import FailureArtifactsBundle
package import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// The last transaction of a store before the failure.
package struct LastTransaction: Encodable, Equatable {
    /// What it changed.
    package var changes: UncommittedChanges
    /// Those that made it, where that is known.
    package var statements: [StatementRecord]

    /// Stores with more bytes are not taken out of their bundle for this: `show` is to be quick.
    static let maximumBytes: UInt64 = 16 << 20

    /// Compares the last two states of a store's history; nil where there is none, or the store is a large one.
    ///
    /// - Parameters:
    ///   - store: One of the bundle's.
    ///   - copy: Its copy; nil where there is none.
    ///   - log: Its statements.
    ///   - bundle: The bundle.
    ///   - scratch: A directory for two copies of it.
    /// - Throws: Why the states cannot be rebuilt.
    package init?(
        of store: BundleMetadata.Store, _ copy: StoreChoice?, _ log: [StatementRecord],
        in bundle: BundleReader, scratch: String
    ) throws {
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
        changes = try UncommittedChanges(
            committed: old, seen: states.copy, timeLimit: max(1 - start.elapsed, 0.2))
        statements = []
        if !changes.isComplete, changes.isEmpty { return nil }
        guard !log.isEmpty, changes.isComplete else { return }
        statements =
            LoggedTransactions(log, of: store).statements(of: [changes.state], isWhole: false)[0]
    }
}
