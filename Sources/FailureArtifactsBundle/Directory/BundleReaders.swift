package import FailureArtifactsSystem

/// Who may read bundles, besides root.
package enum BundleReaders: String, Sendable, CaseIterable {
    /// Whoever runs the tests.
    case owner
    /// The members of the file's group too.
    case group
    case everyone

    /// The variable that says it.
    package static let variable = "FAILURE_ARTIFACTS_READABLE_BY"

    /// The value of the environment variable, or the default.
    package init(_ reader: inout EnvironmentReader) {
        self = reader.value(
            of: Self.variable, default: .owner, or: "one of owner, group, everyone",
            described: \.rawValue
        ) { BundleReaders(rawValue: $0) }
    }

    var filePermissions: UInt16 {
        switch self {
        case .owner: 0o600
        case .group: 0o640
        case .everyone: 0o644
        }
    }

    var directoryPermissions: UInt16 {
        switch self {
        case .owner: FileSystem.directoryPermissions
        case .group: 0o750
        case .everyone: 0o755
        }
    }
}
