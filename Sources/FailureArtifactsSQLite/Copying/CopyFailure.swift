internal import FailureArtifactsSystem

/// The reason why a strategy did not produce a copy.
package struct CopyFailure: Error {
    /// A full sentence.
    package let reason: String

    package init(_ reason: String) {
        self.reason = reason
    }

    /// Wraps a failure of SQLite or of the system; any other error describes itself.
    package init(_ error: any Error) {
        switch error {
        case let failure as CopyFailure:
            self = failure
        case let error as SQLiteError:
            self.init("SQLite could not \(error.operation): \(error.message) (error \(error.code)).")
        case let error as SystemError:
            self.init("The system could not \(error.operation) '\(error.path)': \(error.reason).")
        default:
            self.init("\(error)")
        }
    }
}
