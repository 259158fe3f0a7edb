package import FailureArtifactsSystem

/// What the header of a wal-index, the `-shm` file, says of a WAL
/// (<https://www.sqlite.org/walformat.html#the_wal_index_file_format>).
///
/// Each commit and each checkpoint changes it: two that are equal are of one moment.
package struct WriteAheadLogIndex: Sendable, Equatable {
    /// How many frames are valid and committed: `mxFrame`.
    package let lastFrame: Int
    /// How many frames a checkpoint may have written into the database: `nBackfillAttempted`.
    let backfillAttempted: Int
    /// The salts of the generation of the WAL that this is the index of.
    private let salts: [UInt8]
    /// All of the header that commits change, a counter of them among it.
    private let header: [UInt8]
    /// How many frames a checkpoint has certainly written into the database: `nBackfill`.
    private let backfilled: UInt32

    /// Reads an index by its path, in a way that drops no lock; nil where there is none that can be read.
    package init?(ofFile path: String) {
        guard FileSystem.regularFile(path) != nil, let file = try? File(sharing: path),
            let index = try? WriteAheadLogIndex(reading: file)
        else { return nil }
        self = index
    }

    /// Reads the header of a wal-index; nil where it is not complete, or being changed.
    ///
    /// - Parameter file: The `-shm`. SQLite's locks are on this very file: where a connection of this
    ///   process has it open it must be a `File(sharing:)`.
    /// - Throws: The failure to read.
    package init?(reading file: borrowing File) throws(SystemError) {
        var bytes = [UInt8](repeating: 0, count: 136)
        let count = try bytes.withMutableBytes { (buffer) throws(SystemError) in
            try file.read(into: buffer, at: 0)
        }
        // The second copy is written first and the first last, so that equal ones are whole.
        guard count == bytes.count, bytes[..<48] == bytes[48..<96] else { return nil }
        func number(at offset: Int) -> UInt32 {
            // In the machine's own order.
            bytes.withBytes { $0.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        }
        // The version of the format, and whether it is in use yet.
        guard number(at: 0) == 3_007_000, bytes[12] != 0 else { return nil }
        lastFrame = Int(number(at: 16))
        salts = Array(bytes[32..<40])
        header = Array(bytes[..<48])
        backfilled = number(at: 96)
        backfillAttempted = Int(max(number(at: 96), number(at: 128)))
    }

    /// Whether this is the index of the generation that `log` has in its file.
    ///
    /// It is not where the two were read at different moments, or the WAL is about to be started anew.
    func describes(_ log: WriteAheadLog) -> Bool {
        log.header?.salts == salts
    }

    /// Whether nothing has happened since but commits: no frame that was there has changed, nor a page of the
    /// database.
    ///
    /// - Parameter earlier: What the index said before.
    /// - Returns: Whether that is so; at the same moment it is.
    func onlyAdds(to earlier: WriteAheadLogIndex) -> Bool {
        salts == earlier.salts && lastFrame >= earlier.lastFrame && backfilled == earlier.backfilled
            && backfillAttempted == earlier.backfillAttempted
    }
}
