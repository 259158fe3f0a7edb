internal import FailureArtifactsSystem

/// Copies a store into one stand-alone file, as the test's connection sees it at this moment.
///
/// The original's locks, journal mode, WAL and error state stay as they are, and every wait is bounded. To
/// be used on the thread of the failing test, which is what tells its own connection from the others'.
package struct Snapshotter: Sendable {
    /// Where the copies of one store go: files that must not exist.
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
    /// What a transaction has not committed can only be read into memory as a whole: of larger stores the
    /// committed state is copied.
    package var maximumMemory: UInt64
    /// Whether the failure is an error that has left the test's code, and rolled back on its way what the
    /// test is about: then the state before the rollback is the store, and what is left of it is the
    /// committed state.
    package var prefersStateBeforeRollback = false

    /// What keeps out of the copies what must not be in them.
    package var redactor: StoreRedactor?

    package init(timeLimit: Double = 2, maximumBytes: UInt64, maximumMemory: UInt64 = 256 << 20) {
        self.timeLimit = timeLimit
        self.maximumBytes = maximumBytes
        self.maximumMemory = maximumMemory
    }

    /// Copies one store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - targets: Where to.
    /// - Returns: What was done, and how well. Where it says that there is no copy, there is no file.
    package func capture(_ store: DiscoveredStore, to targets: Targets) -> Snapshot {
        if let redactor { return capture(store, to: targets, redactedBy: redactor) }
        var attempt = SnapshotAttempt(store: store, targets: targets, limits: self)
        attempt.run()
        return attempt.snapshot
    }
}
