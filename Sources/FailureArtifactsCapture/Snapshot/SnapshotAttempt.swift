internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// One run down the ladder of ways to copy a store.
struct SnapshotAttempt {
    let store: DiscoveredStore
    let targets: Snapshotter.Targets
    let limits: Snapshotter
    let deadline: Instant
    var snapshot: Snapshot
    /// True if the copy was made inside a read transaction, which may see an older state than others.
    var hasReadTransaction = false

    init(store: DiscoveredStore, targets: Snapshotter.Targets, limits: Snapshotter) {
        self.store = store
        self.targets = targets
        self.limits = limits
        deadline = Instant.now.advanced(bySeconds: limits.timeLimit)
        snapshot = Snapshot(storage: store.storage)
        snapshot.vfs = store.vfs
    }

    /// Tries the rungs in turn, the first that applies and succeeds makes the copy.
    mutating func run() {
        // The application's limit on SQLite's memory is not meant for the copy.
        let extra = failure_artifacts_raise_heap_limit(Int64(clamping: limits.maximumMemory) * 2)
        defer { failure_artifacts_lower_heap_limit(extra) }
        measureFiles()
        learnJournalMode()
        let index = store.files.flatMap { WriteAheadLogIndex(ofFile: $0.walIndex) }
        var failures: [SnapshotFailure] = []
        for rung in rungs {
            do {
                guard let method = try attempt(rung) else { continue }
                try makeStandalone(targets.copy)
                // With what was in its WAL a store may be larger than its file.
                try checkSize(of: FileSystem.regularFile(targets.copy)?.size)
                try separateTemporarySchema()
                snapshot.method = method
                // A store that had to be copied by its bytes says itself whether they fit together.
                if method != .fileCopy { snapshot.isConsistent = true }
                switch method {
                case .serialize:
                    copyCommittedState()
                    if snapshot.hasCommittedCopy, let committed = targets.committed {
                        recordHistory(besides: committed, since: index)
                    }
                case .beforeRollback: copyStateAfterRollback()
                default:
                    if hasReadTransaction && journal == .wal { copyNewerState() }
                    if method == .ownConnection || method == .secondConnection {
                        let newest = snapshot.hasCommittedCopy ? targets.committed : nil
                        recordHistory(besides: newest ?? targets.copy, since: index)
                    }
                    noteOtherWriters()
                    guard snapshot.isTransactionOpen == true else { break }
                    snapshot.warnings.append(
                        "A transaction was open; what it had not committed is not in the copy. "
                            + failures.map(\.reason).joined(separator: " "))
                }
                return
            } catch {
                failures.append(error)
                try? FileSystem.remove(targets.copy)
                // Those of a copy that there is not.
                removeRawFiles()
                if snapshot.excessiveBytes != nil { break }
            }
        }
        snapshot.reason = failures.map(\.reason).uniqued().joined(separator: " ")
    }

    private enum Rung {
        case imageBeforeRollback, own, unlockedFileCopy, secondConnection, ownAsLastResort, fileCopy
        case imageAtClose, imageAtStart
    }

    private var rungs: [Rung] {
        if store.start != nil { return [.imageAtStart] }
        var rungs: [Rung] = limits.prefersStateBeforeRollback ? [.imageBeforeRollback] : []
        if store.accesses.isEmpty {
            rungs += store.last == nil ? [.fileCopy] : [.imageAtClose, .fileCopy]
        } else if store.path == nil {
            rungs += store.last == nil ? [.ownAsLastResort] : [.ownAsLastResort, .imageAtClose]
        } else if store.foreignVFS != nil {
            // What the file's bytes mean is the VFS's secret.
            rungs += [.own, .secondConnection, .ownAsLastResort, .fileCopy]
        } else {
            rungs += [.own, .unlockedFileCopy, .secondConnection]
            rungs += fileIsInPlace ? [.fileCopy] : [.ownAsLastResort, .fileCopy]
        }
        return rungs
    }

