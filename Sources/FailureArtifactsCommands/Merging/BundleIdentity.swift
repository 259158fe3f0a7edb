internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// What bundles of the same bytes have in common, and other bundles hardly ever.
///
/// It comes from the archive's list of entries, which has sizes and checksums already: nothing has to be read
/// for it. Where it is the same, the bytes are compared.
struct BundleIdentity: Hashable, Sendable {
    /// The bundle's size in bytes.
    private let bytes: UInt64
    /// A hash of the entries' names, sizes and checksums.
    private let entries: UInt64

    init(_ archive: ZipArchive, bytes: UInt64) {
        self.bytes = bytes
        var hash = FNV1a()
        for entry in archive.entries {
            hash.add(entry.name.utf8)
            hash.add([0])
            withUnsafeBytes(of: entry.size.littleEndian) { hash.add($0) }
            withUnsafeBytes(of: entry.crc32.littleEndian) { hash.add($0) }
        }
        entries = hash.value
    }

    /// What the random part of a bundle's name is replaced with where another bundle has that name: the same
    /// whenever the bundles are merged.
    var number: UInt32 {
        UInt32(truncatingIfNeeded: entries ^ (entries >> 32) ^ bytes)
    }
}
