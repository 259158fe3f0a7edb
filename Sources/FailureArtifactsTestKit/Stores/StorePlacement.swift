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
        var placement = StorePlacement.onDisk
        let setting = Setting.choice("FAILURE_ARTIFACTS_TEST_STORES", \StorePlacement.self)
        for warning in [setting].apply(ProcessEnvironment.variables, to: &placement) {
            StandardError.writeLine("failure-artifacts: warning: \(warning)")
        }
        return placement
    }()
}
