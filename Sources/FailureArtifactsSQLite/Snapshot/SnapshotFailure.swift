internal import FailureArtifactsSystem

/// Why a rung of the ladder did not give a copy.
struct SnapshotFailure: Error {
    /// A full sentence.
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    init(_ error: SQLiteError) {
        reason = "SQLite could not \(error.operation): \(error.message) (error \(error.code))."
    }

    init(_ error: SystemError) {
        reason = "The system could not \(error.operation) '\(error.path)': \(error.reason)."
    }

    init(_ refusal: LendingRefusal) {
        switch refusal {
        case .ended:
            reason = "The connection was closed while the capture was made."
        case .busy:
            reason = "Another thread was using the connection for longer than the time limit."
        case .belongsToOtherThread:
            reason =
                "The connection has no mutex and was used last by another thread, "
                + "so that it cannot be used safely from the thread of the failure."
        }
    }
}
