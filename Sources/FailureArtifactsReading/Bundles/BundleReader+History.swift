package import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// A store's history, extracted from its bundle together with the matching copy.
package struct ExtractedHistory: ~Copyable, Sendable {
    package let entry: String
    package let reader: HistoryReader
    /// The path of the copy with the last state.
    package let copy: String
    private let directory: String

    fileprivate init(
        entry: String, reader: consuming HistoryReader, copy: String, directory: String
    ) {
        self.entry = entry
        self.reader = reader
        self.copy = copy
        self.directory = directory
    }

    /// Rebuilds a state.
    ///
    /// - `state`: the state, from 0 to the number of transactions.
    /// - `path`: the path of the new file, which must not exist; nil for a name that contains the state.
    package func rebuild(_ state: Int, to path: String? = nil) throws(BundleError) -> String {
        let path = path ?? Path.join(directory, "\(name(of: state)).sqlite")
        try reader.rebuild(at: state, from: copy, to: path)
        return path
    }

    /// Changes a rebuilt file to the next state.
    package func advance(_ path: String, from state: Int) throws(BundleError) {
        try reader.advance(path, from: state)
    }

    package func state(of commit: CommitReference) throws(BundleError) -> Int {
        try reader.state(of: commit)
    }

    /// Returns the stem of the file name for a state: `ledger.at-2`.
    package func name(of state: Int) -> String { "\(Path.stem(of: Path.name(of: entry))).at-\(state)" }
}

extension BundleReader {
    /// Extracts a store's history.
    ///
    /// - `choice`: one of the store's copies. The history always belongs to the committed one.
    /// - `directory`: an existing directory. The files go to a new directory in it.
    package func extractHistory(
        of choice: StoreChoice, below directory: String
    ) throws(BundleError) -> ExtractedHistory {
        let store = choice.store
        guard let entry = store.history?.entry, let copyEntry = store.committedEntry ?? store.entry
        else {
            throw BundleError(location.description, .noHistory(store.name, store.missingHistory))
        }
        guard !store.isCopyUncommitted else {
            throw BundleError(
                location.description,
                .noHistory(
                    store.name,
                    "It has a history of committed transactions, but no committed copy to apply it to.")
            )
        }
        let folder: String
        do {
            folder = try FileSystem.createUniqueDirectory(in: directory, prefix: "history-")
        } catch {
            throw BundleError(location.description, .system(error))
        }
        let copy = Path.join(folder, "copy")
        let file = Path.join(folder, "history")
        try extract(entryNamed: copyEntry, toNewFile: copy)
        try extract(entryNamed: entry, toNewFile: file)
        return ExtractedHistory(
            entry: entry,
            reader: try HistoryReader(path: file, entry: entry, of: location.description), copy: copy,
            directory: folder)
    }
}

extension BundleMetadata.Store {
    /// The reason why there is no history, as full sentences; nil if there is one, or if the reason is unknown.
    package var missingHistory: String? {
        guard history?.entry == nil else { return nil }
        if let reason = history?.reason { return reason }
        guard storage == .file else { return "No transaction was recorded." }
        guard let journalMode else { return nil }
        guard journalMode == "wal" else { return "No transaction was recorded since it was opened." }
        guard bytes.wal ?? 0 > 0 else {
            return
                "It had no WAL at the failure, so its transactions were in the database already. SQLite "
                + "checkpoints the WAL when the last connection is closed: keep the store open until the assertion."
        }
        // The WAL was read.
        guard history != nil else { return nil }
        return
            "Its WAL had no transaction at the failure: a checkpoint had moved them into the database."
    }

    /// True if the only copy contains uncommitted changes. The history's pages don't match it then.
    fileprivate var isCopyUncommitted: Bool {
        guard committedEntry == nil else { return false }
        return switch Snapshot.Method(rawValue: capture.method) {
        case .serialize: transactionOpen == true
        case .beforeRollback: true
        default: false
        }
    }
}
