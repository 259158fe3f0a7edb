internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension BundleMetadata.Store {
    /// Describes what came of the copy of a store.
    ///
    /// - Parameters:
    ///   - snapshot: What was done.
    ///   - found: The store.
    ///   - duration: How long the copy took, in seconds.
    ///   - entries: The entries that the copies would have; those that exist are named.
    ///   - bytes: The size of the copy; nil where there is none.
    init(
        _ snapshot: Snapshot, of found: FoundStores.Store, duration: Double, entries: StoreEntries,
        bytes: UInt64?
    ) {
        self.init(
            name: found.name, entry: snapshot.method == .described ? nil : entries.copy,
            committedEntry: snapshot.hasCommittedCopy ? entries.committed : nil,
            rawEntries: snapshot.rawFiles.isEmpty ? nil : snapshot.rawFiles.map { entries.raw + $0 },
            originalPath: found.store.path, deleted: snapshot.isDeleted ? true : nil,
            storage: Storage(rawValue: snapshot.storage.rawValue) ?? .file,
            shared: found.isShared ? true : nil,
            journalMode: snapshot.journalMode, vfs: snapshot.vfs,
            transactionOpen: snapshot.isTransactionOpen,
            capture: Capture(
                method: snapshot.method.rawValue, consistent: snapshot.isConsistent,
                duration: duration,
                checkpoint: snapshot.foldedJournal ? .copy : .none, reason: snapshot.reason),
            bytes: Bytes(original: snapshot.originalBytes, wal: snapshot.walBytes, copy: bytes))
    }

    /// The entries that its copies have.
    var spooledEntries: [String] { [entry, committedEntry].compactMap(\.self) + (rawEntries ?? []) }

    /// The same store where the copy could not be kept, with what is known of it.
    func described(because reason: String) -> BundleMetadata.Store {
        var result = self
        result.entry = nil
        result.committedEntry = nil
        result.rawEntries = nil
        result.capture.method = Snapshot.Method.described.rawValue
        result.capture.consistent = false
        result.capture.reason = capture.reason ?? reason
        return result
    }
}

/// The names of a store's entries in a bundle.
struct StoreEntries {
    let copy: String
    let committed: String
    /// The start of the names of the raw files.
    let raw: String

    /// - Parameters:
    ///   - name: The store's name, unique in the bundle.
    ///   - folder: `stores`, or that of a snapshot.
    init(of name: String, in folder: String) {
        copy = "\(folder)/\(name).sqlite"
        committed = "\(folder)/\(name).committed.sqlite"
        // Beside the others it would be taken for the journal of the stand-alone copy.
        raw = "\(folder == "stores" ? "" : folder + "/")raw/\(name).sqlite"
    }
}
