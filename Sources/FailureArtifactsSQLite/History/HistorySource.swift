package import FailureArtifactsSystem

/// The files of a WAL store from which a history is recorded.
///
/// They are read with positional reads only. If this process has the store open, each file must be a
/// `File(sharing:)`: otherwise, opening and closing it would drop SQLite's locks.
package struct HistorySource: ~Copyable, Sendable {
    let database: File
    let wal: File
    let walIndex: File?

    /// Takes ownership of the open files.
    ///
    /// - `walIndex`: the `-shm`; nil without one. Without it, more of a partly checkpointed WAL is left out,
    ///   and broken checksums can't be told from an aborted transaction.
    package init(database: consuming File, wal: consuming File, walIndex: consuming File? = nil) {
        self.database = database
        self.wal = wal
        self.walIndex = walIndex
    }

    /// Returns the current header of the wal-index; nil if it is missing or can't be read.
    func readIndex() -> WriteAheadLogIndex? {
        switch walIndex {
        case .some(let file): (try? WriteAheadLogIndex(reading: file)) ?? nil
        case .none: nil
        }
    }

    /// Reads a page of the database file; returns false if the file lacks a part of it.
    func readPage(
        _ page: UInt32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryRecordingError) -> Bool {
        let offset = UInt64(page - 1) * UInt64(buffer.count)
        return try HistoryRecordingError.wrapping { () throws(SystemError) in
            try database.read(into: buffer, at: offset) == buffer.count
        }
    }

    /// Reads the page in a frame of the WAL.
    func readFrame(
        _ frame: Int, of log: WriteAheadLog, into buffer: UnsafeMutableRawBufferPointer
    ) throws(HistoryRecordingError) {
        let count = try HistoryRecordingError.wrapping { () throws(SystemError) in
            try wal.read(into: buffer, at: log.offset(ofPageInFrame: frame))
        }
        guard count == buffer.count else {
            throw HistoryRecordingError(
                wal.path, .changed("the WAL '\(wal.path)' became shorter meanwhile"))
        }
    }

    /// Throws an error if the WAL was checkpointed or restarted in the meantime.
    func checkUnchanged(
        since log: WriteAheadLog, _ index: WriteAheadLogIndex?
    ) throws(HistoryRecordingError) {
        let bytes = try HistoryRecordingError.wrapping { () throws(SystemError) in
            try wal.bytes(WriteAheadLog.headerSize, at: 0)
        }
        guard bytes == log.header?.bytes else {
            throw HistoryRecordingError(
                wal.path, .changed("the WAL '\(wal.path)' was started anew meanwhile"))
        }
        guard let index, let now = readIndex() else { return }
        guard now.backfillAttempted == index.backfillAttempted,
            now.describes(log) == index.describes(log)
        else {
            throw HistoryRecordingError(
                wal.path, .changed("the WAL '\(wal.path)' was checkpointed meanwhile"))
        }
    }
}
