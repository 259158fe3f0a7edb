internal import FailureArtifactsSystem

/// The list of unused pages of a database (<https://www.sqlite.org/fileformat2.html#the_freelist>).
package struct Freelist {
    /// The pages that contain the list.
    package private(set) var trunks: Set<UInt32> = []
    /// The pages whose content has no meaning; of an invalid list, those before the invalid entry.
    package private(set) var leaves: Set<UInt32> = []

    /// Reads the list of a database with a size in pages; `read` returns a page, or nil if there is no such page.
    package init<Failure>(
        databaseSize: UInt32, read: (UInt32) throws(Failure) -> [UInt8]?
    ) throws(Failure) {
        guard databaseSize > 0, let header = try read(1).flatMap({ DatabaseHeader($0) }) else { return }
        var trunk = header.firstTrunk
        while trunk != 0 {
            // A list that returns to an earlier trunk is circular. A limit on their number is not enough, because a
            // file can claim any database size. The first page has the header and is never free.
            guard trunk > 1, trunk <= databaseSize, trunks.insert(trunk).inserted,
                let page = try read(trunk)
            else { return }
            let count = page.withBytes { Int($0.bigEndianUInt32(at: 4)) }
            guard count <= (page.count - header.reservedBytes) / 4 - 2 else { return }
            let isGood = page.withBytes { bytes in
                for index in 0..<count {
                    let leaf = bytes.bigEndianUInt32(at: 8 + 4 * index)
                    guard leaf > 1, leaf <= databaseSize, leaves.insert(leaf).inserted else {
                        return false
                    }
                }
                return true
            }
            guard isGood else { return }
            trunk = page.withBytes { $0.bigEndianUInt32(at: 0) }
        }
    }
}
