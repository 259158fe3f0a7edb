package import FailureArtifactsSystem

/// The facts about a store that are known without reading it.
package struct StoreSource: Sendable {
    /// The place where the store lives.
    package let storage: StoreCopy.Storage
    /// The database file, absolute; nil for a store without one.
    package let path: String?
    /// The file that its users have open under that path; nil if it has no file, or no user is known.
    package let identity: FileStatus.Identity?
    /// The paths by which its bytes can be read; nil for a store without a file.
    package let files: StoreFiles?
    /// The VFS of its known connections; nil for the system's default.
    package let vfs: String?
    /// The transaction of each known connection of this process; nil for one that another thread uses.
    package let transactions: [TransactionKind?]
    /// True if the process has a transaction open whose pages are not in the database file yet.
    package let isUnspilled: Bool
    /// The process whose store it is: this one, unless the capture is made for a test of another process.
    package let process: Int32

    package init(
        storage: StoreCopy.Storage, path: String?, identity: FileStatus.Identity?, files: StoreFiles?,
        vfs: String?, transactions: [TransactionKind?], isUnspilled: Bool = false,
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
