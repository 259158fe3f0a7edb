internal import CFailureArtifactsCapture
internal import FailureArtifactsSystem

/// Why a rung of the ladder did not give a copy.
struct SnapshotFailure: Error {
    /// A full sentence.
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// What SQLite, the system, or another thread's use of the connection came in the way with.
    init(_ error: any Error) {
        switch error {
        case let failure as SnapshotFailure:
            self = failure
        case let refusal as LendingRefusal:
            self.init(refusal)
        case let error as SQLiteError:
            self.init("SQLite could not \(error.operation): \(error.message) (error \(error.code)).")
        case let error as SystemError:
            self.init("The system could not \(error.operation) '\(error.path)': \(error.reason).")
        default:
            self.init("\(error)")
        }
    }

    /// The reason why nothing may be run on a connection, by the table in reading.h.
    init(_ state: failure_artifacts_reading) {
        switch state {
        case failure_artifacts_is_being_closed:
            reason = "The connection was being closed."
        case failure_artifacts_is_writing:
            reason =
                "The connection was inside a commit, a statement that writes, or a backup to it, which reading it "
                + "would have disturbed."
        case failure_artifacts_is_interrupted:
            reason = "The connection was interrupted, so that SQLite would not read it."
        default:
            reason =
                "SQLite was in use before the product was loaded, so that reading the connection could have made it "
                + "write its transaction to the file."
        }
    }

    private init(_ refusal: LendingRefusal) {
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
