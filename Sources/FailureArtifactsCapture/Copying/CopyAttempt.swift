internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

extension StoreCopier {
    /// Copies one store as the test's connection sees it.
    ///
    /// The original's locks, journal mode, WAL and error state stay unchanged. Call it on the thread of the failing
    /// test, because the thread identifies the test's own connection.
    ///
    /// If it reports no copy, there is no file.
    ///
    /// - `prefersStateBeforeRollback`: true if the failure is an error that left the test's code, which may
    ///   have rolled back the relevant state. Then the copy is the state before the rollback, and the committed
    ///   state is the state after it.
    func capture(
        _ store: DiscoveredStore, to targets: Targets, prefersStateBeforeRollback: Bool = false
    ) -> StoreCopy {
        redacting(store.path, store.storage, to: targets) { copier, targets in
            copier.withMemory {
                var attempt = CopyAttempt(
                    store: store, prefersStateBeforeRollback: prefersStateBeforeRollback,
                    files: FileCopy(of: store.source, to: targets, limits: copier))
                attempt.run()
                attempt.addRecordedStates()
                return attempt.storeCopy
            }
        }
    }
}

/// One copy of a store, by the first strategy that applies and succeeds.
struct CopyAttempt {
    let store: DiscoveredStore
    let prefersStateBeforeRollback: Bool
    /// The strategies that read files, with the results so far.
    var files: FileCopy
    /// True if the copy was made inside a read transaction, which may see an older state than others.
    var hasReadTransaction = false
    /// True if no page of the open transaction is in the store's file.
    var isUnspilled = false
    /// True if the store's file is encrypted and may not be copied in plain.
    var isSealed = false

    var storeCopy: StoreCopy {
        get { files.storeCopy }
        set { files.storeCopy = newValue }
    }

    var source: StoreSource { files.source }
    var targets: StoreCopier.Targets { files.targets }
    var limits: StoreCopier { files.limits }
    var deadline: Instant { files.deadline }

    /// Tries the strategies in turn.
    mutating func run() {
        files.measureFiles()
        files.learnJournalMode()
        files.noteLockHolder()
        let index = store.files.flatMap { WriteAheadLogIndex(ofFile: $0.walIndex) }
        var failures: [CopyFailure] = []
        for strategy in strategies {
            do {
                guard let method = try attempt(strategy) else { continue }
                try files.finishCopy()
                try separateTemporarySchema()
                storeCopy.method = method
                // A copy of the files has already checked its own consistency.
                if method != .fileCopy { storeCopy.isConsistent = true }
                switch method {
                case .pageCache:
                    guard storeCopy.isTransactionOpen == true else { break }
                    copyCommittedState()
                    if storeCopy.hasCommittedCopy, let committed = targets.committed {
                        files.recordHistory(besides: committed, since: index)
                    }
                case .beforeRollback: copyStateAfterRollback()
                case .recorded:
                    storeCopy.warnings.add(
                        store.reasonForNoFiles == nil ? .uncommittedChangesMissing : .filesNotKept,
                        (["The copy is the last committed state, which was recorded while the test ran."]
                            + failures.map(\.reason)).joined(separator: " "),
                        path: store.path)
                default:
                    if hasReadTransaction && files.journal == .wal { copyNewerState() }
                    if method == .ownConnection || method == .secondConnection {
                        let newest = storeCopy.hasCommittedCopy ? targets.committed : nil
                        files.recordHistory(besides: newest ?? targets.copy, since: index)
                    }
                    files.noteOtherWriters()
                    guard storeCopy.isTransactionOpen == true else { break }
                    storeCopy.warnings.add(
                        .uncommittedChangesMissing,
                        (["A transaction was open; what it had not committed is not in the copy."]
                            + failures.map(\.reason)).joined(separator: " "),
                        path: store.path)
                }
                return
            } catch {
                failures.append(error)
                files.discardCopy()
                if storeCopy.excessiveBytes != nil { break }
            }
        }
        storeCopy.reason = failures.map(\.reason).uniqued().joined(separator: " ")
    }

    private enum Strategy {
        case beforeRollback, ownConnection, unlockedFileCopy, secondConnection,
            ownConnectionAsLastResort, fileCopy
        case atClose, recorded
    }

