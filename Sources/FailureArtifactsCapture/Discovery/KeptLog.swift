internal import CFailureArtifactsCapture
internal import CFailureArtifactsSQLite
internal import FailureArtifactsBundle

/// The statements of a connection that has ended.
final class KeptLog: Sendable {
    private nonisolated(unsafe) let log: OpaquePointer

    /// Takes the log from a connection that is being closed; nil if it has none.
    init?(of record: UnsafeMutablePointer<failure_artifacts_connection>) {
        guard let log = failure_artifacts_log_take(record) else { return nil }
        self.log = log
    }

    /// Shares a log with its other owner.
    init(sharing log: OpaquePointer) {
        failure_artifacts_log_retain(log)
        self.log = log
    }

    deinit { failure_artifacts_log_release(log) }

    func statements(keeping history: LoggedHistory) -> [LoggedStatement] {
        let collected = CollectedLog()
        failure_artifacts_log_read(
            log, nil, Unmanaged.passUnretained(collected).toOpaque(), CollectedLog.read)
        return collected.statements(keeping: history)
    }
}
