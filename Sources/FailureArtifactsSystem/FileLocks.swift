/// The POSIX locks that processes hold on a file.
package struct FileLocks: Sendable {
    /// One lock.
    package struct Lock: Sendable {
        /// The process that holds it; 0 or less where the system does not tell.
        package let process: Int32
        package let isExclusive: Bool
        /// Which bytes it covers.
        package let range: ClosedRange<UInt64>
    }

    package let locks: [Lock]

    /// Looks at the locks without taking one; nil where the system does not tell.
    ///
    /// Linux lists them in `/proc/locks` (`man 5 proc_locks`):
    /// `1: POSIX  ADVISORY  WRITE 1234 fe:00:56789 1073741826 1073742335`. Containers with a root of their own
    /// in some sandboxes have an empty list.
    ///
    /// - Parameter identity: The file.
    package init?(on identity: FileStatus.Identity) {
        #if os(Linux)
        // A list of more than a page is given in pieces, between which locks come and go: one that is held all the
        // time may be left out, though hardly twice.
        var bytes: [UInt8] = []
        for _ in 0..<2 {
            guard let list = try? FileSystem.contents(ofSpecialFile: "/proc/locks", limit: 4 << 20)
            else { return nil }
            bytes += list
            if list.count < 4000 { break }
        }
        locks = String(decoding: bytes, as: UTF8.self).split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ")
            // A line of a process that waits for a lock has an arrow in it.
            guard fields.count == 8, fields[1] == "POSIX", let process = Int32(fields[4]),
                fields[5].split(separator: ":").last.flatMap({ UInt64($0) }) == identity.inode,
                let start = UInt64(fields[6])
            else { return nil }
            let end = UInt64(fields[7]) ?? .max
            guard start <= end else { return nil }
            return Lock(process: process, isExclusive: fields[3] == "WRITE", range: start...end)
        }
        #else
        return nil
        #endif
    }

    /// The first lock on one byte that keeps everybody else from it.
    package func exclusive(at byte: UInt64) -> Lock? {
        locks.first { $0.isExclusive && $0.range.contains(byte) }
    }
}