    private var strategies: [Strategy] {
        var strategies: [Strategy] = prefersStateBeforeRollback ? [.beforeRollback] : []
        if store.accesses.isEmpty {
            strategies += store.last == nil ? [.fileCopy] : [.atClose, .fileCopy]
        } else if store.path == nil {
            strategies +=
                store.last == nil
                ? [.ownConnectionAsLastResort] : [.ownConnectionAsLastResort, .atClose]
        } else if source.foreignVFS != nil {
            // Only the VFS knows the meaning of the file's bytes.
            strategies += [.ownConnection, .secondConnection, .ownConnectionAsLastResort, .fileCopy]
        } else {
            strategies += [.ownConnection, .unlockedFileCopy, .secondConnection]
            strategies += source.isInPlace ? [.fileCopy] : [.ownConnectionAsLastResort, .fileCopy]
        }
        if store.path == nil || store.reasonForNoFiles != nil { strategies.append(.recorded) }
        return strategies
    }

    /// Tries one strategy; returns nil if it does not apply.
    private mutating func attempt(_ strategy: Strategy) throws(CopyFailure) -> StoreCopy.Method? {
        try files.checkSize(of: storeCopy.originalBytes)
        switch strategy {
        case .ownConnection, .ownConnectionAsLastResort: try files.checkKinds(besidesDatabase: true)
        case .unlockedFileCopy, .secondConnection, .fileCopy: try files.checkKinds()
        case .beforeRollback, .atClose, .recorded: break
        }
        switch strategy {
        case .beforeRollback:
            guard let saved = store.beforeRollback else { return nil }
            guard try write(saved) else {
                storeCopy.warnings.add(
                    .stateBeforeRollbackNotKept,
                    "The state before the rollback, \(saved.size) bytes, was not kept: too many at once, or too "
                        + "often for a test to be held up by it. The copy is what the rollback has left.",
                    path: store.path, ["bytes": .number(Int64(saved.size))])
                return nil
            }
            storeCopy.isTransactionOpen = true
            return .beforeRollback
        case .ownConnection: return try copyThroughOwnConnection(isLastResort: false)
        case .unlockedFileCopy: return try files.copyFilesOfOpenStore()
        case .secondConnection:
            // A reader would block writers.
            if files.journal == .rollback { return nil }
            return try copyThroughSecondConnection(to: targets.copy, until: deadline)
        case .ownConnectionAsLastResort: return try copyThroughOwnConnection(isLastResort: true)
        case .fileCopy:
            if let reason = store.reasonForNoFiles { throw CopyFailure(reason) }
            return try files.copyFiles()
        case .atClose:
            guard let last = store.last else { return nil }
            if last.size < 0 {
                throw CopyFailure(
                    "The store was in memory and was closed before the failure. The copy of SQLite that it "
                        + "belonged to doesn't report when a store is closed, so its content could not be kept."
                )
            }
            guard try write(last) else {
                // The remaining file may still be readable.
                if store.files != nil { return nil }
                throw CopyFailure(
                    "The store was closed before the failure, and its last \(last.size) bytes were not "
                        + "kept: too many at once, or too often for a test to be held up by it.")
            }
            return .atClose
        case .recorded: return try copyRecordedState()
        }
    }

    private func write(_ saved: SavedState?) throws(CopyFailure) -> Bool {
        do {
            return try saved?.write(toNewFile: targets.copy) ?? false
        } catch {
            throw CopyFailure(error)
        }
    }

    /// Makes a second copy, of the committed state that all other connections see.
    private mutating func copyCommittedState() {
        guard store.path != nil, let target = targets.committed else { return }
        do throws(CopyFailure) {
            // The transaction is open on this thread's own connection, so waiting for its lock is useless.
            guard try copyThroughSecondConnection(to: target, until: Instant.now) != nil else {
                guard !storeCopy.isDeleted else { return }
                throw CopyFailure("The system did not tell whether its file is in place.")
            }
            try files.makeStandalone(target)
            storeCopy.hasCommittedCopy = true
        } catch {
            try? FileSystem.remove(target)
            storeCopy.hasCommittedCopy = copyCommittedFiles(to: target)
            guard !storeCopy.hasCommittedCopy else { return }
            storeCopy.warnings.add(
                .committedStateNotCopied, "The committed state could not be copied. \(error.reason)",
                path: store.path)
        }
    }

