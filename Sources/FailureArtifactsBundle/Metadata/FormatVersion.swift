/// The version of the bundle format: a new minor version adds, a new major version breaks.
package struct FormatVersion: Equatable, Sendable, CustomStringConvertible {
    package let major: Int
    package let minor: Int

    /// What this code writes.
    package static let current = FormatVersion(major: 1, minor: 0)

    package init(major: Int, minor: Int) {
        self.major = major
        self.minor = minor
    }

    /// Reads `1.0`; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let major = Int(parts[0]), let minor = Int(parts[1]) else { return nil }
        self.init(major: major, minor: minor)
    }

    package var description: String { "\(major).\(minor)" }
}
