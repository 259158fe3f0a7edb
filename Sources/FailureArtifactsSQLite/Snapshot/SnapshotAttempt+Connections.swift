internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

// The rungs that read a store through SQLite.
extension SnapshotAttempt {
    /// Copies through the test's own connection, if that is safe and, but as the last resort, better than a
    /// connection of our own.
    ///
    /// - Parameter isLastResort: Whether nothing else is left.
    /// - Returns: How the copy was made; nil where a connection of our own is to be preferred.
    /// - Throws: Why it could not be made.
    mutating func copyThroughOwnConnection(
        isLastResort: Bool
    ) throws(SnapshotFailure) -> Snapshot.Method? {
        guard let access = store.accesses.first else { return nil }
        // Whoever is inside the connection for longer is not the test, and there is another way.
        let patience = isLastResort ? deadline : min(deadline, .now.advanced(bySeconds: 0.25))
        do {
            let result = try access.connection.lend(
                until: patience, waitsForRest: store.path == nil
            ) { lent in
                Result { () throws(SnapshotFailure) in
                    try copy(access, lent, isLastResort: isLastResort)
                }
            }
            return try result.get()
        } catch let refusal as LendingRefusal {
            if isLastResort || !fileIsInPlace { throw SnapshotFailure(refusal) }
            return nil
        } catch {
            throw SnapshotFailure(error)
        }
    }

    private mutating func copy(
        _ access: DiscoveredStore.Access, _ lent: LentHandle, isLastResort: Bool
    ) throws(SnapshotFailure) -> Snapshot.Method? {
        let (connection, handle) = (access.connection, lent.handle)
        let transaction = sqlite3_txn_state(handle, access.schema)
        snapshot.isTransactionOpen = transaction == SQLITE_TXN_WRITE
        if lent.mayRunStatements && !connection.hasError {
            learnJournalMode(of: access, handle)
            if store.path == nil { try checkSize(of: Self.contentSize(of: access, handle)) }
        }
        if transaction == SQLITE_TXN_WRITE {
            // The backup API refuses a source that writes.
            try connection.withErrorStateKept { handle in
                connection.withRoom(for: access.schema, on: handle) {
                    Result { () throws(SnapshotFailure) in try serialize(access.schema, of: handle) }
                }
            }.get()
            return .serialize
        }
        if !isLastResort, transaction == SQLITE_TXN_NONE, fileIsInPlace {
            // Reading would take a lock that a writer may meet.
            if journal == .rollback { return nil }
            // Without a mutex nothing keeps another thread from starting to use the connection now.
            if sqlite3_db_mutex(handle) == nil { return nil }
        }
        // Whoever has locked everybody out does not have to be waited for where the files can be read.
        let patience = isLastResort ? deadline : min(deadline, .now.advanced(bySeconds: 0.25))
        try backUp(access.schema, of: handle, to: targets.copy, until: patience)
        return .ownConnection
    }

    private mutating func learnJournalMode(of access: DiscoveredStore.Access, _ handle: OpaquePointer) {
        // On a connection that was never used, a PRAGMA would read the schema and may meet a lock.
        guard store.path == nil || (access.connection.lastUse?.order ?? 0) > 0 else { return }
        // Of one that was used for other things only, it would play back what a dead process has left.
        if let files = store.files, sqlite3_txn_state(handle, access.schema) == SQLITE_TXN_NONE,
            Self.isLive(files.journal)
        {
            return
        }
        let schema = quotedIdentifier(access.schema)
        snapshot.journalMode = access.connection.text(of: "PRAGMA \(schema).journal_mode", on: handle)
    }

    private static func contentSize(
        of access: DiscoveredStore.Access, _ handle: OpaquePointer
    ) -> UInt64? {
        func number(_ pragma: String) -> UInt64? {
            let sql = "PRAGMA \(quotedIdentifier(access.schema)).\(pragma)"
            return access.connection.text(of: sql, on: handle).flatMap { UInt64($0) }
        }
        guard let count = number("page_count"), let size = number("page_size") else { return nil }
        return count * size
    }

