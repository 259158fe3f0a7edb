internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

// The strategies that read a store's files.
extension FileCopy {
    package enum Journal {
        case rollback, wal, unknown
    }

    /// The kind of journal in the store's header; an empty store has no WAL.
    package var journal: Journal {
        guard let files = source.files else { return .unknown }
        guard let start = try? Self.start(of: files.database), !start.isEmpty else {
            return FileSystem.regularFile(files.database)?.size == 0 ? .rollback : .unknown
        }
        return DatabaseHeader(start).flatMap { [1: .rollback, 2: .wal][$0.readVersion] } ?? .unknown
    }

    /// Determines the journal mode of a store from its files, which tell only WAL mode from the others.
    package mutating func learnJournalMode() {
        guard source.files != nil, source.foreignVFS == nil else {
            if source.path == nil && source.storage == .memory { storeCopy.journalMode = "memory" }
            return
        }
        storeCopy.journalMode = [.wal: "wal", .rollback: "delete"][journal]
    }

    /// Copies the files of an open store without a lock; returns nil if a connection is better.
    ///
    /// With a lock, a writer that comes meanwhile may be refused, and the test would behave differently. A connection is
    /// better for a WAL that is checkpointed all the time, where a reader hardly delays a writer.
    package mutating func copyFilesOfOpenStore() throws(CopyFailure) -> StoreCopy.Method? {
        guard let files = source.files, source.isInPlace else { return nil }
        // A WAL may be much larger than the store that it results in.
        if sizeOfFiles > limits.maximumBytes { return nil }
        switch journal {
        case .rollback: return try copyFiles()
        case .unknown: return nil
        case .wal:
            let patience = min(deadline, .now.advanced(bySeconds: 0.25))
            guard (try? copyConsistently(files, until: patience)) == true else {
                removeCopies()
                return nil
            }
            if isBroken {
                // The connections that have the store open see more than a recovery of the files would.
                keepRawFiles()
                removeCopies()
                return nil
            }
            foldJournal(isWALSound: true)
            return .fileCopy
        }
    }

    /// Copies the files of a store, and folds the journal's copy into the database's copy; nil for a store without a
    /// file.
    ///
    /// Another writer may be active: another process, another thread, or another copy of SQLite in this process. No
    /// lock is dropped; see `File.init(sharing:)`.
    package mutating func copyFiles() throws(CopyFailure) -> StoreCopy.Method? {
        guard let original = source.path else { return nil }
        do {
            guard let files = source.files, let status = try FileSystem.regularFile(at: files.database)
            else {
                throw CopyFailure("There was no file '\(original)' when the test failed.")
            }
            try checkSize(of: sizeOfFiles)
            // If this process has the file open, an unknown connection may be inside a transaction.
            if try source.transactions.isEmpty && FileSystem.descriptor(of: status.identity) == nil {
                storeCopy.isTransactionOpen = false
            }
            if try !copyConsistently(files, until: deadline) {
                storeCopy.warnings.add(
                    .changedWhileCopied,
                    "'\(original)' was written to all the time while its files were copied.",
                    path: original)
            }
        } catch {
            removeCopies()
            throw CopyFailure(error)
        }
        foldJournal()
        return .fileCopy
    }

    private var sizeOfFiles: UInt64 { (storeCopy.originalBytes ?? 0) + (storeCopy.walBytes ?? 0) }

    // MARK: Copying what may change meanwhile

    /// Copies a store's files repeatedly until they don't change during a copy.
    ///
    /// After the deadline, only one more attempt is made, whatever its result. Returns true if the files had not
    /// changed. There is a copy in either case.
    private mutating func copyConsistently(
        _ files: StoreFiles, until deadline: Instant
    ) throws(SystemError) -> Bool {
        for attempt in 0... {
            // A transaction of the test's own connection does not end while this waits.
            let isLast = Instant.now > deadline || (attempt > 0 && storeCopy.isTransactionOpen == true)
            do throws(SystemError) {
                let before = try Self.fingerprint(of: files)
                let isHalfWritten = holdsHalfTransaction(files)
                try copyWithJournals(files, to: targets.copy)
                storeCopy.isConsistent = try Self.fingerprint(of: files) == before
                // An unchanged index proves that there was no commit or checkpoint. Without an index, and if file
                // times prove nothing yet, compare the files' content.
                if storeCopy.isConsistent && before.walIndex == nil && !before.isSettled {
                    storeCopy.isConsistent = try isStillTheSame(files)
                }
                if storeCopy.isConsistent && isHalfWritten {
                    storeCopy.isConsistent = false
                    if isLast { noteHalfTransaction() }
                }
                if storeCopy.isConsistent || isLast { break }
            } catch {
                // The owner closed the descriptor that was being read, or a journal was removed.
                if isLast || error.isNoSpace { throw error }
            }
            removeCopies()
            sleep(microseconds: UInt32(min(attempt, 20)) * 500)
        }
        return storeCopy.isConsistent
    }

