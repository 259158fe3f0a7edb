internal import FailureArtifactsSystem

// Conclusions from the locks of other connections, where the system reports them.
extension FileSnapshot {
    /// The bytes that SQLite locks in a database file, and in the index of a WAL
    /// (<https://www.sqlite.org/src/file?name=src/os.h>, `PENDING_BYTE`;
    /// <https://www.sqlite.org/walformat.html#wal_locks>).
    private enum LockByte {
        static let reserved: UInt64 = 0x4000_0001
        static let firstShared: UInt64 = 0x4000_0002
        static let walWriter: UInt64 = 120
    }

    /// Warns of another connection's uncommitted changes, which the copy will lack.
    package mutating func noteOtherWriters() {
        guard let path = source.path, let files = source.files, snapshot.isTransactionOpen != true else {
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
        snapshot.warnings.add(
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
        if holder == getpid(), source.transactions.count == 1, snapshot.isTransactionOpen == false {
            return false
        }
        guard let journal = FileSystem.regularFile(files.journal) else { return true }
        if Self.isLive(files.journal) { return false }
        // With `journal_mode` TRUNCATE and PERSIST, an emptied journal is left for later connections. With
        // `locking_mode` EXCLUSIVE its owner still has it open and will write to it first.
        return !OpenFiles.has(holder, open: journal.identity)
    }

    /// True if a connection has locked the database file exclusively.
    func isLocked(_ files: StoreFiles) -> Bool {
        Self.holder(of: LockByte.firstShared, in: files.database) != nil
    }

    /// Returns true if SQLite would play back a rollback journal
    /// (<https://www.sqlite.org/fileformat2.html#the_rollback_journal>).
    static func isLive(_ journal: String) -> Bool {
        let magic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]
        guard let file = try? File(sharing: journal) else { return false }
        return (try? file.bytes(magic.count, at: 0)) == magic
    }

    mutating func noteHalfTransaction() {
        snapshot.warnings.add(
            .halfTransaction,
            "'\(source.path ?? "")' was locked exclusively, and there was no journal beside it: half a transaction "
                + "may be in the copy.",
            path: source.path)
    }

    /// Returns the process that holds an exclusive lock on a byte of a file; nil without such a process.
    private static func holder(of byte: UInt64, in path: String) -> Int32? {
        guard FileSystem.regularFile(path) != nil, let file = try? File(sharing: path) else {
            return nil
        }
        return file.exclusiveLockHolder(at: byte)
    }
}
