internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The result of `sqlite3_serialize`: all pages of a database as its connection sees them, in memory.
///
/// Relies on: a page that could not be read is all zeros in the image, without an error (`sqlite3_serialize` in
/// memdb.c). Verified on SQLite 3.40.1. Otherwise: a page that can't be read is in the copy as SQLite leaves it.
struct SerializedImage: ~Copyable {
    private let start: UnsafeMutablePointer<UInt8>?
    private let size: Int
    private let library: OpaquePointer

    /// Creates an image, which is as large as the database.
    ///
    /// This thread may use the connection, which is in an explicit transaction.
    init(
        of schema: String, on connection: UnsafeMutablePointer<failure_artifacts_connection>
    ) throws(SQLiteError) {
        var size: Int64 = 0
        var code: CInt = SQLITE_OK
        let image = failure_artifacts_serialize_keeping_error(connection, schema, &size, &code)
        guard size >= 0 else {
            throw SQLiteError(
                "copy a store inside a transaction", code: code == SQLITE_OK ? SQLITE_NOMEM : code)
        }
        library = connection.pointee.library
        start = image?.assumingMemoryBound(to: UInt8.self)
        self.size = Int(size)
    }

    deinit { failure_artifacts_free(library, start) }

    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: size) }

    /// True if each page has a nonzero byte, so that all pages were read.
    ///
    /// A database may also have empty pages: free pages that were overwritten, or parts of a blob of zeros.
    var isFull: Bool {
        let bytes = bytes
        guard bytes.count >= 512 else { return bytes.isEmpty }
        guard bytes.starts(with: DatabaseHeader.magic) else { return false }
        let number = Int(bytes[16]) << 8 + Int(bytes[17])
        let pageSize = number == 1 ? 65536 : number
        guard pageSize >= 512 else { return false }
        var offset = 0
        while offset + pageSize <= bytes.count {
            if isZero(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + pageSize])) {
                return false
            }
            offset += pageSize
        }
        return true
    }

    func isEqual(to other: borrowing SerializedImage) -> Bool {
        guard size == other.size else { return false }
        guard let start, let second = other.start else { return true }
        return memcmp(start, second, size) == 0
    }

    private func isZero(_ page: UnsafeRawBufferPointer) -> Bool {
        guard page.loadUnaligned(as: UInt64.self) == 0, let base = page.baseAddress else { return false }
        // Each byte is compared with the one before it.
        return memcmp(base, base + 1, page.count - 1) == 0
    }
}

extension OpenFiles.Entry {
    /// True if SQLite created the file for a temporary database that outgrew its cache.
    ///
    /// Such a file has no name in its directory any more (<https://www.sqlite.org/tempfiles.html>). Its connection
    /// knows the database, so the file is not looked for among the open files.
    ///
    /// Relies on: the file was created with a name that starts with `SQLITE_TEMP_FILE_PREFIX` (SQLite's `os.h`).
    /// Verified on SQLite 3.40.1. Otherwise: a second copy of the temporary database is in the bundle.
    var isTemporaryDatabase: Bool {
        Path.name(of: path).hasPrefix("etilqs_") && (try? FileSystem.status(of: path)) == nil
    }
}
