package import FailureArtifactsSystem

/// What an artifacts directory may hold.
package struct DirectoryLimits: Equatable, Sendable {
    /// Larger stores are described, not copied.
    package var storeBytes: UInt64
    /// For the content of one bundle, not compressed, and for its file.
    package var bundleBytes: UInt64
    /// For all bundles together, and for what is in the making, not compressed.
    package var totalBytes: UInt64
    /// How many bundles there may be.
    package var bundles: Int
    /// What is left free of the volume.
    package var freeBytes: UInt64

    package init(
        storeBytes: UInt64, bundleBytes: UInt64 = .max, totalBytes: UInt64, bundles: Int,
        freeBytes: UInt64 = 0
    ) {
        self.storeBytes = storeBytes
        self.bundleBytes = bundleBytes
        self.totalBytes = totalBytes
        self.bundles = bundles
        self.freeBytes = freeBytes
    }

    /// The values of environment variables, or the defaults.
    package init(_ reader: inout EnvironmentReader) {
        func bytes(_ limit: Limit, _ fallback: UInt64) -> UInt64 {
            reader.number(of: limit.rawValue, default: fallback, or: "a number of bytes")
        }
        storeBytes = bytes(.storeBytes, 1 << 30)
        totalBytes = bytes(.totalBytes, 4 << 30)
        bundles = reader.number(of: Limit.bundles.rawValue, default: 200, or: "a number")
        bundleBytes = bytes(.bundleBytes, Self.ordinaryBundleBytes(forStoresOf: storeBytes))
        freeBytes = bytes(.freeBytes, 256 << 20)
    }

    /// What a bundle may have where nothing is said: 3 GiB, or three times the largest store, if that is more.
    package static func ordinaryBundleBytes(forStoresOf storeBytes: UInt64) -> UInt64 {
        max(3 << 30, storeBytes.saturatingAdd(storeBytes).saturatingAdd(storeBytes))
    }

    /// One of the limits, by the variable that sets it.
    package enum Limit: String, Sendable {
        case storeBytes = "FAILURE_ARTIFACTS_MAX_STORE_BYTES"
        case bundleBytes = "FAILURE_ARTIFACTS_MAX_BUNDLE_BYTES"
        case totalBytes = "FAILURE_ARTIFACTS_MAX_TOTAL_BYTES"
        case bundles = "FAILURE_ARTIFACTS_MAX_BUNDLES"
        case freeBytes = "FAILURE_ARTIFACTS_MIN_FREE_BYTES"

        /// Those that say how much there may be in all, whatever the size of a store.
        package static let ofRoom: [Limit] = [.bundleBytes, .totalBytes, .freeBytes]
    }

    // MARK: What is kept for descriptions

    // A bundle that has no copies any more is to have room for saying so. It takes some kilobytes.

    /// What copies, statements and attachments of all bundles may have in all.
    var totalContentBytes: UInt64 { Self.withoutReserve(totalBytes, atMost: 16 << 20) }

    /// What those of one bundle may have.
    var bundleContentBytes: UInt64 { Self.withoutReserve(bundleBytes, atMost: 1 << 20) }

    /// What is left free by them.
    var contentFreeBytes: UInt64 { freeBytes.saturatingAdd(min(freeBytes / 4, 16 << 20)) }

    private static func withoutReserve(_ bytes: UInt64, atMost reserve: UInt64) -> UInt64 {
        bytes - min(bytes / 4, reserve)
    }
}

/// A bundle, or a part of it, for which there is no room.
package struct LimitReached: Error, CustomStringConvertible {
    package let limit: DirectoryLimits.Limit
    /// The directory.
    let path: String
    let limits: DirectoryLimits

    /// A full sentence.
    package var description: String {
        switch limit {
        case .bundles:
            "'\(path)' holds \(limits.bundles) bundles, as many as it may; further failures leave none "
                + "(\(limit.rawValue))."
        case .totalBytes:
            "'\(path)' and what is in the making hold as much as they may, \(limits.totalBytes) bytes; "
                + "further failures leave less, or nothing (\(limit.rawValue))."
        case .bundleBytes, .storeBytes:
            "The bundle would have more than the \(limits.bundleBytes) bytes that it may have "
                + "(\(limit.rawValue))."
        case .freeBytes:
            "The volume of '\(path)' has hardly more than the \(limits.freeBytes) bytes left that are to be "
                + "kept free (\(limit.rawValue))."
        }
    }
}

extension UInt64 {
    func saturatingAdd(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    package func saturatingSubtract(_ other: UInt64) -> UInt64 { self - Swift.min(self, other) }
}
