internal import FailureArtifactsSystem

/// How much content an archive may have.
///
/// Deflate makes at most about 1,030 bytes of one, so that a small download can fill a disk
/// (<https://www.bamsoftware.com/hacks/zipbomb/>); entries that share their data are refused in any case.
package struct ZipLimits: Equatable, Sendable {
    /// The largest content of one entry, in bytes.
    package var entryBytes: UInt64
    /// The largest content of all entries, in bytes.
    package var totalBytes: UInt64
    /// How many times larger than its compressed data the content of an entry may be.
    package var ratio: UInt64
    /// Content up to this size, in bytes, may have any ratio: a database of empty pages is honest.
    package var anyRatioBytes: UInt64

    package init(entryBytes: UInt64, totalBytes: UInt64, ratio: UInt64, anyRatioBytes: UInt64) {
        self.entryBytes = entryBytes
        self.totalBytes = totalBytes
        self.ratio = ratio
        self.anyRatioBytes = anyRatioBytes
    }

    /// Four times the largest store that is captured by default.
    package static let standard = ZipLimits(
        entryBytes: 4 << 30, totalBytes: 16 << 30, ratio: 200, anyRatioBytes: 256 << 20)
    /// For archives that are known to be good.
    package static let none = ZipLimits(
        entryBytes: .max, totalBytes: .max, ratio: .max, anyRatioBytes: .max)

    /// Why the content of an entry is not read, as a clause; nil where it is.
    func problem(size: UInt64, compressedSize: UInt64) -> String? {
        if size > entryBytes {
            return "it has \(size) bytes, and the limit is \(entryBytes)"
        }
        if size > anyRatioBytes, size / ratio > compressedSize {
            return "\(compressedSize) bytes of it become \(size), more than \(ratio) times as many"
        }
        return nil
    }

    /// Why not all entries are read, as a clause; nil where they are.
    func problem(ofAll entries: [ZipEntry]) -> String? {
        var total: UInt64 = 0
        for entry in entries {
            let (sum, overflow) = total.addingReportingOverflow(entry.size)
            guard !overflow, sum <= totalBytes else {
                return "its entries have more than \(totalBytes) bytes, which is the limit"
            }
            total = sum
        }
        return nil
    }
}
