internal import FailureArtifactsSystem

/// Reads the list of unused pages of a database (<https://www.sqlite.org/fileformat2.html#the_freelist>).
package enum Freelist {
    /// Returns the leaves of the freelist: the pages whose content has no meaning.
    ///
    /// - Parameters:
    ///   - databaseSize: The size of the database, in pages.
    ///   - read: A closure that returns a page of the database; nil if there is no such page.
    /// - Returns: The leaves. For an invalid list, these are the leaves before the invalid entry.
    /// - Throws: Any error that `read` throws.
    package static func leaves<Failure>(
        databaseSize: UInt32, read: (UInt32) throws(Failure) -> [UInt8]?
    ) throws(Failure) -> Set<UInt32> {
        guard databaseSize > 0, let first = try read(1), first.count >= 100 else { return [] }
        var leaves: Set<UInt32> = []
        var trunk = first.withBytes { $0.bigEndianUInt32(at: 32) }
        // A list that returns to an earlier trunk is circular. A limit on their number is not enough, because a
        // file can claim any database size.
        var trunks: Set<UInt32> = []
        // The first page has the header and is never free.
        while trunk > 1, trunk <= databaseSize, trunks.insert(trunk).inserted, let page = try read(trunk)
        {
            let count = page.withBytes { Int($0.bigEndianUInt32(at: 4)) }
            guard count <= page.count / 4 - 2 else { break }
            let isGood = page.withBytes { bytes in
                for index in 0..<count {
                    let leaf = bytes.bigEndianUInt32(at: 8 + 4 * index)
                    guard leaf > 1, leaf <= databaseSize, leaves.insert(leaf).inserted else {
                        return false
                    }
                }
                return true
            }
            guard isGood else { break }
            trunk = page.withBytes { $0.bigEndianUInt32(at: 0) }
        }
        return leaves
    }
}
