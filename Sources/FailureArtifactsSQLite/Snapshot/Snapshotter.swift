/// Copies a store into one stand-alone file, as the test's connection sees it at this moment.
///
/// The original's locks, journal mode, WAL and error state stay as they are, and every wait is bounded. To
/// be used on the thread of the failing test, which is what tells its own connection from the others'.
package struct Snapshotter: Sendable {
    /// Seconds to wait for locks and for other threads, for one store.
    package var timeLimit: Double
    /// Larger stores are described, not copied.
    package var maximumBytes: UInt64
    /// What a transaction has not committed can only be read into memory as a whole: of larger stores the
    /// committed state is copied.
    package var maximumMemory: UInt64

    package init(timeLimit: Double = 2, maximumBytes: UInt64, maximumMemory: UInt64 = 256 << 20) {
        self.timeLimit = timeLimit
        self.maximumBytes = maximumBytes
        self.maximumMemory = maximumMemory
    }

    /// Copies one store.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - path: The copy's file, which must not exist.
    ///   - committedPath: Likewise, for the committed state where a transaction is open.
    /// - Returns: What was done, and how well. Where it says that there is no copy, there is no file.
    package func capture(
        _ store: DiscoveredStore, to path: String, committedTo committedPath: String
    ) -> Snapshot {
        var attempt = SnapshotAttempt(
            store: store, path: path, committedPath: committedPath, limits: self)
        attempt.run()
        return attempt.snapshot
    }
}
