/// The result of an attempt to copy a store.
package struct StoreCopy: Sendable {
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
    package var history: WALHistory.Summary?
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
