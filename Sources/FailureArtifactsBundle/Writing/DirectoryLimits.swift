package import FailureArtifactsSystem

/// What an artifacts directory may hold.
package struct DirectoryLimits: Equatable, Sendable {
    /// Larger stores are described, not copied: `FAILURE_ARTIFACTS_MAX_STORE_BYTES`.
    package var storeBytes: UInt64
    /// For all bundles together: `FAILURE_ARTIFACTS_MAX_TOTAL_BYTES`.
    package var totalBytes: UInt64
    /// `FAILURE_ARTIFACTS_MAX_BUNDLES`.
    package var bundles: Int

    package init(storeBytes: UInt64, totalBytes: UInt64, bundles: Int) {
        self.storeBytes = storeBytes
        self.totalBytes = totalBytes
        self.bundles = bundles
    }

    /// The values of environment variables, or the defaults.
    package init(_ reader: inout EnvironmentReader) {
        let bytes = "a number of bytes"
        storeBytes = reader.number(
            of: "FAILURE_ARTIFACTS_MAX_STORE_BYTES", default: 1 << 30, or: bytes)
        totalBytes = reader.number(
            of: "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES", default: 4 << 30, or: bytes)
        bundles = reader.number(of: "FAILURE_ARTIFACTS_MAX_BUNDLES", default: 200, or: "a number")
    }
}
