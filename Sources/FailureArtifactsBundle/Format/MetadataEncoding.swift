#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension BundleMetadata {
    /// The content of `metadata.json`: UTF-8, sorted keys, indented.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // JSONEncoder fails on numbers that JSON does not have, and the durations are finite.
        guard let data = try? encoder.encode(self) else { return Array("{}".utf8) }
        return Array(data) + [UInt8(ascii: "\n")]
    }
}
