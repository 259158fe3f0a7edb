package import FailureArtifactsSystem

/// The reason that a history was not recorded.
package struct HistoryRecordingError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Reason: Equatable, Sendable {
        /// The files changed while they were read; the text is a clause with the details.
        case changed(String)
        /// The time limit passed before everything was read.
        case timeLimit
        case system(SystemError)
    }

    /// The path of the file.
    package let path: String
    package let reason: Reason

    package init(_ path: String, _ reason: Reason) {
        self.path = path
        self.reason = reason
    }

    /// A full sentence.
    package var description: String {
        switch reason {
        case .changed(let clause):
            "The history was not recorded: \(clause)."
        case .timeLimit:
            "The history was not recorded: reading '\(path)' took longer than the time limit."
        case .system(let error):
            "The system failed: \(error)."
        }
    }
}

extension HistoryRecordingError {
    /// Runs `body` and turns a failed system call into a failure of the history.
    package static func wrapping<Result: ~Copyable>(
        _ body: () throws(SystemError) -> Result
    ) throws(HistoryRecordingError) -> Result {
        do {
            return try body()
        } catch {
            throw HistoryRecordingError(error.path, .system(error))
        }
    }
}