    /// Writes what `sqlite3_serialize` gives: the pages as the connection sees them, with what it has not
    /// committed.
    ///
    /// The image is as large as the store, and in memory.
    private func serialize(_ schema: String, of handle: OpaquePointer) throws(SnapshotFailure) {
        var size: sqlite3_int64 = 0
        // With NOCOPY it only measures.
        _ = sqlite3_serialize(handle, schema, &size, CUnsignedInt(SQLITE_SERIALIZE_NOCOPY))
        guard size <= limits.maximumMemory else {
            throw SnapshotFailure(
                "A transaction was open, and the store has \(size) bytes, more than the "
                    + "\(limits.maximumMemory) that may be copied through memory.")
        }
        do {
            let image = try image(of: schema, on: handle)
            let file = try File(creating: targets.copy)
            try file.write(image.bytes, at: 0)
            try file.close()
        } catch {
            throw SnapshotFailure(error)
        }
    }

    /// An image all of whose pages could be read.
    private func image(of schema: String, on handle: OpaquePointer) throws -> SerializedImage {
        let first = try SerializedImage(of: schema, on: handle)
        if first.isFull { return first }
        // Either it has empty pages, or some could not be read.
        let second = try SerializedImage(of: schema, on: handle)
        if second.isFull { return second }
        guard first.isEqual(to: second) else {
            throw SnapshotFailure("A page could not be read when the store was copied.")
        }
        try readFiles()
        return second
    }

    /// Reads all that the pages of a store are read from, to learn whether that can be done.
    private func readFiles() throws(SystemError) {
        guard let files = store.files else { return }
        for path in [files.database, files.wal] where try FileSystem.regularFile(at: path) != nil {
            let file = try File(sharing: path)
            var block = try file.readingBlock()
            var offset: UInt64 = 0
            while true {
                let count = try block.withMutableBytes { (buffer) throws(SystemError) in
                    try file.read(into: buffer, at: offset)
                }
                if count < block.count { break }
                offset += UInt64(count)
            }
        }
    }

    /// Copies through a connection of our own, which sees what is committed.
    ///
    /// - Parameters:
    ///   - target: The copy's file.
    ///   - deadline: Until when to wait for a lock.
    /// - Returns: How the copy was made; nil where there is no file to open.
    /// - Throws: Why it could not be made.
    mutating func copyThroughSecondConnection(
        to target: String, until deadline: Instant
    ) throws(SnapshotFailure) -> Snapshot.Method? {
        guard let original = store.path, fileIsInPlace else { return nil }
        do {
            let source = try Connection(
                path: original, mode: .readOnly, vfs: store.foreignVFS,
                busyTimeout: Instant.now.seconds(until: deadline))
            if snapshot.journalMode == nil,
                case .text(let mode) = try source.value(of: "PRAGMA journal_mode")
            {
                snapshot.journalMode = mode
            }
            try backUp("main", of: source.handle, to: target, until: deadline)
            return .secondConnection
        } catch {
            throw SnapshotFailure(error)
        }
    }

    /// Copies all pages in one step: in several, each write to the source would start the copy anew.
    private func backUp(
        _ schema: String, of source: OpaquePointer, to target: String, until deadline: Instant
    ) throws(SnapshotFailure) {
        do {
            try File(creating: target).close()
            let copy = try Connection(path: target, mode: .readWrite)
            // Nobody else uses the copy, and half a copy is thrown away: neither locks nor a journal nor
            // waiting for the disk would be of use.
            try copy.execute(
                "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = off; PRAGMA synchronous = off")
            try copy.replaceContent(with: schema, of: source, until: deadline)
        } catch {
            throw SnapshotFailure(error)
        }
    }
}

extension Connection {
    /// Makes this database a copy of another connection's, by the backup API
    /// (<https://www.sqlite.org/c3ref/backup_finish.html>).
    ///
    /// - Parameters:
    ///   - schema: The database's name there.
    ///   - source: The handle to read from, which must not be inside a write transaction.
    ///   - deadline: Until when to try again where a lock is held.
    /// - Throws: Why it could not be copied as a whole.
    fileprivate borrowing func replaceContent(
        with schema: String, of source: OpaquePointer, until deadline: Instant
    ) throws(SQLiteError) {
        guard let backup = sqlite3_backup_init(handle, "main", source, schema) else {
            throw SQLiteError("copy the store", handle: handle)
        }
        var code = sqlite3_backup_step(backup, -1)
        while code == SQLITE_BUSY || code == SQLITE_LOCKED, Instant.now < deadline {
            sleep(microseconds: 1000)
            code = sqlite3_backup_step(backup, -1)
        }
        sqlite3_backup_finish(backup)
        guard code == SQLITE_DONE else { throw SQLiteError("copy the store", code: code) }
    }
}
