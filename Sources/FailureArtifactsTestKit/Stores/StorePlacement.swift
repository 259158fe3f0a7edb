internal import CFailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The placement of tests' stores: on disk or in memory.
public enum StorePlacement: String, CaseIterable, Hashable, Sendable {
    /// Files in a directory of the test's own, below the temporary directory.
    case onDisk = "disk"
    /// Databases in memory.
    case inMemory = "memory"
    /// The file `/dev/null`; see ``StoreLocation/devNull``.
    case atDevNull = "null"

    /// The placement that the environment variable `FAILURE_ARTIFACTS_TEST_STORES` names: `disk`, `memory` or `null`;
    /// by default `disk`.
    ///
    /// The variable is read once. Another value gives one warning on standard error.
    public static let standard: StorePlacement = {
        var reader = EnvironmentReader(ProcessEnvironment.variables)
        let placement = reader.value(
            of: "FAILURE_ARTIFACTS_TEST_STORES", default: StorePlacement.onDisk,
            or: "one of disk, memory, null", described: \.rawValue
        ) { StorePlacement(rawValue: $0) }
        for warning in reader.warnings {
            StandardError.writeLine("failure-artifacts: warning: \(warning)")
        }
        return placement
    }()
}
