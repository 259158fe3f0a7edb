internal import FailureArtifactsSystem

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
