internal import FailureArtifactsSystem

/// Records the earlier states of a WAL store.
///
/// These are the states after each transaction that its WAL still has, and the state before the first.
///
/// The steps for a store that may be in use:
///
/// 1. Take a fingerprint of the database and the WAL, as for a copy of the files. Also read the wal-index's
///    header: `WriteAheadLogIndex(reading: File(sharing: "…-shm"))`. Two headers that are equal and not nil mean
///    that there was no commit or checkpoint in between, even if the files' times are coarse.
/// 2. Make the copy of the committed state. Its pages must be the store's pages: copied files, the backup API and
///    `sqlite3_serialize` produce such a copy, `VACUUM INTO` does not. A copy with uncommitted changes is of no
///    use. If there is no other copy, don't record a history. The leaves of the freelist may be zeroed in the
///    copy.
/// 3. Open the database, the `-wal` and, if there is one, the `-shm` with `File(sharing:)`. The first two may
///    also be private copies that were made between the fingerprints. Then call ``record(_:committedPages:to:)``.
/// 4. Take the fingerprint again. If it differs, remove the history and the copy and start again, because the two
///    may be from different points in time. The recorder itself notices an unfinished commit, and a size that
///    differs from the copy's. It also notices if the WAL was restarted or checkpointed during reading.
///
/// Private copies of all files need no second fingerprint. Nothing is written to the store, no lock is taken, and
/// no SQLite function is called.
package struct HistoryRecorder: Sendable {
    /// The maximum size of the history file, in bytes; beyond it, only the newest transactions are kept.
    package var maximumBytes: UInt64
    /// The time limit, in seconds; nil for no limit.
    package var timeLimit: Double?

    package init(maximumBytes: UInt64, timeLimit: Double? = nil) {
        self.maximumBytes = maximumBytes
        self.timeLimit = timeLimit
    }

    /// The result of a recording.
    package struct Summary: Equatable, Sendable {
        /// The number of transactions in the file; if it is 0, there is no file.
        package var transactions = 0
        /// The number of older transactions in the WAL that are not in the file.
        package var omittedTransactions = 0
        /// The size of the file, in bytes.
        package var bytes: UInt64 = 0
        /// The reason why the file holds less than the WAL, or nothing, as a full sentence.
        package var reason: String?
        /// The ends of the transactions in the file; empty if they are not known.
        package var commits: [RecordedStates.Commit] = []
        /// True if the WAL has committed transactions that can no longer be read.
        ///
        /// Neither the history nor the copy has them: see ``WriteAheadLog/isBroken(accordingTo:)``.
        package var isBroken = false
        /// True if the WAL has an unreadable tail: see ``WriteAheadLog/hasUnreadableTail``.
        package var hasUnreadableTail = false

        package init() {}
    }

    /// Records a store's history in a new file; after an error, there is no file.
    ///
    /// `committedPages` is the size, in pages, of the stand-alone copy of the committed state that the history will be
    /// used with.
    package func record(
        _ source: consuming HistorySource, committedPages: UInt64, to path: String
    ) throws(HistoryRecordingError) -> Summary {
        let deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        // Read before the WAL, so that a checkpoint in the meantime is noticed at the end.
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
            summary.reason = "The store's first page is not the header of a plain SQLite database."
            return summary
        }
        let (content, cut) = try plan.content(limit: maximumBytes)
        if let content {
            do throws(HistoryRecordingError) {
                try plan.write(content, to: path)
                try plan.source.checkUnchanged(since: log, index)
            } catch {
                // Don't remove a file of that name that existed before.
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

extension HistoryRecordingError {
    fileprivate var isExistingFile: Bool {
        if case .system(let error) = reason { return error.isAlreadyExists }
        return false
    }
}
