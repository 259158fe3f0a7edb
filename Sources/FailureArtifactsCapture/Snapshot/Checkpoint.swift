internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite

extension DiscoveredStore {
    /// Moves all of the store's WAL into its database file and empties the WAL, without waiting for locks.
    ///
    /// This is the only operation that changes a test's store. It runs only if the configuration requests it. The
    /// result is nil for a store without a file.
    func checkpoint() throws(SQLiteError) -> BundleMetadata.Store.CheckpointResult? {
        guard let path else { return nil }
        guard isOfSystemLibrary else {
            throw SQLiteError(
                "checkpoint a store", code: SQLITE_MISUSE,
                message: "it was opened by another copy of SQLite, whose locks would be dropped")
        }
        let connection = try Connection(path: path, mode: .readWrite, vfs: source.foreignVFS)
        let statement = try connection.prepare("PRAGMA wal_checkpoint(TRUNCATE)")
        guard try statement.step() else { return nil }
        func number(_ column: Int) -> Int64 {
            guard case .integer(let number) = statement.value(at: column) else { return -1 }
            return number
        }
        return .init(busy: number(0) != 0, log: number(1), checkpointed: number(2))
    }
}
