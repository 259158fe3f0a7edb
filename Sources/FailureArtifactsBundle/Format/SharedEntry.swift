extension BundleMetadata {
    /// An entry that the metadata names and the archive does not have: another bundle, which lies beside it, has
    /// one of the same content.
    package struct SharedEntry: Codable, Equatable, Sendable {
        /// The entry that this archive would have.
        package var entry: String
        /// The other bundle's file name.
        package var bundle: String
        /// The other bundle's entry.
        package var bundleEntry: String
        /// The size of the content, not compressed.
        package var bytes: UInt64
        /// The CRC-32 of the content, as in a zip, in eight hexadecimal digits.
        package var crc32: String

        package init(
            entry: String, bundle: String, bundleEntry: String, bytes: UInt64, crc32: UInt32
        ) {
            self.entry = entry
            self.bundle = bundle
            self.bundleEntry = bundleEntry
            self.bytes = bytes
            self.crc32 = Self.text(crc32)
        }

        /// A bundle has no more of them.
        static let maximumCount = 1000

        /// The eight digits of a CRC-32.
        package static func text(_ crc32: UInt32) -> String {
            let digits = String(crc32, radix: 16)
            return String(repeating: "0", count: 8 - digits.count) + digits
        }

        /// Whether ``bundle`` is the name of a file, and leads nowhere else.
        package var namesAFile: Bool {
            !bundle.isEmpty && !bundle.hasPrefix(".")
                && !bundle.utf8.contains {
                    $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "\\") || $0 == 0
                }
        }
    }

    /// Where the content of an entry is that the archive does not have; nil for one that it should have.
    package func sharedEntry(named name: String) -> SharedEntry? {
        sharedEntries?.first { $0.entry == name }
    }
}
