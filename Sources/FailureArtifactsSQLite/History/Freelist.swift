internal import FailureArtifactsSystem

/// The pages that a database does not use (<https://www.sqlite.org/fileformat2.html#the_freelist>).
package enum Freelist {
    /// Those whose content means nothing: the leaves of the freelist.
    ///
    /// - Parameters:
    ///   - databaseSize: In pages.
    ///   - read: Gives a page of the database; nil where there is none.
    /// - Returns: The leaves; of a list that is not what it should be, those up to where it is wrong.
    /// - Throws: What `read` throws.
    package static func leaves(
        databaseSize: UInt32, read: (UInt32) throws(HistoryError) -> [UInt8]?
    ) throws(HistoryError) -> Set<UInt32> {
        guard databaseSize > 0, let first = try read(1), first.count >= 100 else { return [] }
        var leaves: Set<UInt32> = []
        var trunk = first.withBytes { $0.bigEndianUInt32(at: 32) }
        // A list that comes back to one of them goes in circles. Counting them is not enough: what a file says of
        // its size may be as large as a number can be.
        var trunks: Set<UInt32> = []
        // The first page has the header, and is never free.
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
