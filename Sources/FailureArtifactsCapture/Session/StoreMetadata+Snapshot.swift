internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata.Store {
    /// Seconds for `quick_check`, and again for counting rows.
    private static let inspectionTimeLimit = 1.0

    /// Describes what came of the copy of a store.
    ///
    /// - Parameters:
    ///   - snapshot: What was done.
    ///   - found: The store.
    ///   - duration: How long the copy took, in seconds.
    ///   - copy: The copy's entry and file, and the entry of the committed state should there be one; nil
    ///     where there is no copy.
    init(
        _ snapshot: Snapshot, of found: FoundStores.Store, duration: Double,
        copy: (entry: String, path: String, committedEntry: String)?
    ) {
        self.init(
            name: found.name, entry: copy?.entry,
            committedEntry: snapshot.hasCommittedCopy ? copy?.committedEntry : nil,
            originalPath: found.store.path,
            storage: Storage(rawValue: snapshot.storage.rawValue) ?? .file,
            journalMode: snapshot.journalMode, transactionOpen: snapshot.isTransactionOpen,
            capture: Capture(
                method: snapshot.method.rawValue, consistent: snapshot.isConsistent,
                duration: duration,
                checkpoint: snapshot.foldedJournal ? .copy : .none, reason: snapshot.reason),
            bytes: Bytes(original: snapshot.originalBytes, wal: snapshot.walBytes))
        guard let copy else { return }
        bytes.copy = try? FileSystem.status(of: copy.path)?.size
        inspect(copy.path)
    }

    /// How many bytes the copies have; that of the committed state counts as much as the other.
    var copiedBytes: UInt64 { (bytes.copy ?? 0) * (committedEntry == nil ? 1 : 2) }

    /// The same store where the copy could not be kept, with what is known of it.
    func described(because reason: String) -> BundleMetadata.Store {
        var result = self
        result.entry = nil
        result.committedEntry = nil
        result.capture.method = Snapshot.Method.described.rawValue
        result.capture.consistent = false
        result.capture.reason = capture.reason ?? reason
        return result
    }

    private mutating func inspect(_ path: String) {
        do throws(SQLiteError) {
            let inspection = try StoreInspection(ofFile: path, timeLimit: Self.inspectionTimeLimit)
            pageSize = Int(inspection.pageSize)
            pageCount = inspection.pageCount
            freePageCount = inspection.freePageCount
            userVersion = inspection.userVersion
            applicationID = inspection.applicationID
            integrity = inspection.integrity
            setSchema(inspection.schema)
            tables = inspection.tables.map {
                BundleMetadata.Store.Table(name: $0.name, rows: $0.rows, exact: $0.isExact)
            }
        } catch {
            // A file that is no database, or too broken for one: what SQLite says of it is its integrity.
            integrity = error.message
        }
    }
}
