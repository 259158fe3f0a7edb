internal import FailureArtifactsSystem

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
        case own, unlockedFileCopy, secondConnection, ownAsLastResort, fileCopy
    }

    private var rungs: [Rung] {
        if store.connections.isEmpty { return [.fileCopy] }
        return store.path == nil
            ? [.ownAsLastResort] : [.own, .unlockedFileCopy, .secondConnection, .ownAsLastResort]
    }

    /// Takes one rung.
    ///
    /// - Returns: How the copy was made; nil where the rung does not apply.
    private mutating func attempt(_ rung: Rung) throws(SnapshotFailure) -> Snapshot.Method? {
        try checkSize(of: snapshot.originalBytes)
        switch rung {
        case .own: return try copyThroughOwnConnection(isLastResort: false)
        case .unlockedFileCopy: return try copyFilesOfOpenStore()
        case .secondConnection:
            // A reader would be in a writer's way.
            if journal == .rollback && snapshot.isTransactionOpen != true { return nil }
            return try copyThroughSecondConnection(to: path, until: deadline)
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
        if store.identity != nil && !fileIsInPlace {
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
