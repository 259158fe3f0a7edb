package import FailureArtifactsSystem

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

    /// SQLite's own VFSs, which differ in their file locks, not in the bytes (<https://www.sqlite.org/vfs.html>).
    private static let systemVFSs: Set = [
        "unix", "unix-none", "unix-dotfile", "unix-excl", "unix-flock", "unix-afp", "unix-nfs",
        "unix-posix", "unix-proxy", "unix-namedsem",
    ]

    /// The VFS of its connections, if only that VFS can interpret the file's bytes.
    package var foreignVFS: String? { vfs.flatMap { Self.systemVFSs.contains($0) ? nil : $0 } }

    /// True if its connections lock the file in another way than the system's default VFS.
    package var hasOtherLocks: Bool { vfs != nil && foreignVFS == nil }

    /// True if the path still names the file that is open.
    package var isInPlace: Bool {
        guard let path, let identity else { return false }
        return FileSystem.regularFile(path)?.identity == identity
    }
}
