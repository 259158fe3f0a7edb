/// Limits for the content of an archive.
///
/// Deflate expands data up to about 1,030 times, so that a small download can fill a disk
/// (<https://www.bamsoftware.com/hacks/zipbomb/>). Entries that share their data are always refused.
package struct ZipLimits: Equatable, Sendable {
    package var entryBytes: UInt64
    package var totalBytes: UInt64
    /// The maximum ratio of an entry's content to its compressed data.
    package var ratio: UInt64
    /// The size, in bytes, up to which content may have any ratio; a database of empty pages is legitimate.
    package var anyRatioBytes: UInt64

    package init(entryBytes: UInt64, totalBytes: UInt64, ratio: UInt64, anyRatioBytes: UInt64) {
        self.entryBytes = entryBytes
        self.totalBytes = totalBytes
        self.ratio = ratio
        self.anyRatioBytes = anyRatioBytes
    }

    /// The default limits, four times the default limit for a captured store.
    package static let standard = ZipLimits(
        entryBytes: 4 << 30, totalBytes: 16 << 30, ratio: 200, anyRatioBytes: 256 << 20)
    package static let none = ZipLimits(
        entryBytes: .max, totalBytes: .max, ratio: .max, anyRatioBytes: .max)

    /// Returns the reason to refuse an entry, as a clause; nil if it is within the limits.
    func problem(size: UInt64, compressedSize: UInt64) -> String? {
        if size > entryBytes {
            return "it has \(size) bytes, and the limit is \(entryBytes)"
        }
        if size > anyRatioBytes, size / ratio > compressedSize {
            return
                "its \(compressedSize) compressed bytes expand to \(size), more than \(ratio) times as many"
        }
        return nil
    }

    /// Returns the reason to refuse all entries, as a clause; nil if they are within the limits.
    func problem(ofAll entries: [ZipEntry]) -> String? {
        var total: UInt64 = 0
        for entry in entries {
            let (sum, overflow) = total.addingReportingOverflow(entry.size)
            guard !overflow, sum <= totalBytes else {
                return "its entries have more than \(totalBytes) bytes, the limit"
            }
            total = sum
        }
        return nil
    }
}
