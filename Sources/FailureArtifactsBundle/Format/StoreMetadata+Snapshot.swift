package import FailureArtifactsSQLite

extension BundleMetadata.Store {
    /// Describes a captured store.
    ///
    /// The description names the entries that exist. The copy took `duration` seconds.
    package init(
        _ snapshot: Snapshot, named name: String, originalPath: String?, isShared: Bool,
        openedBy opener: Opener? = nil, duration: Double, entries: StoreEntries, bytes: UInt64?
    ) {
        self.init(
            name: name, entry: snapshot.method == .described ? nil : entries.copy,
            committedEntry: snapshot.hasCommittedCopy ? entries.committed : nil,
            rawEntries: snapshot.rawFiles.isEmpty ? nil : snapshot.rawFiles.map { entries.raw + $0 },
            originalPath: originalPath, deleted: snapshot.isDeleted ? true : nil,
            storage: snapshot.storage,
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
            self.history = History(history, in: entries.history)
        }
    }

    /// The entries of the store's copies.
    package var stagedEntries: [String] {
        [entry, committedEntry, history?.entry].compactMap(\.self) + (rawEntries ?? [])
    }

    /// Returns the description of the store without its copy, for a copy that could not be kept.
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

/// A generator of unique store names: no two entries of a bundle collide.
package struct StoreNames {
    private var names = UniqueNames()

    package init() {}

    /// Returns a name for a store that is safe in a path and was not returned before.
    package mutating func claim(_ name: String) -> String {
        names.claim(
            SafeName.make(from: name, maximumBytes: 150), variants: [StoreEntries.committedSuffix])
    }
}

/// The names of a store's entries in a bundle.
///
/// The entries of stores with different names from ``StoreNames`` have different names.
package struct StoreEntries: Sendable {
    /// The end of the name of a committed copy.
    package static let committedSuffix = ".committed"

    package let copy: String
    package let committed: String
    /// The start of the names of the raw files.
    package let raw: String
    package let statements: String
    package let history: String

    /// Names the entries of a store in `stores`, or in the folder of a snapshot.
    package init(of name: String, in folder: String) {
        copy = "\(folder)/\(name).sqlite"
        committed = "\(folder)/\(name)\(Self.committedSuffix).sqlite"
        let top = folder == "stores" ? "" : folder + "/"
        history = "\(top)history/\(name).wal-history"
        statements = "\(top)statements/\(name).jsonl"
        // Beside the stand-alone copy, SQLite would take a raw journal for the copy's own.
        raw = "\(top)raw/\(name).sqlite"
    }
}
