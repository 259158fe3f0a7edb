internal import FailureArtifactsSystem

/// Records what is needed to go back in a WAL store: the state after each transaction that its WAL still has,
/// and the one before the first.
///
/// How it is to be called, for a store that may be in use:
///
/// 1. Take a fingerprint of the database and the WAL, as for a copy of the files, and the wal-index's header:
///    `WriteAheadLogIndex(reading: File(sharing: "…-shm"))`. Two of these that are equal, and not nil, have
///    seen neither a commit nor a checkpoint in between, however coarse the files' times are.
/// 2. Make the copy of the committed state. Its pages have to be those of the store: copied files, the backup
///    API and `sqlite3_serialize` give such a copy, `VACUUM INTO` does not. A copy that has what a transaction
///    had not committed is of no use; where there is no other, nothing is to be recorded. Leaves of the
///    freelist may be zeroed in it.
/// 3. Open the database, the `-wal` and, where there is one, the `-shm` with `File(sharing:)`, or the first
///    two from private copies that were made between the fingerprints; ``record(_:committedPages:to:)``.
/// 4. Take the fingerprint again. If it differs, remove the history and the copy, and start again: whether the
///    two belong to one moment is not known. (The recorder itself notices a WAL that was started anew or
///    checkpointed while it read, a commit that is under way, and a size that is not that of the copy.)
///
/// For private copies of all files, no second fingerprint is needed. Nothing is written to the store, no lock
/// is taken, and no SQLite function is called.
package struct HistoryRecorder: Sendable {
    /// The largest history file in bytes; of more the newest transactions are kept.
    package var maximumBytes: UInt64
    /// In seconds; nil for no limit.
    package var timeLimit: Double?

    package init(maximumBytes: UInt64, timeLimit: Double? = nil) {
        self.maximumBytes = maximumBytes
        self.timeLimit = timeLimit
    }

    /// What came of it.
    package struct Summary: Equatable, Sendable {
        /// How many transactions are in the file; of 0 there is no file.
        package var transactions = 0
        /// How many older ones the WAL holds besides.
        package var omittedTransactions = 0
        /// The size of the file.
        package var bytes: UInt64 = 0
        /// Why there is less than the WAL holds, or nothing, as a full sentence.
        package var reason: String?
        /// Whether the WAL has committed transactions that can no longer be read, so that neither history
        /// nor copy have them: see ``WriteAheadLog/isBroken(accordingTo:)``.
        package var isBroken = false
        /// See ``WriteAheadLog/hasUnreadableTail``.
        package var hasUnreadableTail = false

        package init() {}
    }

    /// Records a store's history.
    ///
    /// - Parameters:
    ///   - source: The store's files.
    ///   - committedPages: The size in pages of the stand-alone copy of the committed state that the
    ///     history will be used with.
    ///   - path: The history's file, which must not exist.
    /// - Returns: What was recorded.
    /// - Throws: Why nothing was; then there is no file.
    package func record(
        _ source: consuming HistorySource, committedPages: UInt64, to path: String
    ) throws(HistoryError) -> Summary {
        let deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        // Before the WAL: frames that a checkpoint takes meanwhile are noticed at the end.
        let index = source.readIndex()
        let log = try WriteAheadLog(reading: source.wal, until: deadline)
        var summary = Summary()
        summary.hasUnreadableTail = log.hasUnreadableTail
        summary.isBroken = log.isBroken(accordingTo: index)
        summary.omittedTransactions = log.transactions.count
        guard !summary.isBroken else {
            summary.reason =
                "The WAL has committed transactions that only the process itself can read: the checksum of "
                + "frame \(log.pages.count + 1) or of one after it is wrong."
            return summary
        }
        if let index, index.describes(log), index.lastFrame < log.pages.count {
            summary.reason =
                "The WAL's last transaction was being written: the process itself did not see it yet."
            return summary
        }
        guard let last = log.transactions.last else {
            summary.reason = "The WAL held no transaction."
            return summary
        }
        guard UInt64(last.databaseSize) == committedPages else {
            summary.reason =
                "The WAL's last transaction left \(last.databaseSize) pages and the copy of the store has "
                + "\(committedPages): they are of different moments."
            return summary
        }
        let plan = try HistoryPlan(source, log: log, index: index, until: deadline)
        guard try plan.isPlainDatabase() else {
            summary.reason = "The store's first page is not that of a plain SQLite database."
            return summary
        }
        let (content, cut) = try plan.content(limit: maximumBytes)
        if let content {
            do throws(HistoryError) {
                try plan.write(content, to: path)
                try plan.source.checkUnchanged(since: log, index)
            } catch {
                // A file of that name that was there before is not ours.
                if !error.isExistingFile { try? FileSystem.remove(path) }
                throw error
            }
            summary.transactions = content.transactions.count
            summary.omittedTransactions = content.state
            summary.bytes = content.layout.fileSize
        }
        summary.reason = reason(cut, omitted: summary.omittedTransactions, of: log.transactions.count)
        return summary
    }

    private func reason(_ cut: HistoryPlan.Cut?, omitted: Int, of count: Int) -> String? {
        guard let cut else { return nil }
        let what =
            omitted == count
            ? (count == 1 ? "The WAL's only transaction is" : "All \(count) transactions of the WAL are")
            : omitted == 1
                ? "The oldest of the WAL's \(count) transactions is"
                : "The oldest \(omitted) of the WAL's \(count) transactions are"
        switch cut {
        case .checkpoint:
            return what + " left out: a checkpoint has written over what the database held before."
        case .limit:
            return what + " left out: with them the history would have more than \(maximumBytes) bytes."
        }
    }
}

extension HistoryError {
    fileprivate var isExistingFile: Bool {
        if case .system(let error) = reason { return error.isAlreadyExists }
        return false
    }
}
