internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// The strategies that read a store through SQLite.
extension CopyAttempt {
    /// Copies through the test's own connection, if the table in reading.h allows it.
    ///
    /// The result is nil if the store's files are to be read.
    mutating func copyThroughOwnConnection(
        isLastResort: Bool
    ) throws(CopyFailure) -> StoreCopy.Method? {
        var failure: CopyFailure?
        // If a store has no file, another connection may be able to copy it when the first one can't.
        for access in store.path == nil ? store.accesses[...] : store.accesses.prefix(1) {
            do {
                return try copyThrough(access, isLastResort: isLastResort)
            } catch {
                if failure == nil { failure = error }
                if storeCopy.excessiveBytes != nil { break }
                try? FileSystem.remove(targets.copy)
            }
        }
        if let failure { throw failure }
        return nil
    }

    private mutating func copyThrough(
        _ access: DiscoveredStore.Access, isLastResort: Bool
    ) throws(CopyFailure) -> StoreCopy.Method? {
        // A thread that stays inside the connection for longer is not the test's, and there is another way.
        let patience = isLastResort ? deadline : min(deadline, .now.advanced(bySeconds: 0.25))
        do {
            let result = try access.connection.lend(
                until: patience, waitsForRest: store.path == nil
            ) { borrowed in
                Result { () throws(CopyFailure) in
                    try copy(access, borrowed, isLastResort: isLastResort)
                }
            }
            return try result.get()
        } catch let refusal as BorrowingRefusal {
            if isLastResort || !source.isInPlace { throw CopyFailure(refusal) }
            return nil
        } catch {
            throw CopyFailure(error)
        }
    }

    private mutating func copy(
        _ access: DiscoveredStore.Access, _ borrowed: BorrowedHandle, isLastResort: Bool
    ) throws(CopyFailure) -> StoreCopy.Method? {
        let schema = access.schema
        let transaction = borrowed.transaction(in: schema)
        storeCopy.isTransactionOpen = transaction == .write
        isUnspilled = transaction == .write && failure_artifacts_is_unspilled(borrowed.record, schema)
        let permitted = failure_artifacts_permitted_reading(borrowed.record, schema)
        switch permitted {
        case failure_artifacts_reads_cache:
            try copyCache(schema, of: borrowed)
            return .pageCache
        case failure_artifacts_reads_by_backup: break
        case failure_artifacts_reads_files:
            isSealed = failure_artifacts_is_sealed(borrowed.record, schema)
            if isSealed, source.foreignVFS != nil || !source.isInPlace {
                throw CopyFailure("The store is encrypted, and was not copied in plain.")
            }
            if source.isInPlace && source.foreignVFS == nil { return nil }
            if source.foreignVFS != nil {
                let version = failure_artifacts_read_version(borrowed.record, schema)
                storeCopy.journalMode = [1: "delete", 2: "wal"][version]
            }
            // Without a mutex, nothing prevents another thread from starting to use the connection now.
            if !isLastResort, source.isInPlace, !borrowed.hasMutex { return nil }
            // A deleted file has no other reader, and only the VFS knows the meaning of its bytes.
            guard failure_artifacts_leaves_no_wal(borrowed.record, schema) else {
                throw CopyFailure(
                    "The connection has not read the store yet, and reading it now would create a WAL.")
            }
        default: throw CopyFailure(permitted)
        }
        if store.path == nil {
            try files.checkSize(of: failure_artifacts_examine_cache(borrowed.record, schema).size)
        }
        try backUp(
            schema, of: borrowed.handle, access.connection.library, to: targets.copy, until: deadline)
        hasReadTransaction = transaction == .read
        return .ownConnection
    }

    /// Copies through a connection of our own, which sees the committed state; waits for a lock until the deadline.
    ///
    /// The result is nil if no connection may be opened to the store.
    mutating func copyThroughSecondConnection(
        to target: String, until deadline: Instant
    ) throws(CopyFailure) -> StoreCopy.Method? {
        guard let original = store.path, source.isInPlace, !isSealed, mayOpenAnotherConnection else {
            return nil
        }
        do {
            let connection = try Connection(
                path: original, mode: .readOnly, vfs: source.foreignVFS,
                busyTimeout: Instant.now.seconds(until: deadline))
            if storeCopy.journalMode == nil, source.foreignVFS != nil,
                case .text(let mode) = try connection.value(of: "PRAGMA journal_mode")
            {
                storeCopy.journalMode = mode
            }
            try backUp(
                "main", of: connection.handle, failure_artifacts_linked_library(), to: target,
                until: deadline)
            return .secondConnection
        } catch {
            throw CopyFailure(error)
        }
    }