    /// Makes a second copy of the state that others see, if the test's read transaction sees another one.
    private mutating func copyNewerState() {
        copyCommittedState()
        guard storeCopy.hasCommittedCopy, let target = targets.committed,
            (try? FileSystem.hasSameContent(File(reading: target), File(reading: targets.copy))) != false
        else { return }
        try? FileSystem.remove(target)
        storeCopy.hasCommittedCopy = false
    }

    /// Copies the committed state from the files, if the test's connection has locked out all others.
    ///
    /// A transaction that outgrew its cache takes such a lock. In the copy, the journal undoes the changes that the
    /// transaction has already written to the file. Returns true if the copy is certainly of the committed state.
    func copyCommittedFiles(to target: String) -> Bool {
        guard let path = store.path, source.foreignVFS == nil, source.isInPlace else { return false }
        let copy = limitsOfFurtherCopy(seconds: 0.25).capture(
            StoreSource(path: path, identity: store.identity, isUnspilled: isUnspilled),
            to: .init(copy: target, committed: nil, raw: targets.raw, history: targets.history))
        if copy.method == .fileCopy && copy.isConsistent { return true }
        for path in [target] + copy.rawFiles.map({ targets.raw + $0 }) { try? FileSystem.remove(path) }
        return false
    }

    /// Returns the limits of a second copy, of the current state.
    private func limitsOfFurtherCopy(seconds: Double = .infinity) -> StoreCopier {
        var limits = limits
        limits.timeLimit = min(seconds, Instant.now.seconds(until: deadline))
        return limits
    }

    /// Makes a second copy, of the state after the rollback.
    private mutating func copyStateAfterRollback() {
        // If a store in memory ended inside a transaction, nothing else is left of it.
        guard let target = targets.committed, store.last.map({ $0 !== store.beforeRollback }) ?? true
        else { return }
        let after = limitsOfFurtherCopy().capture(
            store,
            to: StoreCopier.Targets(
                copy: target, committed: nil, raw: targets.raw, history: targets.history))
        storeCopy.journalMode = after.journalMode ?? storeCopy.journalMode
        storeCopy.hasCommittedCopy = after.method != .described
        if let reason = after.reason {
            storeCopy.warnings.add(
                .stateAfterRollbackNotCopied,
                "The state after the rollback could not be copied. \(reason)",
                path: store.path)
        }
        storeCopy.warnings += after.warnings.filter { !storeCopy.warnings.contains($0) }
        storeCopy.rawFiles = after.rawFiles
        storeCopy.history = after.history
    }
}

extension DiscoveredStore {
    /// The part of the store that is needed to read its files.
    var source: StoreSource {
        StoreSource(
            storage: storage, path: path, identity: identity, files: files,
            vfs: accesses.lazy.compactMap(\.connection.vfs).first,
            transactions: accesses.map(\.transaction))
    }
}

extension Sequence where Element: Hashable {
    /// Returns the elements without repetitions, in the order of their first occurrence.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}

// Temporary schemas, which belong to a connection and refer to its other databases.
extension CopyAttempt {
    /// Makes the copy of a temporary schema a database that opens by itself, or removes it if it has no tables.
    ///
    /// A temporary trigger may name tables of other databases. Without them, SQLite considers the whole schema malformed.
    mutating func separateTemporarySchema() throws(CopyFailure) {
        guard store.accesses.first?.schema == "temp" else { return }
        do {
            guard let count = try Self.removeTriggers(in: targets.copy) else {
                try FileSystem.remove(targets.copy)
                storeCopy.isNothing = true
                return
            }
            guard count > 0 else { return }
            storeCopy.warnings.add(
                .temporaryTriggersMissing,
                "Temporary triggers are not in the copy: \(count).",
                ["count": .number(Int64(count))])
        } catch {
            throw CopyFailure(error)
        }
    }

    /// Removes the triggers, and returns their number; nil if the schema has no tables.
    private static func removeTriggers(in path: String) throws(SQLiteError) -> Int64? {
        let copy = try Connection(path: path, mode: .readWrite)
        // Lets SQLite read the valid part of a malformed schema
        // (<https://www.sqlite.org/pragma.html#pragma_writable_schema>).
        try copy.execute("PRAGMA writable_schema = on")
        let count = "SELECT count(*) FROM sqlite_schema WHERE type = "
        guard try copy.integer(of: count + "'table'") > 0 else { return nil }
        let triggers = try copy.integer(of: count + "'trigger'")
        try copy.execute("DELETE FROM sqlite_schema WHERE type = 'trigger'")
        return triggers
    }
}
