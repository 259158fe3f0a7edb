internal import CFailureArtifactsReading

/// The pages that connections read from their files, recorded by a VFS.
///
/// A new connection has no cached pages. So the result of its queries depends on no other pages than those recorded.
struct PageReads: ~Copyable {
    private let reads: OpaquePointer

    /// Registers a VFS.
    ///
    /// The result is nil if memory is exhausted.
    ///
    /// - `pageSize`: the page size of the files, in bytes.
    init?(pageSize: Int) {
        guard let reads = failure_artifacts_page_reads_create(UInt32(clamping: pageSize)) else {
            return nil
        }
        self.reads = reads
    }

    deinit {
        failure_artifacts_page_reads_destroy(reads)
    }

    /// Returns the name of the VFS, for opening connections that close before this value ends.
    borrowing func vfs() -> String {
        String(cString: failure_artifacts_page_reads_name(reads))
    }

    /// Forgets the pages that were read.
    borrowing func clear() { failure_artifacts_page_reads_clear(reads) }

    /// Returns true if a page was read, or if that is unknown.
    borrowing func contains(_ page: UInt32) -> Bool {
        failure_artifacts_page_reads_contain(reads, page)
    }
}
