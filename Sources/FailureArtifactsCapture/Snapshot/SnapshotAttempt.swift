internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension Snapshotter {
    /// Copies one store as the test's connection sees it.
    ///
    /// The original's locks, journal mode, WAL and error state stay as they are. To be used on the thread of the failing
    /// test, which tells its own connection from the others'.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - targets: The copy's places.
    ///   - prefersStateBeforeRollback: True if the failure is an error that has left the test's code, and rolled back
    ///     on its way the state that the test is about. Then the state before the rollback is the store, and the state
    ///     after it is the committed state.
    /// - Returns: What was done, and how well. Where it says that there is no copy, there is no file.
    func capture(
        _ store: DiscoveredStore, to targets: Targets, prefersStateBeforeRollback: Bool = false
    ) -> Snapshot {
        redacting(store.path, store.storage, to: targets) { snapshotter, targets in
            snapshotter.withMemory {
                var attempt = SnapshotAttempt(
                    store: store, prefersStateBeforeRollback: prefersStateBeforeRollback,
                    files: FileSnapshot(of: store.source, to: targets, limits: snapshotter))
                attempt.run()
                return attempt.snapshot
            }
        }
    }
}

/// One copy of a store, by the first strategy that applies and succeeds.
struct SnapshotAttempt {
    let store: DiscoveredStore
    let prefersStateBeforeRollback: Bool
    /// The strategies that read files, and what is known of the copy so far.
    var files: FileSnapshot
    /// True if the copy was made inside a read transaction, which may see an older state than others.
    var hasReadTransaction = false

    var snapshot: Snapshot {
        get { files.snapshot }
        set { files.snapshot = newValue }
    }

    var source: StoreSource { files.source }
    var targets: Snapshotter.Targets { files.targets }
    var limits: Snapshotter { files.limits }
    var deadline: Instant { files.deadline }

    /// Tries the strategies in turn.
    mutating func run() {
        files.measureFiles()
        files.learnJournalMode()
        let index = store.files.flatMap { WriteAheadLogIndex(ofFile: $0.walIndex) }
        var failures: [SnapshotFailure] = []
        for strategy in strategies {
            do {
                guard let method = try attempt(strategy) else { continue }
                try files.finishCopy()
                try separateTemporarySchema()
                snapshot.method = method
                // A store that had to be copied by its bytes says itself whether they fit together.
                if method != .fileCopy { snapshot.isConsistent = true }
                switch method {
                case .serialize:
                    copyCommittedState()
                    if snapshot.hasCommittedCopy, let committed = targets.committed {
                        files.recordHistory(besides: committed, since: index)
                    }
                case .beforeRollback: copyStateAfterRollback()
                default:
                    if hasReadTransaction && files.journal == .wal { copyNewerState() }
                    if method == .ownConnection || method == .secondConnection {
                        let newest = snapshot.hasCommittedCopy ? targets.committed : nil
                        files.recordHistory(besides: newest ?? targets.copy, since: index)
                    }
                    files.noteOtherWriters()
                    guard snapshot.isTransactionOpen == true else { break }
                    snapshot.warn(
                        .uncommittedChangesMissing,
                        "A transaction was open; what it had not committed is not in the copy. "
                            + failures.map(\.reason).joined(separator: " "),
                        ["path": store.path.map { .text($0) }])
                }
                return
            } catch {
                failures.append(error)
                files.discardCopy()
                if snapshot.excessiveBytes != nil { break }
            }
        }
        snapshot.reason = failures.map(\.reason).uniqued().joined(separator: " ")
    }

    private enum Strategy {
        case imageBeforeRollback, own, unlockedFileCopy, secondConnection, ownAsLastResort, fileCopy
        case imageAtClose, imageAtStart
    }

    private var strategies: [Strategy] {
        if store.start != nil { return [.imageAtStart] }
        var strategies: [Strategy] = prefersStateBeforeRollback ? [.imageBeforeRollback] : []
        if store.accesses.isEmpty {
            strategies += store.last == nil ? [.fileCopy] : [.imageAtClose, .fileCopy]
        } else if store.path == nil {
            strategies += store.last == nil ? [.ownAsLastResort] : [.ownAsLastResort, .imageAtClose]
        } else if source.foreignVFS != nil {
            // What the file's bytes mean is the VFS's secret.
            strategies += [.own, .secondConnection, .ownAsLastResort, .fileCopy]
        } else {
            strategies += [.own, .unlockedFileCopy, .secondConnection]
            strategies += source.isInPlace ? [.fileCopy] : [.ownAsLastResort, .fileCopy]
        }
        return strategies
    }

