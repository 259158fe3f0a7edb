package import FailureArtifactsSystem

/// A copy in progress that is made from the store's files.
///
/// Copies through SQLite are made elsewhere and recorded here.
package struct FileCopy {
    package let source: StoreSource
    package let targets: StoreCopier.Targets
    package let limits: StoreCopier
    package let deadline: Instant
    package var storeCopy: StoreCopy

    package init(of source: StoreSource, to targets: StoreCopier.Targets, limits: StoreCopier) {
        self.source = source
        self.targets = targets
        self.limits = limits
        deadline = Instant.now.advanced(bySeconds: limits.timeLimit)
        storeCopy = StoreCopy(storage: source.storage)
        storeCopy.vfs = source.vfs
    }

    /// Copies the store without SQLite's help; SQLite only folds the copied journal.
    mutating func run() {
        measureFiles()
        learnJournalMode()
        do {
            try checkSize(of: storeCopy.originalBytes)
            try checkKinds()
            guard let method = try copyFiles() else { return }
            try finishCopy()
            storeCopy.method = method
            noteOtherWriters()
        } catch {
            storeCopy.reason = error.reason
            discardCopy()
        }
    }

    /// Records the sizes of the original's files, and whether they were deleted or replaced.
    package mutating func measureFiles() {
        guard let original = source.path, let files = source.files else { return }
        storeCopy.originalBytes = FileSystem.regularFile(files.database)?.size
        storeCopy.walBytes = FileSystem.regularFile(files.wal)?.size
        let isMoved = source.identity != nil && !source.isInPlace
        if isMoved {
            storeCopy.warnings.add(
                .storeFileReplaced,
                "The file '\(original)' was deleted or replaced while the test had it open.",
                path: original)
        }
        storeCopy.isDeleted = files.areDeleted || isMoved
    }

    package mutating func checkSize(of bytes: UInt64?) throws(CopyFailure) {
        // An entry of a bundle has less than 4 GiB.
        let maximum = min(limits.maximumBytes, UInt64(UInt32.max) - 1)
        guard let bytes, bytes > maximum else { return }
        storeCopy.excessiveBytes = bytes
        throw CopyFailure(
            "The store has \(bytes) bytes, more than the \(maximum) that may be copied.")
    }

    /// Fails if a pipe or a device has the name of one of the store's files.
    ///
    /// SQLite would open it, and wait for a writer. A connection that is open already opens only the journals.
    package func checkKinds(besidesDatabase: Bool = false) throws(CopyFailure) {
        guard let files = source.files else { return }
        let database = besidesDatabase ? [] : [files.database]
        for path in database + [files.wal, files.journal, files.walIndex] {
            guard (try? FileSystem.status(of: path))?.kind == .other else { continue }
            throw CopyFailure("'\(path)' is \(FileStatus.Kind.other.noun), which is not read.")
        }
    }

    /// Makes the copy stand-alone and checks its size.
    package mutating func finishCopy() throws(CopyFailure) {
        try makeStandalone(targets.copy)
        // With the content of its WAL, a store may be larger than its file.
        try checkSize(of: FileSystem.regularFile(targets.copy)?.size)
    }

    /// Changes a copy of a WAL database, which has all of the WAL's content, so that it opens without a WAL.
    package mutating func makeStandalone(_ path: String) throws(CopyFailure) {
        do {
            let file = try File(updating: path)
            // A file that is not a database is left unchanged.
            guard DatabaseHeader(try file.bytes(DatabaseHeader.size, at: 0))?.readVersion == 2 else {
                return
            }
            if storeCopy.journalMode == nil { storeCopy.journalMode = "wal" }
            try DatabaseHeader.leaveWALMode(file)
            try file.close()
        } catch {
            throw CopyFailure(error)
        }
    }

    package mutating func discardCopy() {
        try? FileSystem.remove(targets.copy)
        for suffix in storeCopy.rawFiles { try? FileSystem.remove(targets.raw + suffix) }
        storeCopy.rawFiles = []
    }
}

// MARK: Locks of other connections, where the system reports them

extension FileCopy {
    /// Records the process that keeps others from writing, before the copy takes locks of its own.
    package mutating func noteLockHolder() {
        guard let files = source.files else { return }
        storeCopy.lockHolder =
            (journal == .wal ? Self.holder(of: LockByte.walWriter, in: files.walIndex) : nil)
            ?? Self.holder(of: LockByte.reserved, in: files.database)
            ?? Self.holder(of: LockByte.firstShared, in: files.database)
    }

    /// Warns of another connection's uncommitted changes, which the copy will lack.
    package mutating func noteOtherWriters() {
        guard let path = source.path, let files = source.files, storeCopy.isTransactionOpen != true
        else {
            return
        }
        let writer =
            switch journal {
            case .wal: Self.holder(of: LockByte.walWriter, in: files.walIndex)
            case .rollback, .unknown: Self.holder(of: LockByte.reserved, in: files.database)
            }
        guard let writer else { return }
        // With `locking_mode` EXCLUSIVE the locks outlive the transaction.
        if writer == getpid(), !source.transactions.isEmpty,
            source.transactions.allSatisfy({ $0.map { $0 != .write } ?? false })
        {
            return
        }
        let owner =
            switch writer {
            case getpid(): "Another connection"
            case source.process: "The test's own process (\(writer))"
            default: "Another process (\(writer))"
            }
        storeCopy.warnings.add(
            .otherWriter,
            "\(owner) had a write transaction open on '\(path)'; what it had not committed is not in the copy.",
            path: path, ["process": writer == getpid() ? nil : .number(Int64(writer))])
    }

    /// True if another connection may be writing to the database file without a journal that could undo it.
    ///
    /// That happens with `journal_mode` MEMORY or OFF.
    func holdsHalfTransaction(_ files: StoreFiles) -> Bool {
        guard journal == .rollback,
            let holder = Self.holder(of: LockByte.firstShared, in: files.database)
        else { return false }
        if holder == getpid(), source.isUnspilled { return false }
        // With `locking_mode` EXCLUSIVE the lock outlives the transaction. If there is only one connection, its
        // transaction state is known.
        if holder == getpid(), source.transactions.count == 1, storeCopy.isTransactionOpen == false {
            return false
        }
        guard let journal = FileSystem.regularFile(files.journal) else { return true }
        if Self.isLive(files.journal) { return false }
        // With `journal_mode` TRUNCATE and PERSIST, an emptied journal is left for later connections. With
        // `locking_mode` EXCLUSIVE its owner still has it open and will write to it first.
        return !OpenFiles.has(holder, open: journal.identity)
    }

    /// Returns true if SQLite would play back a rollback journal
    /// (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>).
    static func isLive(_ journal: String) -> Bool {
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        guard let file = try? File(sharing: journal) else { return false }
        return (try? file.bytes(magic.count, at: 0)) == magic
    }

    mutating func noteHalfTransaction() {
        storeCopy.warnings.add(
            .halfTransaction,
            "'\(source.path ?? "")' was locked exclusively, and there was no journal beside it: half a transaction "
                + "may be in the copy.",
            path: source.path)
    }

    private static func holder(of byte: UInt64, in path: String) -> Int32? {
        guard FileSystem.regularFile(path) != nil, let file = try? File(sharing: path) else {
            return nil
        }
        return file.exclusiveLockHolder(at: byte)
    }
}