    private struct Fingerprint: Equatable {
        var files: [FileStatus?] = []
        /// The database's header.
        var start: [UInt8] = []
        var walIndex: WriteAheadLogIndex?

        /// True if a further change would get a different file time.
        ///
        /// Many systems have file times with a precision of only some milliseconds.
        var isSettled: Bool {
            let now = Timestamp.now.nanoseconds
            return files.allSatisfy { now - ($0?.modified ?? 0) > 20_000_000 }
        }
    }

    private static func fingerprint(of files: StoreFiles) throws(SystemError) -> Fingerprint {
        var result = Fingerprint()
        for path in [files.database, files.wal, files.journal] {
            result.files.append(try FileSystem.regularFile(at: path))
        }
        result.start = try start(of: files.database)
        result.walIndex = WriteAheadLogIndex(ofFile: files.walIndex)
        return result
    }

    private static func start(of path: String) throws(SystemError) -> [UInt8] {
        try File(sharing: path).bytes(DatabaseHeader.size, at: 0)
    }

    /// Returns the files that exist, in the order in which they are copied.
    ///
    /// A rollback journal is copied before its database, because it holds the content that is being overwritten.
    /// A WAL is copied after its database: the content that a checkpoint may have taken from the WAL by then is
    /// in the database.
    ///
    /// A copy without its journal would have another state, or none. So an error is thrown if the existence of a
    /// journal can't be determined.
    private func inCopyOrder(
        _ files: StoreFiles
    ) throws(SystemError) -> [(original: String, suffix: String)] {
        var result: [(original: String, suffix: String)] = []
        for (path, suffix) in [
            (files.journal, "-journal"), (files.database, ""), (files.wal, "-wal"),
        ] where try FileSystem.regularFile(at: path) != nil {
            result.append((path, suffix))
        }
        return result
    }

    private func copyWithJournals(_ files: StoreFiles, to path: String) throws(SystemError) {
        // The copy has a name that SQLite does not look for, because the index belongs to the connections of the
        // original. It is copied first, so that the frames it counts are in the WAL when that is copied.
        if try FileSystem.regularFile(at: files.wal) != nil,
            try FileSystem.regularFile(at: files.walIndex) != nil
        {
            try FileSystem.copy(files.walIndex, toNewFile: path + "-index")
        }
        for (original, suffix) in try inCopyOrder(files) {
            try FileSystem.copy(original, toNewFile: path + suffix)
        }
    }

    private func isStillTheSame(_ files: StoreFiles) throws(SystemError) -> Bool {
        for (original, suffix) in try inCopyOrder(files) {
            guard
                try FileSystem.hasSameContent(
                    File(sharing: original), File(sharing: targets.copy + suffix))
            else { return false }
        }
        return true
    }

    private static let journals = ["-wal", "-journal"]

    private func removeCopies() {
        for suffix in Self.journals + ["-shm", "-index", ""] {
            try? FileSystem.remove(targets.copy + suffix)
        }
    }

    // MARK: Folding the journal

    /// Makes SQLite recover the copy as it would recover the original, and determines its journal mode.
    ///
    /// A file that is not a database, or is too damaged for recovery, is kept as it is, because bytes are better than
    /// nothing. Each page of a WAL is checked, unless SQLite is already known to read all of it.
    private mutating func foldJournal(isWALSound: Bool = false) {
        let journals = Self.journals.filter { suffix in
            (FileSystem.regularFile(targets.copy + suffix)?.size ?? 0) > 0
        }
        recordHistoryOfCopy()
        if !isWALSound && storeCopy.rawFiles.isEmpty && isBroken {
            storeCopy.isConsistent = false
            storeCopy.warnings.add(
                .walDamaged,
                "SQLite does not read all of the WAL of '\(source.path ?? "")': a checksum is wrong, or a "
                    + "transaction was given up. The files are kept as they were.",
                path: source.path)
            keepRawFiles()
        }
        do throws(SQLiteError) {
            do throws(SQLiteError) {
                try recoverCopy(hasJournal: !journals.isEmpty)
            } catch {
                // A temporary failure of the system also makes SQLite report a damaged copy. The journal still
                // exists, so try again.
                try recoverCopy(hasJournal: !journals.isEmpty)
            }
        } catch {
            storeCopy.isConsistent = false
            storeCopy.warnings.add(
                .copyUnreadable,
                "SQLite could not read the copy of '\(source.path ?? "")': \(error.message).",
                path: source.path)
            if !journals.isEmpty {
                leaveOutRecordedHistory()
                keepRawFiles()
            }
        }
        for suffix in Self.journals + ["-shm", "-index"] {
            try? FileSystem.remove(targets.copy + suffix)
        }
    }

