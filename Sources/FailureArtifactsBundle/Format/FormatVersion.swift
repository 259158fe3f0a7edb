/// The version of the bundle format: a new minor version adds, a new major version breaks.
package struct FormatVersion: Equatable, Sendable, CustomStringConvertible {
    package let major: Int
    package let minor: Int

    /// What this code writes.
    package static let current = FormatVersion(major: 1, minor: 1)

    package init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads `1.0`, and `1` as the same; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let major = Int(parts[0]), major >= 0,
            let minor = parts.count == 2 ? Int(parts[1]) : 0, minor >= 0
        else { return nil }
        self.init(major: major, minor: minor)
    }

    /// Whether this code understands bundles of this version, new keys aside.
    package var isReadable: Bool { major <= Self.current.major }

    package var description: String { "\(major).\(minor)" }
}

extension FormatVersion: Codable {
    /// Reads a string or a number: a reader has to understand the version even of formats it does not know.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text: String
        if let string = try? container.decode(String.self) {
            text = string
        } else if let integer = try? container.decode(Int.self) {
            text = String(integer)
        } else {
            text = try container.decode(Double.self).description
        }
        guard let version = FormatVersion(text) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "'\(text)' is no version such as \(FormatVersion.current)")
        }
        self = version
    }

    /// Writes a string.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
