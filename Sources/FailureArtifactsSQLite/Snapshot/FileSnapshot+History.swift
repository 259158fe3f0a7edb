internal import FailureArtifactsSystem

// The history of a store in WAL mode, recorded from its WAL.
extension FileSnapshot {
    /// Returns true if SQLite would read less of a WAL's copy than the processes that have the store open.
    static func isBroken(walAt path: String, _ index: WriteAheadLogIndex?) -> Bool {
        guard (FileSystem.regularFile(path)?.size ?? 0) > 0, let file = try? File(reading: path),
            let log = try? WriteAheadLog(reading: file)
        else { return false }
        return index == nil ? log.hasUnreadableTail : log.isBroken(accordingTo: index)
    }

    /// Records the history from copies of a store's files that were made at one point in time.
    ///
    /// - `copy`: the path of the database's copy. The WAL's copy is beside it, and the copy of the WAL's index
    ///   has the suffix `-index`.
    mutating func recordHistory(ofCopy copy: String) {
        guard let target = targets.history else { return }
        do {
            guard let wal = try FileSystem.regularFile(at: copy + "-wal"), wal.size > 0 else {
                return try recordHistory(ofClosed: copy, to: target)
            }
            let log = try WriteAheadLog(reading: try File(reading: copy + "-wal"))
            let pages = log.transactions.last.map { UInt64($0.databaseSize) } ?? 0
            let index: File?
            if try FileSystem.regularFile(at: copy + "-index") == nil {
                index = nil
            } else {
                index = try File(reading: copy + "-index")
            }
            let origin = HistorySource(
                database: try File(reading: copy), wal: try File(reading: copy + "-wal"),
                walIndex: index)
            try FileSystem.createDirectory(Path.directory(of: target))
            snapshot.history = try recorder.record(origin, committedPages: pages, to: target)
        } catch {
            leaveOutHistory("\(error)")
        }
    }

    /// Records the history of a closed store, whose WAL was deleted by a close.
    private mutating func recordHistory(ofClosed copy: String, to target: String) throws {
        guard let files = source.files, let wal = files.checkpointedWAL,
            wal.isLatest(of: files.database)
        else { return }
        let file = try File(reading: wal.path)
        let log = try WriteAheadLog(reading: file)
        guard try log.isFolded(file, into: copy) else { return }
        let size = try FileSystem.status(of: copy)?.size ?? 0
        let origin = HistorySource(database: try File(reading: copy), wal: file)
        try FileSystem.createDirectory(Path.directory(of: target))
        snapshot.history = try recorder.record(
            origin, committedPages: size / UInt64(log.pageSize), to: target)
    }

    /// Records the history from the files of a store that was copied through SQLite.
    ///
    /// The index was read before the copy of the committed state was made.
    package mutating func recordHistory(besides committed: String, since index: WriteAheadLogIndex?) {
        guard let target = targets.history, let files = source.files else { return }
        do {
            guard let wal = try FileSystem.regularFile(at: files.wal), wal.size > 0 else { return }
            guard let index else {
                return leaveOutHistory(
                    "The WAL has no index that could be read, so that it could not be read while in use."
                )
            }
            guard let header = try DatabaseHeader(of: try File(reading: committed)) else {
                return leaveOutHistory("The copy is not a plain SQLite database.")
            }
            let origin = HistorySource(
                database: try File(sharing: files.database), wal: try File(sharing: files.wal),
                walIndex: try File(sharing: files.walIndex))
            try FileSystem.createDirectory(Path.directory(of: target))
            let history = try recorder.record(
                origin, committedPages: UInt64(header.pageCount), to: target)
            guard WriteAheadLogIndex(ofFile: files.walIndex) == index else {
                try? FileSystem.remove(target)
                return leaveOutHistory("The store was written to while its history was recorded.")
            }
            snapshot.history = history
        } catch {
            leaveOutHistory("\(error)")
        }
    }

    private var recorder: HistoryRecorder {
        // The copies and the history share one size limit.
        let copied = [targets.copy, targets.copy + "-wal", targets.committed ?? ""].reduce(0) {
            $0 + (FileSystem.regularFile($1)?.size ?? 0)
        }
        return HistoryRecorder(
            maximumBytes: min(
                limits.maximumHistoryBytes, limits.maximumBytes - min(copied, limits.maximumBytes)),
            timeLimit: min(limits.historyTimeLimit, Instant.now.seconds(until: deadline)))
    }

    /// Discards a recorded history that leads to a state which the copy does not have.
    mutating func leaveOutRecordedHistory() {
        guard let history = snapshot.history, history.transactions > 0 else { return }
        if let target = targets.history { try? FileSystem.remove(target) }
        leaveOutHistory("The copy lacks what is in the WAL.")
    }

    private mutating func leaveOutHistory(_ reason: String) {
        var history = HistoryRecorder.Summary()
        history.reason = reason.hasSuffix(".") ? reason : reason + "."
        snapshot.history = history
    }
}
