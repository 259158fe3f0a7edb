internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

// The rungs that read a store's files.
extension SnapshotAttempt {
    /// What a database file says of its journal.
    enum Journal {
        case rollback, wal, unknown
    }

    /// The journal by the store's header; an empty store has no WAL.
    var journal: Journal {
        guard let original = store.path else { return .unknown }
        if let header = try? Self.header(of: original) { return header.journal }
        return (try? FileSystem.status(of: original))?.size == 0 ? .rollback : .unknown
    }

    /// Copies the files of an open store without a lock: with one, a writer that comes meanwhile may be
    /// refused, and the test would see what it does not see otherwise.
    ///
    /// - Returns: How the copy was made; nil where a connection is better: inside a transaction, and for a
    ///   WAL that is written to all the time, in which a reader is in hardly anybody's way.
    /// - Throws: Why it could not be made.
    mutating func copyFilesOfOpenStore() throws(SnapshotFailure) -> Snapshot.Method? {
        guard let original = store.path, fileIsInPlace, snapshot.isTransactionOpen != true else {
            return nil
        }
        switch journal {
        case .rollback: return try copyFiles()
        case .unknown: return nil
        case .wal:
            let patience = min(deadline, .now.advanced(bySeconds: 0.25))
            guard (try? copyConsistently(original, until: patience)) == true else {
                removeCopies()
                return nil
            }
            foldJournal()
            return .fileCopy
        }
    }

    /// Copies the files of a store, and folds the journal's copy into the database's copy.
    ///
    /// Somebody may be writing: another process, another thread, another copy of SQLite in this one. No lock
    /// is dropped, see `File.init(sharing:)`.
    ///
    /// - Returns: How the copy was made; nil for a store without a file.
    /// - Throws: Why it could not be made.
    mutating func copyFiles() throws(SnapshotFailure) -> Snapshot.Method? {
        guard let original = store.path else { return nil }
        guard let status = try? FileSystem.status(of: original) else {
            throw SnapshotFailure("There was no file '\(original)' when the test failed.")
        }
        // Whoever has it open unknown to us may be inside a transaction.
        if store.connections.isEmpty, FileSystem.descriptor(of: status.identity) == nil {
            snapshot.isTransactionOpen = false
        }
        do {
            if try !copyConsistently(original, until: deadline) {
                snapshot.warnings.append(
                    "Somebody was writing to '\(original)' all the time while its files were copied.")
            }
        } catch {
            removeCopies()
            throw SnapshotFailure(error)
        }
        foldJournal()
        return .fileCopy
    }

    /// Copies a store's files until they have not changed meanwhile.
    ///
    /// - Parameters:
    ///   - original: The database file.
    ///   - deadline: After which one more attempt is made, whatever comes of it.
    /// - Returns: Whether they had not changed; there is a copy in either case.
    /// - Throws: Why there is no copy.
    private mutating func copyConsistently(
        _ original: String, until deadline: Instant
    ) throws(SystemError) -> Bool {
        for attempt in 0... {
            let isLast = Instant.now > deadline
            do throws(SystemError) {
                let before = try Self.fingerprint(of: original)
                try Self.copyWithJournals(original, to: path)
                snapshot.isConsistent = try Self.fingerprint(of: original) == before
                if snapshot.isConsistent && !before.isSettled {
                    snapshot.isConsistent = try Self.isStillTheSame(original, path)
                }
                if snapshot.isConsistent || isLast { break }
            } catch {
                // The descriptor that was read has been closed by its owner, or a journal is gone.
                if isLast { throw error }
            }
            removeCopies()
            sleep(microseconds: UInt32(min(attempt, 20)) * 500)
        }
        return snapshot.isConsistent
    }

    private static let journals = ["-wal", "-journal"]

    /// What changes when somebody writes to a store.
    private struct Fingerprint: Equatable {
        var files: [FileStatus?] = []
        var header: Header?

        /// Whether the next change would have another time: many systems have file times of some
        /// milliseconds' precision only.
        var isSettled: Bool {
            let now = Timestamp.now.nanoseconds
            return files.allSatisfy { now - ($0?.modified ?? 0) > 20_000_000 }
        }
    }

    /// The fields of a database's header that tell of writing
    /// (<https://www.sqlite.org/fileformat2.html#the_database_header>).
    private struct Header: Equatable {
        let journal: Journal
        /// Counts transactions, but not those in a WAL.
        let changeCounter: [UInt8]
    }

    private static func fingerprint(of path: String) throws(SystemError) -> Fingerprint {
        var result = Fingerprint()
        for suffix in [""] + journals { result.files.append(try FileSystem.status(of: path + suffix)) }
        result.header = try header(of: path)
        return result
    }

    /// The header of a database file; nil where the file is too short for one.
    private static func header(of path: String) throws(SystemError) -> Header? {
        var bytes = [UInt8](repeating: 0, count: 28)
        let file = try File(sharing: path)
        let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        guard count == bytes.count else { return nil }
        // The read version: 1 for a rollback journal, 2 for a WAL.
        let journal: Journal = [1: .rollback, 2: .wal][bytes[19]] ?? .unknown
        return Header(journal: journal, changeCounter: Array(bytes[24...]))
    }

    // A rollback journal before its database: it holds what is being overwritten. A WAL after it: what a
    // checkpoint may have taken from it by then is in the database.
    private static let copyOrder = ["-journal", "", "-wal"]

    private static func copyWithJournals(_ original: String, to path: String) throws(SystemError) {
        for suffix in copyOrder where try FileSystem.status(of: original + suffix) != nil {
            try FileSystem.copy(original + suffix, toNewFile: path + suffix)
        }
    }

    /// Whether the originals have the bytes that the copies have.
    private static func isStillTheSame(_ original: String, _ path: String) throws(SystemError) -> Bool {
        for suffix in copyOrder where try FileSystem.status(of: path + suffix) != nil {
            guard try FileSystem.hasSameContent(original + suffix, path + suffix) else { return false }
        }
        return true
    }

    private func removeCopies() {
        for suffix in Self.journals + ["-shm", ""] { try? FileSystem.remove(path + suffix) }
    }

    /// Has SQLite recover the copy as it would have recovered the original, and learns its journal mode.
    ///
    /// A file that is no database, or one too broken for it, stays as it is: bytes are better than nothing.
    private mutating func foldJournal() {
        let hasJournal = Self.journals.contains { suffix in
            ((try? FileSystem.status(of: path + suffix)?.size) ?? 0) > 0
        }
        do throws(SQLiteError) {
            let copy = try Connection(path: path, mode: .readWrite)
            if case .text(let mode) = try copy.value(of: "PRAGMA journal_mode"),
                snapshot.journalMode == nil
            {
                snapshot.journalMode = mode
            }
            if hasJournal {
                guard try copy.value(of: "PRAGMA journal_mode = delete") == .text("delete") else {
                    throw SQLiteError("fold the journal", code: SQLITE_ERROR)
                }
                snapshot.foldedJournal = true
            }
        } catch {
            snapshot.isConsistent = false
            snapshot.warnings.append(
                "SQLite could not read the copy of '\(store.path ?? "")': \(error.message).")
        }
        for suffix in Self.journals + ["-shm"] { try? FileSystem.remove(path + suffix) }
    }
}
