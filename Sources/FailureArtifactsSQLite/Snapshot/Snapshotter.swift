internal import FailureArtifactsSystem

/// Copies a store into one stand-alone file, within limits.
///
/// The original's locks, journal mode and WAL stay as they are, and every wait is bounded.
package struct Snapshotter: Sendable {
    /// The files of one store's copies, none of which may exist.
    ///
    /// The directories of the copies have to exist; those of ``raw`` and ``history``, which few stores have, are
    /// created when they are needed.
    package struct Targets: Sendable {
        /// The copy.
        package let copy: String
        /// The committed state, where a transaction is open; nil if it is of no interest.
        package let committed: String?
        /// The database file as it was where its journal can't be folded in; the journal's name begins with
        /// this path.
        package let raw: String
        /// The history of a store in WAL mode; nil if it is of no interest.
        package let history: String?

        package init(copy: String, committed: String?, raw: String, history: String? = nil) {
            self.copy = copy
            self.committed = committed
            self.raw = raw
            self.history = history
        }
    }

    /// Seconds to wait for locks and for other threads, for one store.
    package var timeLimit: Double
    /// Larger stores are described, not copied.
    package var maximumBytes: UInt64
    /// The largest history file in bytes; of more the newest transactions are kept.
    package var maximumHistoryBytes: UInt64 = 64 << 20
    /// Seconds that recording a history may take, within ``timeLimit``.
    package var historyTimeLimit: Double = 1
    /// The largest store, in bytes, that may be read into memory as a whole, as uncommitted changes require.
    ///
    /// Of larger stores the committed state is copied.
    package var maximumMemory: UInt64
    /// Removes secrets from the copies.
    package var redactor: StoreRedactor?

    package init(timeLimit: Double = 2, maximumBytes: UInt64, maximumMemory: UInt64 = 256 << 20) {
        self.timeLimit = timeLimit
        self.maximumBytes = maximumBytes
        self.maximumMemory = maximumMemory
    }

    /// Copies one store by its files.
    ///
    /// - Parameters:
    ///   - source: The store.
    ///   - targets: The copy's places.
    /// - Returns: What was done, and how well. Where it says that there is no copy, there is no file.
    package func capture(_ source: StoreSource, to targets: Targets) -> Snapshot {
        redacting(source.path, source.storage, to: targets) { snapshotter, targets in
            snapshotter.withMemory {
                var copy = FileSnapshot(of: source, to: targets, limits: snapshotter)
                copy.run()
                return copy.snapshot
            }
        }
    }

    /// Makes a copy with enough memory: the application's limit on SQLite's memory is not meant for it.
    package func withMemory(_ copy: () -> Snapshot) -> Snapshot {
        Connection.exceedingMemoryLimit(by: Int64(clamping: maximumMemory) * 2, copy)
    }
}
