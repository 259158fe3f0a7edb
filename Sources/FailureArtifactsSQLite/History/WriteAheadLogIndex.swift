package import FailureArtifactsSystem

/// The header of a wal-index, the `-shm` file, which describes a WAL
/// (<https://www.sqlite.org/walformat.html#the_wal_index_file_format>).
///
/// Each commit and each checkpoint changes it: two equal headers are of the same point in time.
package struct WriteAheadLogIndex: Sendable, Equatable {
    /// The number of valid and committed frames: `mxFrame`.
    package let lastFrame: Int
    /// The number of frames that a checkpoint may have written into the database: `nBackfillAttempted`.
    let backfillAttempted: Int
    /// The salts of the WAL generation that this index describes.
    private let salts: [UInt8]
    /// The part of the header that commits change, including a counter of them.
    private let header: [UInt8]
    /// The number of frames that a checkpoint has certainly written into the database: `nBackfill`.
    private let backfilled: UInt32

    /// Reads an index by its path without dropping locks; nil if it is missing or can't be read.
    package init?(ofFile path: String) {
        guard FileSystem.regularFile(path) != nil, let file = try? File(sharing: path),
            let index = try? WriteAheadLogIndex(reading: file)
        else { return nil }
        self = index
    }

    /// Reads the header of a wal-index; nil if it is incomplete or being changed.
    ///
    /// - `file`: the `-shm`. SQLite's locks are on this very file: if a connection of this process has it open,
    ///   it must be a `File(sharing:)`.
    package init?(reading file: borrowing File) throws(SystemError) {
        let bytes = try file.bytes(136, at: 0)
        // SQLite writes the second copy first and the first copy last, so equal copies are complete.
        guard bytes.count == 136, bytes[..<48] == bytes[48..<96] else { return nil }
        func number(at offset: Int) -> UInt32 {
            // The index is in native byte order.
            bytes.withBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        }
        // The version of the format, and the flag that says that the index is in use.
        guard number(at: 0) == 3_007_000, bytes[12] != 0 else { return nil }
        lastFrame = Int(number(at: 16))
        salts = Array(bytes[32..<40])
        header = Array(bytes[..<48])
        backfilled = number(at: 96)
        backfillAttempted = Int(max(number(at: 96), number(at: 128)))
    }

    /// Returns true if this is the index of the generation that `log` was read from.
    ///
    /// It isn't if the two were read at different times, or if the WAL is about to be restarted.
    func describes(_ log: WriteAheadLog) -> Bool { log.salts == salts }
}