    /// Tries one strategy.
    ///
    /// - Returns: How the copy was made; nil where the strategy does not apply.
    private mutating func attempt(_ strategy: Strategy) throws(SnapshotFailure) -> Snapshot.Method? {
        try files.checkSize(of: snapshot.originalBytes)
        switch strategy {
        case .imageBeforeRollback:
            guard let image = store.beforeRollback else { return nil }
            guard try write(image) else {
                snapshot.warn(
                    .stateBeforeRollbackNotKept,
                    "The state before the rollback, \(image.size) bytes, was not kept: too many at once, or too "
                        + "often for a test to be held up by it. The copy is what the rollback has left.",
                    ["path": store.path.map { .text($0) }, "bytes": .number(Int64(image.size))])
                return nil
            }
            snapshot.isTransactionOpen = true
            return .beforeRollback
        case .own: return try copyThroughOwnConnection(isLastResort: false)
        case .unlockedFileCopy: return try files.copyFilesOfOpenStore()
        case .secondConnection:
            // A reader would be in a writer's way.
            if files.journal == .rollback { return nil }
            return try copyThroughSecondConnection(to: targets.copy, until: deadline)
        case .ownAsLastResort: return try copyThroughOwnConnection(isLastResort: true)
        case .fileCopy: return try files.copyFiles()
        case .imageAtClose:
            guard let last = store.last else { return nil }
            guard try write(last) else {
                // A file that is left may still be read.
                if store.files != nil { return nil }
                throw SnapshotFailure(
                    "The store was closed before the failure, and its last \(last.size) bytes were not "
                        + "kept: too many at once, or too often for a test to be held up by it.")
            }
            return .atClose
        case .imageAtStart:
            guard let start = store.start else { return nil }
            if start.size < 0 {
                throw SnapshotFailure(
                    "The store could not be read when the test began to use it: others had locked it.")
            }
            if start.size == 0 {
                try writeEmptyStore()
            } else if try !write(start) {
                throw SnapshotFailure(
                    "The store had \(start.size) bytes when the test began to use it, which were not kept: too "
                        + "many at once.")
            }
            return .atStart
        }
    }

    /// A file that was never written to is empty, and no SQLite database for tools that look at its header.
    private func writeEmptyStore() throws(SnapshotFailure) {
        do {
            let connection = try Connection(path: targets.copy, mode: .create)
            // What is set to what it was is written all the same.
            try connection.execute("PRAGMA user_version = 1; PRAGMA user_version = 0")
        } catch {
            throw SnapshotFailure(error)
        }
    }

    private func write(_ image: SavedState?) throws(SnapshotFailure) -> Bool {
        do {
            return try image?.write(toNewFile: targets.copy) ?? false
        } catch {
            throw SnapshotFailure(error)
        }
    }

    /// Makes a second copy, of what everyone but the test's connection sees.
    private mutating func copyCommittedState() {
        guard store.path != nil, let target = targets.committed else { return }
        do throws(SnapshotFailure) {
            // The transaction is open on this thread's own connection: waiting for its lock is in vain.
            guard try copyThroughSecondConnection(to: target, until: Instant.now) != nil else {
                guard !snapshot.isDeleted else { return }
                throw SnapshotFailure("The system did not tell whether its file is in place.")
            }
            try files.makeStandalone(target)
            snapshot.hasCommittedCopy = true
        } catch {
            try? FileSystem.remove(target)
            snapshot.hasCommittedCopy = copyCommittedFiles(to: target)
            guard !snapshot.hasCommittedCopy else { return }
            snapshot.warn(
                .committedStateNotCopied, "The committed state could not be copied. \(error.reason)",
                ["path": store.path.map { .text($0) }])
        }
    }

    /// Makes a second copy of what others see, if that is not what the test's read transaction sees.
    private mutating func copyNewerState() {
        copyCommittedState()
        guard snapshot.hasCommittedCopy, let target = targets.committed,
            (try? FileSystem.hasSameContent(File(reading: target), File(reading: targets.copy))) != false
        else { return }
        try? FileSystem.remove(target)
        snapshot.hasCommittedCopy = false
    }

    /// Makes that copy where the test's connection has locked everybody out, as a transaction does that has
    /// outgrown its cache: the journal undoes in the copy what is in the file of it.
    ///
    /// - Returns: Whether there is a copy, of the committed state for sure.
    private func copyCommittedFiles(to target: String) -> Bool {
        guard let path = store.path, source.foreignVFS == nil, source.isInPlace else { return false }
        let copy = limitsOfFurtherCopy(seconds: 0.25).capture(
            StoreSource(path: path, identity: store.identity),
            to: .init(copy: target, committed: nil, raw: targets.raw, history: targets.history))
        if copy.method == .fileCopy && copy.isConsistent { return true }
        for path in [target] + copy.rawFiles.map({ targets.raw + $0 }) { try? FileSystem.remove(path) }
        return false
    }

    /// The limits of a copy beside the first one, of what is there now.
    private func limitsOfFurtherCopy(seconds: Double = .infinity) -> Snapshotter {
        var limits = limits
        limits.timeLimit = min(seconds, Instant.now.seconds(until: deadline))
        return limits
    }

    /// Makes a second copy, of what is left after the rollback.
    private mutating func copyStateAfterRollback() {
        // Of a store in memory that ended inside a transaction nothing else is left.
        guard let target = targets.committed, store.last.map({ $0 !== store.beforeRollback }) ?? true
        else { return }
        let after = limitsOfFurtherCopy().capture(
            store,
            to: Snapshotter.Targets(
                copy: target, committed: nil, raw: targets.raw, history: targets.history))
        snapshot.journalMode = after.journalMode ?? snapshot.journalMode
        snapshot.hasCommittedCopy = after.method != .described
        if let reason = after.reason {
            snapshot.warn(
                .stateAfterRollbackNotCopied,
                "The state after the rollback could not be copied. \(reason)",
                ["path": store.path.map { .text($0) }])
        }
        snapshot.warnings += after.warnings.filter { !snapshot.warnings.contains($0) }
        snapshot.rawFiles = after.rawFiles
        snapshot.history = after.history
    }
}

extension DiscoveredStore {
    /// The part of it that reading its files needs.
    var source: StoreSource {
        StoreSource(
            storage: storage, path: path, identity: identity, files: files,
            vfs: accesses.lazy.compactMap(\.connection.vfs).first,
            transactions: accesses.map(\.transaction))
    }
}

extension Sequence where Element: Hashable {
    /// The elements without repetitions, each where it first stood.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
