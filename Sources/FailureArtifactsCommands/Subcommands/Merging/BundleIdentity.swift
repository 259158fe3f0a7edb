internal import FailureArtifactsZip

/// What bundles of the same bytes have in common, and other bundles hardly ever.
///
/// It comes from the archive's list of entries, which has sizes and checksums already: nothing has to be read
/// for it. Where it is the same, the bytes are compared.
struct BundleIdentity: Hashable, Sendable {
    /// The bundle's size in bytes.
    private let bytes: UInt64
    /// A hash of the entries' names, sizes and checksums: FNV-1a with 64 bits.
    private let entries: UInt64

    init(_ archive: ZipArchive, bytes: UInt64) {
        self.bytes = bytes
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func mix(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for entry in archive.entries {
            for byte in entry.name.utf8 { mix(byte) }
            mix(0)
            withUnsafeBytes(of: entry.size.littleEndian) { $0.forEach(mix) }
            withUnsafeBytes(of: entry.crc32.littleEndian) { $0.forEach(mix) }
        }
        entries = hash
    }

    /// What the random part of a bundle's name is replaced with where another bundle has that name: the same
    /// whenever the bundles are merged.
    var number: UInt32 {
        UInt32(truncatingIfNeeded: entries ^ (entries >> 32) ^ bytes)
    }
}