    /// Takes one rung.
    ///
    /// - Returns: How the copy was made; nil where the rung does not apply.
    private mutating func attempt(_ rung: Rung) throws(SnapshotFailure) -> Snapshot.Method? {
        try checkSize(of: snapshot.originalBytes)
        switch rung {
        case .imageBeforeRollback:
            guard let image = store.beforeRollback else { return nil }
            guard try write(image) else {
                snapshot.warnings.append(
                    "The state before the rollback, \(image.size) bytes, was not kept: too many at once, or too "
                        + "often for a test to be held up by it. The copy is what the rollback has left."
                )
                return nil
            }
            snapshot.isTransactionOpen = true
            return .beforeRollback
        case .own: return try copyThroughOwnConnection(isLastResort: false)
        case .unlockedFileCopy: return try copyFilesOfOpenStore()
        case .secondConnection:
            // A reader would be in a writer's way.
            if journal == .rollback { return nil }
            return try copyThroughSecondConnection(to: targets.copy, until: deadline)
        case .ownAsLastResort: return try copyThroughOwnConnection(isLastResort: true)
        case .fileCopy: return try copyFiles()
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

    mutating func checkSize(of bytes: UInt64?) throws(SnapshotFailure) {
        guard let bytes, bytes > limits.maximumBytes else { return }
        snapshot.excessiveBytes = bytes
        throw SnapshotFailure(
            "The store has \(bytes) bytes, more than the \(limits.maximumBytes) that may be copied.")
    }

    /// Looks at the original's files from outside.
    private mutating func measureFiles() {
        guard let original = store.path, let files = store.files else { return }
        snapshot.originalBytes = FileSystem.regularFile(files.database)?.size
        snapshot.walBytes = FileSystem.regularFile(files.wal)?.size
        if store.identity != nil && !fileIsInPlace {
            snapshot.warnings.append(
                "The file '\(original)' was deleted or replaced while the test had it open.")
        }
        snapshot.isDeleted = files.areDeleted || (store.identity != nil && !fileIsInPlace)
    }

    /// Whether the path still names the file that is open.
    var fileIsInPlace: Bool {
        guard let original = store.path, let identity = store.identity else { return false }
        return FileSystem.regularFile(original)?.identity == identity
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

    private func write(_ image: KeptImage?) throws(SnapshotFailure) -> Bool {
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
            try makeStandalone(target)
            snapshot.hasCommittedCopy = true
        } catch {
            try? FileSystem.remove(target)
            snapshot.hasCommittedCopy = copyCommittedFiles(to: target)
            guard !snapshot.hasCommittedCopy else { return }
            snapshot.warnings.append("The committed state could not be copied. \(error.reason)")
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
        guard let path = store.path, store.foreignVFS == nil, fileIsInPlace else { return false }
        let files = DiscoveredStore(path: path, identity: store.identity)
        let copy = limitsOfFurtherCopy(seconds: 0.25).capture(
            files, to: .init(copy: target, committed: nil, raw: targets.raw, history: targets.history))
        if copy.method == .fileCopy && copy.isConsistent { return true }
        for path in [target] + copy.rawFiles.map({ targets.raw + $0 }) { try? FileSystem.remove(path) }
        return false
    }

    /// The limits of a copy beside the first one, of what is there now.
    private func limitsOfFurtherCopy(seconds: Double = .infinity) -> Snapshotter {
        var limits = limits
        limits.timeLimit = min(seconds, Instant.now.seconds(until: deadline))
        limits.prefersStateBeforeRollback = false
        return limits
    }

    private mutating func removeRawFiles() {
        for suffix in snapshot.rawFiles { try? FileSystem.remove(targets.raw + suffix) }
        snapshot.rawFiles = []
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
            snapshot.warnings.append("The state after the rollback could not be copied. \(reason)")
        }
        snapshot.warnings += after.warnings.filter { !snapshot.warnings.contains($0) }
        snapshot.rawFiles = after.rawFiles
        snapshot.history = after.history
    }

    /// Has a copy of a WAL database open without a WAL, anywhere.
    ///
    /// Bytes 18 and 19 of the header are the write and read version: 2 for WAL, 1 for a rollback journal
    /// (<https://www.sqlite.org/fileformat2.html#file_format_version_numbers>). All of the WAL's content is
    /// in the copy already.
    private mutating func makeStandalone(_ path: String) throws(SnapshotFailure) {
        do {
            let file = try File(updating: path)
            var header = [UInt8](repeating: 0, count: 20)
            let count = try header.withMutableBytes { (buffer) throws(SystemError) in
                try file.read(into: buffer, at: 0)
            }
            // The bytes of what is no database are not touched.
            guard count == header.count, header.starts(with: DatabaseHeader.magic),
                header[18...] == [2, 2]
            else { return }
            if snapshot.journalMode == nil { snapshot.journalMode = "wal" }
            try [1, 1].withBytes { (buffer) throws(SystemError) in try file.write(buffer, at: 18) }
            try file.close()
        } catch {
            throw SnapshotFailure(error)
        }
    }
}

extension DiscoveredStore {
    /// The VFS of its connections, where it is not the system's default.
    var vfs: String? { accesses.lazy.compactMap(\.connection.vfs).first }

    /// SQLite's own VFSs, which differ in how they lock a file, not in its bytes (<https://www.sqlite.org/vfs.html>).
    private static let vfsOfSystem: Set = [
        "unix", "unix-none", "unix-dotfile", "unix-excl", "unix-flock", "unix-afp", "unix-nfs",
        "unix-posix",
        "unix-proxy", "unix-namedsem",
    ]

    /// The VFS of its connections, where only that VFS knows what the file's bytes mean.
    var foreignVFS: String? { vfs.flatMap { Self.vfsOfSystem.contains($0) ? nil : $0 } }

    /// True if its connections lock the file in another way than the system's default VFS.
    var hasOtherLocks: Bool { vfs != nil && foreignVFS == nil }
}

extension Sequence where Element: Hashable {
    /// The elements without repetitions, each where it first stood.
    fileprivate func uniqued() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
