/// The bytes that SQLite locks in a database file, and in the index of a WAL
/// (<https://www.sqlite.org/src/file?name=src/os.h>, `PENDING_BYTE`; <https://www.sqlite.org/walformat.html#wal_locks>).
enum LockByte {
    fileprivate static let pending: UInt64 = 1 << 30
    static let reserved = pending + 1
    static let firstShared = pending + 2
    static let walWriter: UInt64 = 120
}

/// Returns the page that SQLite never uses, because locks are taken on its bytes.
package func lockBytePage(ofPageSize size: Int) -> UInt32 {
    UInt32(LockByte.pending / UInt64(size)) + 1
}
