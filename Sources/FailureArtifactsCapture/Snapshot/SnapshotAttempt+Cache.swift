internal import CFailureArtifactsCapture
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// Transactions of connections on which nothing may run.
extension SnapshotAttempt {
    /// Writes the pages of a store to the copy as their connection sees them: from its page cache, and where that lacks
    /// a page, from the connection's file or the committed state.
    mutating func copyCache(_ schema: String, of borrowed: BorrowedHandle) throws(SnapshotFailure) {
        let cached = failure_artifacts_examine_cache(borrowed.record, schema)
        let bytes = UInt64(cached.page_count) * UInt64(cached.page_size)
        try files.checkSize(of: bytes)
        if cached.needs_committed_pages, !copyCommittedFiles(to: targets.copy) {
            throw SnapshotFailure("The pages that the transaction has not changed could not be copied.")
        }
        do {
            let pages = PageWriter(
                try cached.needs_committed_pages
                    ? File(updating: targets.copy) : File(creating: targets.copy))
            let isComplete = failure_artifacts_read_cache(
                borrowed.record, schema, cached, Unmanaged.passUnretained(pages).toOpaque(),
                PageWriter.write)
            if let error = pages.error { throw error }
            guard isComplete else {
                throw SnapshotFailure("A page could not be read when the store was copied.")
            }
            try pages.file.resize(to: bytes)
        } catch {
            throw SnapshotFailure(error)
        }
        if failure_artifacts_has_pending_write(borrowed.record) { try checkPendingWrite() }
    }

    /// Fails if a statement that is running has left the copy in a state that SQLite considers damaged.
    ///
    /// Between two of its steps, a row may lack index entries.
    private mutating func checkPendingWrite() throws(SnapshotFailure) {
        // A copy that would create a WAL can't be opened by itself.
        try files.makeStandalone(targets.copy)
        let result: Value
        do {
            let copy = try Connection.untrusted(targets.copy, limits: .none)
            copy.setDeadline(deadline)
            // These aren't checked while a statement runs.
            try copy.execute("PRAGMA ignore_check_constraints = 1")
            result = try copy.value(of: "PRAGMA integrity_check(1)")
        } catch {
            throw SnapshotFailure(error)
        }
        guard case .text("ok") = result else {
            throw SnapshotFailure(
                "A statement was writing, and had not yet completed the indexes of the rows that it had changed."
            )
        }
    }
}

/// The file that receives the pages from C.
private final class PageWriter {
    let file: File
    /// The first error.
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
