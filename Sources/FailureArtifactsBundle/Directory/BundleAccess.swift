internal import FailureArtifactsSystem

/// The users who may read bundles, besides root.
package enum BundleAccess: String, Sendable, CaseIterable {
    /// The owner of the file: the user of the test process.
    case owner
    /// The owner and the members of the file's group.
    case group
    case everyone

    package static let variable = "FAILURE_ARTIFACTS_READABLE_BY"

    /// Reads the environment variable, and adds a warning if its value is invalid.
    package init(_ variables: [String: String], _ warnings: inout [String]) {
        self = .owner
        warnings += [Setting.choice(Self.variable, \.self)].apply(variables, to: &self)
    }

    package var filePermissions: UInt16 {
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
