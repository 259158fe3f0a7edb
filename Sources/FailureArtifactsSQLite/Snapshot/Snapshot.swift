package import FailureArtifactsSystem

/// The result of an attempt to copy a store.
package struct Snapshot: Sendable {
    /// The ways to read a store, in the words of the metadata.
    package enum Method: String, Sendable {
        /// As ``pageCache``, in bundles of earlier versions.
        case serialize
        /// The page cache of the test's own connection, including its uncommitted changes.
        case pageCache
        /// The backup API, from the test's own connection.
        case ownConnection
        /// The backup API, from a separate connection to the same file.
        case secondConnection
        /// The files' bytes, with the journal folded in.
        case fileCopy
        /// The content that the test's connection saw just before a rollback, kept while the test ran.
        case beforeRollback
        /// The content at the end of the last connection, kept while the test ran.
        case atClose
        /// The last committed state, recorded while the process ran.
        case recorded
        /// No copy.
        case described
    }

    /// The place where a store lives.
    package enum Storage: String, Codable, Sendable {
        case file, memory, temporary
    }

    package var method: Method = .described
    /// True if there is nothing to keep: a connection's temporary schema without tables.
    package var isNothing = false
    package var storage: Storage
    /// True if the copy is one state that the store really had.
    package var isConsistent = false
    /// The original's journal mode, by SQLite's names; nil if unknown.
    package var journalMode: String?
    /// True if the test's connection was inside a write transaction; nil if it could not be asked.
    package var isTransactionOpen: Bool?
    /// True if there is a second copy, of the committed state.
    package var hasCommittedCopy = false
    /// The process that had a lock that keeps others from writing; nil if none had, or if unknown.
    package var lockHolder: Int32?
    /// True if the store's file had been deleted or replaced by then.
    package var isDeleted = false
    /// True if the copy itself had a journal that was folded into it.
    package var foldedJournal = false
    /// The name suffixes of the original files, which are kept if SQLite does not read all of them.
    package var rawFiles: [String] = []
    /// The store's earlier states; nil for a store without a WAL.
    package var history: HistoryRecorder.Summary?
    /// The VFS that reads the store, if it is not the system's own.
    package var vfs: String?
    /// The reason why there is no copy, as a full sentence; nil if there is one.
    package var reason: String?
    /// The problems of the existing copies.
    package var warnings: [CaptureWarning] = []
    /// The size of the store, in bytes, if it was not copied because it exceeds the limit.
    package var excessiveBytes: UInt64?
    /// The size of the database file at the time, in bytes; nil for a store without a file.
    package var originalBytes: UInt64?
    /// The size of the WAL beside it, in bytes.
    package var walBytes: UInt64?

    /// The changes that redaction rules made to the copies; nil without rules for stores.
    package var redaction: StoreRedactor.Result?

    package init(storage: Storage) {
        self.storage = storage
    }
}

/// The reason why a strategy did not produce a copy.
package struct SnapshotFailure: Error {
    /// A full sentence.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    /// Wraps a failure of SQLite or of the system; any other error describes itself.
    package init(_ error: any Error) {
        switch error {
        case let failure as SnapshotFailure:
            self = failure
        case let error as SQLiteError:
            self.init("SQLite could not \(error.operation): \(error.message) (error \(error.code)).")
        case let error as SystemError:
            self.init("The system could not \(error.operation) '\(error.path)': \(error.reason).")
        default:
            self.init("\(error)")
        }
    }
}

/// The paths by which a store's files can be read; a path may lead to no file.
package struct StoreFiles: Sendable {
    package let database: String
    package let wal: String
    package let journal: String
    /// The WAL's index, on which its users take their locks.
    package let walIndex: String
    /// An object that keeps the paths valid, if they are not those of the store.
    private let holder: (any AnyObject & Sendable)?
    /// True if no name leads to the files any more.
    package var areDeleted: Bool { holder != nil }

    package init(
        database: String, wal: String, journal: String, walIndex: String,
        holder: (any AnyObject & Sendable)? = nil
    ) {
        self.database = database
        self.wal = wal
        self.journal = journal
        self.walIndex = walIndex
        self.holder = holder
    }

    /// Creates the paths of a store that still has its name; like SQLite, this follows links to find the
    /// journals.
    package init(path: String) {
        let path = FileSystem.realPath(of: path) ?? path
        self.init(
            database: path, wal: path + "-wal", journal: path + "-journal", walIndex: path + "-shm")
    }
}

/// The kind of transaction that a connection has open in a database.
package enum TransactionState: Sendable {
    case none, read, write
}

/// The facts about a store that are known without reading it.
package struct StoreSource: Sendable {
    /// The place where the store lives.
    package let storage: Snapshot.Storage
    /// The database file, absolute; nil for a store without one.
    package let path: String?
    /// The file that its users have open under that path; nil if it has no file, or no user is known.
    package let identity: FileStatus.Identity?
    /// The paths by which its bytes can be read; nil for a store without a file.
    package let files: StoreFiles?
    /// The VFS of its known connections; nil for the system's default.
    package let vfs: String?
    /// The transaction of each known connection of this process; nil for one that another thread uses.
    package let transactions: [TransactionState?]
    /// True if the process has a transaction open whose pages are not in the database file yet.
    package let isUnspilled: Bool
    /// The process whose store it is: this one, unless the capture is made for a test of another process.
    package let process: Int32

    package init(
        storage: Snapshot.Storage, path: String?, identity: FileStatus.Identity?, files: StoreFiles?,
        vfs: String?, transactions: [TransactionState?], isUnspilled: Bool = false,
        process: Int32 = getpid()
    ) {
        self.storage = storage
        self.path = path
        self.identity = identity
        self.files = files
        self.vfs = vfs
        self.transactions = transactions
        self.isUnspilled = isUnspilled
        self.process = process
    }

    /// Creates a source for a store of which only the file is known.
    package init(
        path: String, identity: FileStatus.Identity? = nil, isUnspilled: Bool = false,
        process: Int32 = getpid()
    ) {
        self.init(
            storage: .file, path: path, identity: identity, files: StoreFiles(path: path), vfs: nil,
            transactions: [], isUnspilled: isUnspilled, process: process)
    }

    /// The VFS of its connections, if only that VFS can interpret the file's bytes.
    ///
    /// SQLite's own ones, `unix`, `unix-dotfile` and so on, differ only in their file locks
    /// (<https://www.sqlite.org/vfs.html>).
    package var foreignVFS: String? {
        vfs.flatMap { $0 == "unix" || $0.hasPrefix("unix-") ? nil : $0 }
    }

    /// True if its connections lock the file in another way than the system's default VFS.
    package var hasOtherLocks: Bool { vfs != nil && foreignVFS == nil }

    /// True if the path still names the file that is open.
    package var isInPlace: Bool {
        guard let path, let identity else { return false }
        return FileSystem.regularFile(path)?.identity == identity
    }
}
