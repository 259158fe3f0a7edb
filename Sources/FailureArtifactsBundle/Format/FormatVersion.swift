/// The version of the bundle format.
///
/// A minor version adds to the format; a major version breaks compatibility.
package struct FormatVersion: Equatable, Sendable, CustomStringConvertible {
    package let major: Int
    package let minor: Int

    /// The version that this code writes.
    package static let current = FormatVersion(major: 1, minor: 2)
    /// The version of a bundle that has a baseline.
    package static let withBaseline = FormatVersion(major: 1, minor: 3)

    package init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Parses a version such as `1.0`, or `1` with the same meaning; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let major = Int(parts[0]), major >= 0,
            let minor = parts.count == 2 ? Int(parts[1]) : 0, minor >= 0
        else { return nil }
        self.init(major: major, minor: minor)
    }

    /// True if this code can read bundles of this version; unknown keys are ignored.
    package var isReadable: Bool { major <= Self.current.major }

    package var description: String { "\(major).\(minor)" }
}

extension FormatVersion: Codable {
    /// Decodes a string or a number: the version must be readable even in an unknown format.
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
                debugDescription: "'\(text)' is not a version such as \(FormatVersion.current)")
        }
        self = version
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
