package import FailureArtifactsSystem

/// The files of a WAL store that a history is recorded from.
///
/// They are read by positional reads only. Of a store that this process has open, each has to be a
/// `File(sharing:)`: opening and closing one of them drops SQLite's locks.
package struct HistorySource: ~Copyable, Sendable {
    let database: File
    let wal: File
    let walIndex: File?

    /// Takes over the open files.
    ///
    /// - Parameters:
    ///   - database: The database file, or a copy of it that was made at the same time as that of the WAL.
    ///   - wal: The `-wal` beside it, or its copy.
    ///   - walIndex: The `-shm`; nil where there is none. Without it more of a WAL that was checkpointed in
    ///     part is left out, and broken checksums are not told from an aborted transaction.
    package init(database: consuming File, wal: consuming File, walIndex: consuming File? = nil) {
        self.database = database
        self.wal = wal
        self.walIndex = walIndex
    }

    /// What the wal-index says now; nil where there is none that can be read.
    func readIndex() -> WriteAheadLogIndex? {
        switch walIndex {
        case .some(let file): (try? WriteAheadLogIndex(reading: file)) ?? nil
        case .none: nil
        }
    }

    /// Reads a page of the database file.
    ///
    /// - Returns: Whether all of it is there.
    func readPage(
        _ page: UInt32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryError) -> Bool {
        let offset = UInt64(page - 1) * UInt64(buffer.count)
        do {
            return try database.read(into: buffer, at: offset) == buffer.count
        } catch {
            throw HistoryError(database.path, .system(error))
        }
    }

    /// Reads the page that a frame of the WAL has.
    func readFrame(
        _ frame: Int, of log: WriteAheadLog, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryError) {
        let count: Int
        do {
            count = try wal.read(into: buffer, at: log.offset(ofPageInFrame: frame))
        } catch {
            throw HistoryError(wal.path, .system(error))
        }
        guard count == buffer.count else {
            throw HistoryError(wal.path, .changed("the WAL '\(wal.path)' became shorter meanwhile"))
        }
    }

    /// Makes sure that no checkpoint and no new generation of the WAL came in between.
    func checkUnchanged(
        since log: WriteAheadLog, _ index: WriteAheadLogIndex?
    ) throws(HistoryError) {
        var bytes = [UInt8](repeating: 0, count: WriteAheadLog.headerSize)
        do {
            _ = try bytes.withMutableBytes { (buffer) throws(SystemError) in
                try wal.read(into: buffer, at: 0)
            }
        } catch {
            throw HistoryError(wal.path, .system(error))
        }
        guard bytes == log.header?.bytes else {
            throw HistoryError(wal.path, .changed("the WAL '\(wal.path)' was started anew meanwhile"))
        }
        guard let index, let now = readIndex() else { return }
        guard now.backfillAttempted == index.backfillAttempted,
            now.describes(log) == index.describes(log)
        else {
            throw HistoryError(wal.path, .changed("the WAL '\(wal.path)' was checkpointed meanwhile"))
        }
    }
}
