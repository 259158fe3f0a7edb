#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif
internal import FailureArtifactsReading
internal import FailureArtifactsSystem

// A property list as lines such as `window.width = 300`, which can be compared.
extension PropertyList {
    /// The maximum number of arrays and dictionaries in XML.
    ///
    /// Foundation's parser recurses without a limit, and bundles may be untrusted.
    private static let maximumContainers = 250

    /// Parses a property list in XML; nil if it is damaged or too large, or has too many arrays and dictionaries.
    init?(xml: [UInt8]) {
        guard xml.count <= Self.maximumBytes, xml.starts(with: "<?xml".utf8) else { return nil }
        let text = String(decoding: xml.prefix(1000), as: UTF8.self)
        guard text.contains("<plist"),
            xml.matches(of: "<array") + xml.matches(of: "<dict") + xml.matches(of: "<plist")
                <= Self.maximumContainers,
            let decoded = try? PropertyListDecoder().decode(Decoded.self, from: Data(xml))
        else { return nil }
        self = decoded.value
    }

    /// Returns the lines of a property list in either format; nil for other content.
    static func lines(of content: [UInt8]) -> [String]? {
        (PropertyList(content) ?? PropertyList(xml: content))?.lines(of: "")
    }

    private func lines(of key: String) -> [String] {
        switch self {
        case .dictionary(let values) where !values.isEmpty:
            values.sorted { $0.key < $1.key }.flatMap { name, value in
                value.lines(of: key.isEmpty ? name : key + "." + name)
            }
        case .array(let values) where !values.isEmpty:
            values.enumerated().flatMap { index, value in value.lines(of: "\(key)[\(index)]") }
        default: [key + " = " + literal]
        }
    }

    /// The value on one line; of an array or a dictionary, only the brackets.
    var literal: String {
        switch self {
        case .boolean(let value): "\(value)"
        case .integer(let value): "\(value)"
        case .real(let value): ValueText.real(value)
        case .date(let seconds):
            abs(seconds) < 1e9
                ? Timestamp.description(ofNanoseconds: Int64((seconds + 978_307_200) * 1e9))
                : "\(seconds) s since 2001"
        case .data(let bytes):
            "0x" + hexadecimalText(bytes.prefix(32))
                + (bytes.count > 32 ? "… (\(Counted.bytes(UInt64(bytes.count))))" : "")
        case .string(let text): "\"" + SafeText.cell(text) + "\""
        case .array: "[]"
        case .dictionary: "{}"
        case .uid(let index): "#\(index)"
        }
    }

    /// A value that `PropertyListDecoder` can decode.
    private struct Decoded: Decodable {
        let value: PropertyList

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            if let container = try? decoder.container(keyedBy: Key.self) {
                var values: [String: PropertyList] = [:]
                for key in container.allKeys {
                    values[key.stringValue] = try container.decode(Decoded.self, forKey: key).value
                }
                value = .dictionary(values)
                return
            }
            if var container = try? decoder.unkeyedContainer() {
                var values: [PropertyList] = []
                while !container.isAtEnd { values.append(try container.decode(Decoded.self).value) }
                value = .array(values)
                return
            }
            let container = try decoder.singleValueContainer()
            value =
                if let boolean = try? container.decode(Bool.self) {
                    .boolean(boolean)
                } else if let integer = try? container.decode(Int64.self) {
                    .integer(integer)
                } else if let real = try? container.decode(Double.self) {
                    .real(real)
                } else if let date = try? container.decode(Date.self) {
                    .date(date.timeIntervalSinceReferenceDate)
                } else if let data = try? container.decode(Data.self) {
                    .data(Array(data))
                } else {
                    .string(try container.decode(String.self))
                }
        }
    }
}

extension [UInt8] {
    /// Returns the number of occurrences of a text.
    fileprivate func matches(of text: String) -> Int {
        let pattern = Array(text.utf8)
        var count = 0
        var start = startIndex
        while let next = self[start...].firstIndex(of: pattern[0]) {
            if self[next...].starts(with: pattern) { count += 1 }
            start = next + 1
        }
        return count
    }
}
