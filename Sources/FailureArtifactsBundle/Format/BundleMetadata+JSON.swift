#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsSystem

extension BundleMetadata {
    /// Encodes the content of `metadata.json`: UTF-8, sorted keys, indented.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // JSONEncoder fails only on numbers that JSON lacks; the durations are finite.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}

extension BundleMetadata {
    /// The name of the entry with a bundle's metadata.
    package static let entryName = "metadata.json"
    /// The maximum size of that entry, in bytes.
    package static let sizeLimit = 16 << 20

    /// Decodes metadata that this product wrote; nil if it is invalid or of a newer format.
    package init?(own json: [UInt8]) {
        guard let metadata = try? JSONDecoder().decode(BundleMetadata.self, from: Data(json)),
            metadata.formatVersion.isReadable
        else { return nil }
        self = metadata
    }
}
