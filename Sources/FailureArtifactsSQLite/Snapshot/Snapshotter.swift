internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

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

/// Why a rung of the ladder did not give a copy.
struct SnapshotFailure: Error {
    /// A full sentence.
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    init(_ error: SQLiteError) {
        reason = "SQLite could not \(error.operation): \(error.message) (error \(error.code))."
    }

    init(_ error: SystemError) {
        reason = "The system could not \(error.operation) '\(error.path)': \(error.reason)."
    }

    init(_ refusal: LendingRefusal) {
        switch refusal {
        case .ended:
            reason = "The connection was closed while the capture was made."
        case .busy:
            reason = "Another thread was using the connection for longer than the time limit."
        case .belongsToOtherThread:
            reason =
                "The connection has no mutex and was used last by another thread, "
                + "so that it cannot be used safely from the thread of the failure."
        }
    }
}

/// One run down the ladder of ways to copy a store.
struct SnapshotAttempt {
    let store: DiscoveredStore
    let path: String
    let committedPath: String
    let limits: Snapshotter
    let deadline: Instant
    var snapshot: Snapshot

    init(store: DiscoveredStore, path: String, committedPath: String, limits: Snapshotter) {
        self.store = store
        self.path = path
        self.committedPath = committedPath
        self.limits = limits
        deadline = Instant.now.advanced(bySeconds: limits.timeLimit)
        snapshot = Snapshot(storage: store.path == nil ? .memory : .file)
    }

    /// Tries the rungs in turn, the first that applies and succeeds makes the copy.
    mutating func run() {
        measureFiles()
        var failures: [SnapshotFailure] = []
        for rung in rungs {
            do {
                guard let method = try attempt(rung) else { continue }
                try makeStandalone(path)
                snapshot.method = method
                // A store that had to be copied by its bytes says itself whether they fit together.
                if method != .fileCopy { snapshot.isConsistent = true }
                if method == .serialize {
                    copyCommittedState()
                } else if snapshot.isTransactionOpen == true {
                    snapshot.warnings.append(
                        "A transaction was open; what it had not committed is not in the copy. "
                            + failures.map(\.reason).joined(separator: " "))
                }
                return
            } catch {
                failures.append(error)
                try? FileSystem.remove(path)
                if snapshot.excessiveBytes != nil { break }
            }
        }
        snapshot.reason = failures.map(\.reason).uniqued().joined(separator: " ")
    }

    private enum Rung {
        case own, secondConnection, ownAsLastResort, fileCopy
    }

    private var rungs: [Rung] {
        if store.connections.isEmpty { return [.fileCopy] }
        return store.path == nil ? [.ownAsLastResort] : [.own, .secondConnection, .ownAsLastResort]
    }

    /// Takes one rung.
    ///
    /// - Returns: How the copy was made; nil where the rung does not apply.
    private mutating func attempt(_ rung: Rung) throws(SnapshotFailure) -> Snapshot.Method? {
        try checkSize(of: snapshot.originalBytes)
        switch rung {
        case .own: return try copyThroughOwnConnection(isLastResort: false)
        case .secondConnection: return try copyThroughSecondConnection(to: path, until: deadline)
        case .ownAsLastResort: return try copyThroughOwnConnection(isLastResort: true)
        case .fileCopy: return try copyFiles()
        }
    }

    mutating func checkSize(of bytes: UInt64?) throws(SnapshotFailure) {
        guard let bytes, bytes > limits.maximumBytes else { return }
        snapshot.excessiveBytes = bytes
        throw SnapshotFailure(
            "The store has \(bytes) bytes, more than the \(limits.maximumBytes) that may be copied.")
    }

    /// Looks at the original's files from outside.
    private mutating func measureFiles() {
        guard let original = store.path else { return }
        snapshot.originalBytes = try? FileSystem.status(of: original)?.size
        snapshot.walBytes = try? FileSystem.status(of: original + "-wal")?.size
        guard let identity = store.identity else { return }
        if (try? FileSystem.status(of: original)?.identity) != identity {
            snapshot.warnings.append(
                "The file '\(original)' was deleted or replaced while the test had it open.")
        }
    }

    /// Whether the path still names the file that the connections have open.
    var fileIsInPlace: Bool {
        guard let original = store.path, let identity = store.identity else { return false }
        return (try? FileSystem.status(of: original)?.identity) == identity
    }

    /// Makes a second copy, of what everyone but the test's connection sees.
    private mutating func copyCommittedState() {
        guard store.path != nil else { return }
        do {
            // The transaction is open on this thread's own connection: waiting for its lock is in vain.
            _ = try copyThroughSecondConnection(to: committedPath, until: Instant.now)
            try makeStandalone(committedPath)
            snapshot.hasCommittedCopy = true
        } catch {
            try? FileSystem.remove(committedPath)
            snapshot.warnings.append("The committed state could not be copied. \(error.reason)")
        }
    }

    /// Has a copy of a WAL database open without a WAL, anywhere.
    ///
    /// Bytes 18 and 19 of the header are the write and read version: 2 for WAL, 1 for a rollback journal
    /// (<https://www.sqlite.org/fileformat2.html#file_format_version_numbers>). All of the WAL's content is
    /// in the copy already.
    private mutating func makeStandalone(_ path: String) throws(SnapshotFailure) {
        do {
            let file = try File(updating: path)
            var version: [UInt8] = [0, 0]
            let count = try version.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: 18)
            }
            guard count == 2, version == [2, 2] else { return }
            if snapshot.journalMode == nil { snapshot.journalMode = "wal" }
            try [1, 1].withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: 18) }
            try file.close()
        } catch {
            throw SnapshotFailure(error)
        }
    }
}

extension Sequence where Element: Hashable {
    /// The elements without repetitions, each where it first stood.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
