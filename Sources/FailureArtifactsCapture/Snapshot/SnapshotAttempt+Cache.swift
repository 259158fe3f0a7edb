internal import CFailureArtifactsCapture
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

// Transactions of a copy of SQLite that has no `sqlite3_serialize`, such as that of sqlite-nio.
extension SnapshotAttempt {
    /// Writes the pages in a connection's page cache to the copy.
    ///
    /// The pages that the transaction has not changed come from a copy of the store's files.
    mutating func copyCache(_ schema: String, of borrowed: BorrowedHandle) throws(SnapshotFailure) {
        let bytes = UInt64(max(0, failure_artifacts_cached_size(borrowed.record, schema)))
        try files.checkSize(of: bytes)
        if store.path != nil, !copyCommittedFiles(to: targets.copy) {
            throw SnapshotFailure("The pages that the transaction has not changed could not be copied.")
        }
        do {
            let pages = PageWriter(
                try store.path == nil ? File(creating: targets.copy) : File(updating: targets.copy))
            failure_artifacts_read_cache(
                borrowed.record, schema, Unmanaged.passUnretained(pages).toOpaque(), PageWriter.write)
            if let error = pages.error { throw error }
            try pages.file.resize(to: bytes)
        } catch {
            throw SnapshotFailure(error)
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