    /// True if our own connection to the store leaves no file behind and uses the same locks as the store's others.
    ///
    /// The first reader of a store in WAL mode creates a WAL and its index.
    private var mayOpenAnotherConnection: Bool {
        guard let paths = store.files, !source.hasOtherLocks else { return false }
        // Closing our connection would drop the locks of another copy of SQLite.
        guard store.isOfSystemLibrary else { return false }
        if FileSystem.regularFile(paths.walIndex) != nil { return true }
        if source.foreignVFS == nil { return files.journal == .rollback }
        let reader = store.accesses.first { $0.connection.path == store.path && $0.schema == "main" }
        guard let connection = reader?.connection else { return false }
        let leavesNone = try? connection.lend(until: .now, waitsForRest: false) { borrowed in
            failure_artifacts_leaves_no_wal(borrowed.record, "main")
        }
        // If another thread is using the connection, it suffices that a statement was run on it.
        return leavesNone ?? ((connection.lastUse?.order ?? 0) > 0)
    }

    /// Copies a database with the backup API of the copy of SQLite that its connection belongs to.
    private func backUp(
        _ schema: String, of source: OpaquePointer, _ library: OpaquePointer, to target: String,
        until deadline: Instant
    ) throws(CopyFailure) {
        do {
            try File(creating: target).close()
            let code = failure_artifacts_back_up(
                library, source, schema, Path.absolute(target), Instant.now.seconds(until: deadline))
            guard code == SQLITE_OK else { throw SQLiteError("copy the store", code: code) }
        } catch {
            throw CopyFailure(error)
        }
    }
}

extension CopyFailure {
    /// Creates a failure that explains why nothing may be run on a connection, by the table in reading.h.
    fileprivate init(_ state: failure_artifacts_reading) {
        switch state {
        case failure_artifacts_is_being_closed:
            self.init("The connection was being closed.")
        case failure_artifacts_is_replaced:
            self.init("The store was the target of a backup, which had copied only a part of it.")
        default:
            self.init(
                "SQLite was in use before the product was loaded, so that the changes of the connection's transaction "
                    + "could not be read from its page cache.")
        }
    }
}

extension failure_artifacts_cached_database {
    /// The size of the database, in bytes; 0 if it isn't known.
    fileprivate var size: UInt64 { UInt64(page_count) * UInt64(page_size) }
}

// Transactions, which only their connection sees.
extension CopyAttempt {
    /// Writes the pages of a store to the copy as their connection sees them: from its page cache, and where that lacks
    /// a page, from the connection's files.
    mutating func copyCache(_ schema: String, of borrowed: BorrowedHandle) throws(CopyFailure) {
        var cached = failure_artifacts_cached_database()
        guard failure_artifacts_may_read_cache(borrowed.record, schema, &cached) else {
            throw CopyFailure(failure_artifacts_is_not_cached)
        }
        try files.checkSize(of: cached.size)
        do {
            let pages = PageWriter(try File(creating: targets.copy))
            let isComplete = failure_artifacts_read_cache(
                borrowed.record, schema, cached, Unmanaged.passUnretained(pages).toOpaque(),
                PageWriter.write)
            if let error = pages.error { throw error }
            guard isComplete else {
                throw CopyFailure(
                    "A page could not be read when the store was copied: it was not in the page cache, and the files "
                        + "did not tell its content.")
            }
        } catch {
            throw CopyFailure(error)
        }
        if failure_artifacts_has_pending_write(borrowed.record) { try checkPendingWrite() }
    }

    /// Fails if a statement that is running has left the copy in a state that SQLite considers damaged.
    ///
    /// Between two of its steps, a row may lack index entries.
    private mutating func checkPendingWrite() throws(CopyFailure) {
        // A copy that would create a WAL can't be opened by itself.
        try files.makeStandalone(targets.copy)
        let result: Value
        do {
            let copy = try Connection(path: targets.copy, mode: .immutable)
            copy.setDeadline(deadline)
            // These aren't checked while a statement runs.
            try copy.execute("PRAGMA ignore_check_constraints = 1")
            result = try copy.value(of: "PRAGMA integrity_check(1)")
        } catch {
            throw CopyFailure(error)
        }
        guard case .text("ok") = result else {
            throw CopyFailure(
                "A statement was writing, and had not yet completed the indexes of the rows that it had changed."
            )
        }
    }
}

/// The file that receives the pages from C.
private final class PageWriter {
    let file: File
    private(set) var error: SystemError?

    init(_ file: consuming File) { self.file = file }

    private func write(_ page: UnsafeRawBufferPointer, number: UInt32) {
        guard error == nil else { return }
        do {
            try file.write(page, at: UInt64(number - 1) * UInt64(page.count))
        } catch {
            self.error = error
        }
    }

    static let write: @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeRawPointer?, Int) -> Void =
        {
            context, number, bytes, size in
            guard let context else { return }
            Unmanaged<PageWriter>.fromOpaque(context).takeUnretainedValue()
                .write(UnsafeRawBufferPointer(start: bytes, count: size), number: number)
        }
}
