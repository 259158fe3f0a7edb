internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

// The rung that reads a store's files.
extension SnapshotAttempt {
    /// Copies the files of a store to which no connection is known, and folds the journal's copy into the
    /// database's copy.
    ///
    /// Another process may have it open, or another copy of SQLite in this one. Therefore no lock is
    /// dropped (see `File.init(sharing:)`), the journal is copied before the database (a WAL read
    /// first can only lack commits that came later), and both are looked at before and after.
    mutating func copyFiles() throws(SnapshotFailure) -> Snapshot.Method? {
        guard let original = store.path else { return nil }
        do {
            guard let status = try FileSystem.status(of: original) else {
                throw SnapshotFailure("There was no file '\(original)' when the test failed.")
            }
            // Whoever has it open unknown to us may be inside a transaction.
            if FileSystem.descriptor(of: status.identity) == nil { snapshot.isTransactionOpen = false }
            var before = try Self.fingerprint(of: original)
            for attempt in 0... {
                try Self.copyWithJournals(original, to: path)
                let after = try Self.fingerprint(of: original)
                snapshot.isConsistent = after == before
                if snapshot.isConsistent || attempt == 9 || Instant.now > deadline { break }
                before = after
                try removeCopies()
            }
        } catch let error as SystemError {
            try? removeCopies()
            throw SnapshotFailure(error)
        } catch let failure as SnapshotFailure {
            throw failure
        } catch {
            throw SnapshotFailure("\(error)")
        }
        if !snapshot.isConsistent {
            snapshot.warnings.append(
                "Somebody was writing to '\(original)' while its files were copied.")
        }
        foldJournal()
        return .fileCopy
    }

    private static let journals = ["-wal", "-journal"]

    private static func fingerprint(of path: String) throws(SystemError) -> [FileStatus?] {
        var result = [try FileSystem.status(of: path)]
        for suffix in journals { result.append(try FileSystem.status(of: path + suffix)) }
        return result
    }

    private static func copyWithJournals(_ original: String, to path: String) throws(SystemError) {
        for suffix in journals + [""] where try FileSystem.status(of: original + suffix) != nil {
            try FileSystem.copy(original + suffix, toNewFile: path + suffix)
        }
    }

    private func removeCopies() throws(SystemError) {
        for suffix in Self.journals + ["-shm", ""] { try FileSystem.remove(path + suffix) }
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
            if case .text(let mode) = try copy.value(of: "PRAGMA journal_mode") {
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
