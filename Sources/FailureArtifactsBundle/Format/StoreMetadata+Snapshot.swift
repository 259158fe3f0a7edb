package import FailureArtifactsSQLite

extension BundleMetadata.Store {
    /// Describes what came of the copy of a store.
    ///
    /// - Parameters:
    ///   - snapshot: What was done.
    ///   - name: The store's name, unique in the bundle.
    ///   - originalPath: The path of its file; nil for a store without one.
    ///   - isShared: Whether other tests may have used it too.
    ///   - opener: The test that opened it; nil where it is the failing test, none, or not known.
    ///   - duration: How long the copy took, in seconds.
    ///   - entries: The entries that the copies would have; those that exist are named.
    ///   - bytes: The size of the copy; nil where there is none.
    package init(
        _ snapshot: Snapshot, named name: String, originalPath: String?, isShared: Bool,
        openedBy opener: Opener? = nil, duration: Double, entries: StoreEntries, bytes: UInt64?
    ) {
        self.init(
            name: name, entry: snapshot.method == .described ? nil : entries.copy,
            committedEntry: snapshot.hasCommittedCopy ? entries.committed : nil,
            rawEntries: snapshot.rawFiles.isEmpty ? nil : snapshot.rawFiles.map { entries.raw + $0 },
            originalPath: originalPath, deleted: snapshot.isDeleted ? true : nil,
            storage: Storage(rawValue: snapshot.storage.rawValue) ?? .file,
            shared: isShared ? true : nil, openedBy: opener,
            journalMode: snapshot.journalMode, vfs: snapshot.vfs,
            transactionOpen: snapshot.isTransactionOpen,
            capture: Capture(
                method: snapshot.method.rawValue, consistent: snapshot.isConsistent,
                duration: duration,
                checkpoint: snapshot.foldedJournal ? .copy : .none, reason: snapshot.reason),
            bytes: Bytes(original: snapshot.originalBytes, wal: snapshot.walBytes, copy: bytes))
        redactions = snapshot.redaction?.summaries
        if snapshot.method != .described, let history = snapshot.history {
            self.history = History(
                entry: history.transactions > 0 ? entries.history : nil,
                transactions: history.transactions, bytes: history.bytes, reason: history.reason)
        }
    }

    /// The entries that its copies have.
    package var stagedEntries: [String] {
        [entry, committedEntry, history?.entry].compactMap(\.self) + (rawEntries ?? [])
    }

    /// The same store where the copy could not be kept, with what is known of it.
    package func described(because reason: String) -> BundleMetadata.Store {
        var result = self
        result.entry = nil
        result.committedEntry = nil
        result.rawEntries = nil
        result.history = nil
        result.statements = nil
        result.redactions = nil
        result.capture.method = Snapshot.Method.described.rawValue
        result.capture.consistent = false
        result.capture.reason = capture.reason ?? reason
        return result
    }
}

/// Gives each store of a bundle a name, so that no two entries collide.
package struct StoreNames {
    private var names = UniqueNames()

    package init() {}

    /// The name of a store.
    ///
    /// - Parameter name: The name that it has elsewhere, such as that of its file without the extension.
    /// - Returns: A name that is fit for a file, and was not given before.
    package mutating func claim(_ name: String) -> String {
        names.claim(
            SafeName.make(from: name, maximumBytes: 150), variants: [StoreEntries.committedSuffix])
    }
}

/// The names of a store's entries in a bundle.
///
/// Those of stores with names from ``StoreNames`` differ.
package struct StoreEntries: Sendable {
    /// The end of the name of a committed copy.
    package static let committedSuffix = ".committed"

    package let copy: String
    package let committed: String
    /// The start of the names of the raw files.
    package let raw: String
    package let statements: String
    package let history: String

    /// - Parameters:
    ///   - name: The store's name, unique in the bundle.
    ///   - folder: `stores`, or that of a snapshot.
    package init(of name: String, in folder: String) {
        copy = "\(folder)/\(name).sqlite"
        committed = "\(folder)/\(name)\(Self.committedSuffix).sqlite"
        let top = folder == "stores" ? "" : folder + "/"
        history = "\(top)history/\(name).wal-history"
        statements = "\(top)statements/\(name).jsonl"
        // Beside the others it would be taken for the journal of the stand-alone copy.
        raw = "\(top)raw/\(name).sqlite"
    }
}
