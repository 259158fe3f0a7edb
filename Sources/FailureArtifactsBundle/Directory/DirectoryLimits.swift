internal import FailureArtifactsSystem

/// The limits of an artifacts directory.
package struct DirectoryLimits: Equatable, Sendable {
    /// The maximum size of a store that is copied, in bytes.
    package var storeBytes: UInt64
    /// The maximum size of a bundle, in bytes; nil for 3 GiB, or three times the largest store, if that is more.
    package var givenBundleBytes: UInt64?
    /// The maximum size of all bundles together, in bytes.
    package var totalBytes: UInt64
    /// The maximum number of bundles.
    package var bundles: Int
    /// The number of bytes to leave free on the volume.
    package var freeBytes: UInt64
    /// True if the oldest bundles make room for a further failure.
    ///
    /// On a CI service nothing is removed, because all bundles are of the same run: beyond the number of bytes, a
    /// further failure leaves a description of its stores, and beyond the number of bundles, nothing.
    package var removesOldest: Bool

    package init(
        storeBytes: UInt64 = 1 << 30, bundleBytes: UInt64? = nil, totalBytes: UInt64 = 4 << 30,
        bundles: Int = 200, freeBytes: UInt64 = 256 << 20, removesOldest: Bool = false
    ) {
        self.removesOldest = removesOldest
        self.storeBytes = storeBytes
        givenBundleBytes = bundleBytes
        self.totalBytes = totalBytes
        self.bundles = bundles
        self.freeBytes = freeBytes
    }

    /// Reads the limits from environment variables, and adds warnings about invalid values.
    package init(_ variables: [String: String], _ warnings: inout [String]) {
        self.init(removesOldest: !RunEnvironment.isService(variables))
        warnings += Self.settings.apply(variables, to: &self)
    }

    private static var settings: [Setting<Self>] {
        [
            .number(Limit.storeBytes.rawValue, \.storeBytes, or: "a number of bytes"),
            .number(Limit.bundleBytes.rawValue, \.bundleBytes, or: "a number of bytes"),
            .number(Limit.totalBytes.rawValue, \.totalBytes, or: "a number of bytes"),
            .number(Limit.bundles.rawValue, \.bundles, or: "a number"),
            .number(Limit.freeBytes.rawValue, \.freeBytes, or: "a number of bytes"),
        ]
    }

    /// The maximum size of one bundle's file, and of its content before compression, in bytes.
    package var bundleBytes: UInt64 {
        get {
            givenBundleBytes
                ?? max(3 << 30, storeBytes.saturatingAdd(storeBytes).saturatingAdd(storeBytes))
        }
        set { givenBundleBytes = newValue }
    }

    /// One of the limits, identified by its environment variable.
    package enum Limit: String, Sendable {
        case storeBytes = "FAILURE_ARTIFACTS_MAX_STORE_BYTES"
        case bundleBytes = "FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES"
        case totalBytes = "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"
        case bundles = "FAILURE_ARTIFACTS_MAX_BUNDLES"
        case freeBytes = "FAILURE_ARTIFACTS_MIN_FREE_BYTES"

        /// The limits on available space.
        package static let ofRoom: [Limit] = [.bundleBytes, .totalBytes, .freeBytes]
    }

    // MARK: The reserve for descriptions

    // A bundle without copies takes some kilobytes, and still describes what is missing and why.

    /// The maximum size of all bundles with copies, statements or attachments, in bytes.
    var totalContentBytes: UInt64 { Self.withoutReserve(totalBytes, atMost: 16 << 20) }

    /// The maximum size of the copies, statements and attachments of one bundle, in bytes.
    var bundleContentBytes: UInt64 { Self.withoutReserve(bundleBytes, atMost: 1 << 20) }

    /// The number of bytes to leave free on the volume when storing copies, statements and attachments.
    var contentFreeBytes: UInt64 { freeBytes.saturatingAdd(min(freeBytes / 4, 16 << 20)) }

    private static func withoutReserve(_ bytes: UInt64, atMost reserve: UInt64) -> UInt64 {
        bytes - min(bytes / 4, reserve)
    }
}