    private mutating func recoverCopy(hasJournal: Bool) throws(SQLiteError) {
        // Folded here, because SQLite reports each recovery of a WAL to the application's error log.
        if FileSystem.regularFile(targets.copy + "-journal") == nil, foldWAL() {
            storeCopy.foldedJournal = true
        }
        let copy = try Connection(path: targets.copy, mode: .readWrite)
        // SQLite opens files lazily: this is the first read.
        guard case .text(let mode) = try copy.value(of: "PRAGMA journal_mode") else { return }
        if storeCopy.journalMode == nil { storeCopy.journalMode = mode }
        guard hasJournal, !storeCopy.foldedJournal else { return }
        guard try copy.value(of: "PRAGMA journal_mode = delete") == .text("delete") else {
            throw SQLiteError("fold the journal", code: SQLITE_ERROR)
        }
        storeCopy.foldedJournal = true
    }

    /// Folds the WAL's copy into the database's copy if it has transactions; returns true if that succeeded.
    private func foldWAL() -> Bool {
        let wal = targets.copy + "-wal"
        guard let file = try? File(reading: wal), let log = try? WriteAheadLog(reading: file),
            (try? log.fold(file, into: targets.copy)) == true
        else { return false }
        return (try? FileSystem.remove(wal)) != nil
    }

    /// Copies the files unchanged, for readers that can extract more than SQLite.
    private mutating func keepRawFiles() {
        guard let files = source.files else { return }
        do {
            try FileSystem.createDirectory(Path.directory(of: targets.raw))
            try copyWithJournals(files, to: targets.raw)
            try? FileSystem.remove(targets.raw + "-index")
            storeCopy.rawFiles = ["", "-wal", "-journal"].filter {
                FileSystem.regularFile(targets.raw + $0) != nil
            }
        } catch {
            storeCopy.warnings.add(
                .rawFilesNotKept, "The files of '\(source.path ?? "")' could not be kept: \(error).",
                path: source.path)
        }
    }

    // MARK: The history of a WAL

    /// True if SQLite would read less of the WAL's copy than the processes that have the store open.
    private var isBroken: Bool {
        let path = targets.copy + "-wal"
        guard (FileSystem.regularFile(path)?.size ?? 0) > 0, let file = try? File(reading: path),
            let log = try? WriteAheadLog(reading: file)
        else { return false }
        let index = WriteAheadLogIndex(ofFile: targets.copy + "-index")
        return index == nil ? log.hasUnreadableTail : log.isBroken(accordingTo: index)
    }

    /// Records the history from copies of a store's files that were made at one point in time.
    private mutating func recordHistoryOfCopy() {
        let copy = targets.copy
        guard let target = targets.history else { return }
        do {
            guard let wal = try FileSystem.regularFile(at: copy + "-wal"), wal.size > 0 else { return }
            try FileSystem.createDirectory(Path.directory(of: target))
            storeCopy.history = try recorder.record(
                database: try File(reading: copy), wal: try File(reading: copy + "-wal"),
                index: WriteAheadLogIndex(ofFile: copy + "-index"), to: target)
        } catch {
            leaveOutHistory("\(error)")
        }
    }

    /// Records the history from the files of a store that was copied through SQLite.
    ///
    /// The index was read before the copy of the committed state was made.
    package mutating func recordHistory(besides committed: String, since index: WriteAheadLogIndex?) {
        guard let target = targets.history, let files = source.files else { return }
        do {
            guard let wal = try FileSystem.regularFile(at: files.wal), wal.size > 0 else { return }
            guard let header = try DatabaseHeader(of: try File(reading: committed)) else {
                return leaveOutHistory("The copy is not a plain SQLite database.")
            }
            try FileSystem.createDirectory(Path.directory(of: target))
            let history = try recorder.record(
                database: try File(sharing: files.database), wal: try File(sharing: files.wal),
                index: index,
                committedPages: UInt64(header.pageCount), to: target)
            guard WriteAheadLogIndex(ofFile: files.walIndex) == index else {
                try? FileSystem.remove(target)
                return leaveOutHistory("The store was written to while its history was recorded.")
            }
            storeCopy.history = history
        } catch {
            leaveOutHistory("\(error)")
        }
    }

    private var recorder: WALHistory {
        // The copies and the history share one size limit.
        let copied = [targets.copy, targets.copy + "-wal", targets.committed ?? ""].reduce(0) {
            $0 + (FileSystem.regularFile($1)?.size ?? 0)
        }
        return WALHistory(
            maximumBytes: min(
                limits.maximumHistoryBytes, limits.maximumBytes - min(copied, limits.maximumBytes)),
            timeLimit: min(limits.historyTimeLimit, Instant.now.seconds(until: deadline)))
    }

    /// Discards a recorded history that leads to a state which the copy does not have.
    private mutating func leaveOutRecordedHistory() {
        guard let history = storeCopy.history, history.transactions > 0 else { return }
        if let target = targets.history { try? FileSystem.remove(target) }
        leaveOutHistory("The copy lacks what is in the WAL.")
    }

    private mutating func leaveOutHistory(_ reason: String) {
        var history = WALHistory.Summary()
        history.reason = reason.hasSuffix(".") ? reason : reason + "."
        storeCopy.history = history
    }
}
