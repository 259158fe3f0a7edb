internal import CFailureArtifactsSQLite

/// The resource limits for an untrusted store.
package struct UntrustedLimits: Equatable, Sendable {
    /// The largest text or BLOB, and the largest row, in bytes.
    package var valueBytes: Int
    /// The processor time that a thread may use for all work of one connection, in seconds; nil for no limit.
    package var seconds: Double?

    package init(valueBytes: Int, seconds: Double?) {
        self.valueBytes = valueBytes
        self.seconds = seconds
    }

    /// Limits that are higher than the stores of tests need.
    package static let standard = UntrustedLimits(valueBytes: 128 << 20, seconds: 60)
    /// SQLite's own limits, for stores that are known to be good.
    package static let none = UntrustedLimits(valueBytes: 1_000_000_000, seconds: nil)
}
