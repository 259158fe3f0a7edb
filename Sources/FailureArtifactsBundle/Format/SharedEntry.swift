extension BundleMetadata {
    /// An entry that a bundle of format 1.0 lacks, because another bundle held the same content.
    package struct SharedEntry: Codable, Equatable, Sendable {
        /// The entry that the bundle would have.
        package var entry: String
        /// The other bundle's file name.
        package var bundle: String
        /// The other bundle's entry.
        package var bundleEntry: String
        /// The size of the content, in bytes.
        package var bytes: UInt64
        /// The CRC-32 of the content, in eight hexadecimal digits.
        package var crc32: String

        package init(
            entry: String, bundle: String, bundleEntry: String, bytes: UInt64, crc32: String
        ) {
            self.entry = entry
            self.bundle = bundle
            self.bundleEntry = bundleEntry
            self.bytes = bytes
            self.crc32 = crc32
        }

        /// The greatest number of shared entries in a bundle.
        static let maximumCount = 1000
    }

    /// Returns the reference to another bundle for an entry that the archive lacks, if there is one.
    package func sharedEntry(named name: String) -> SharedEntry? {
        sharedEntries?.first { $0.entry == name }
    }
}
