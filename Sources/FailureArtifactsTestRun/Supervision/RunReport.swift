package import FailureArtifactsSystem

/// A process whose end `run` has seen.
package struct EndedProcess: Equatable, Sendable {
    package let identity: ProcessIdentity
    package let status: ExitStatus
}

/// What is known of a command that has ended.
package struct RunReport: Sendable {
    /// What ended it.
    package enum Cause: Equatable, Sendable {
        /// Itself, or what happened to it.
        case itself
        /// The time limit.
        case timeLimit
        /// `run` was told to stop, by a process or with a key of the terminal.
        case signal(Int32)
    }

    /// Where its bundles go, absolute.
    package let directory: String
    package let cause: Cause
    /// The command itself.
    package let command: EndedProcess
    /// Also those of its descendants that outlived their parents and have ended since; on Linux only.
    package let ended: [EndedProcess]
    /// What its processes wrote last; empty where that went to a terminal.
    package let standardOutput: LogTail
    /// The same log as that of standard output, where both go to the same place.
    package let standardError: LogTail

    /// What `run` exits with: the command's own status, and 124 for the time limit as timeout(1) has it.
    package var exitStatus: Int32 { cause == .timeLimit ? 124 : command.status.code }

    /// Whether the last line of what was written has no end yet.
    package var hasOpenLine: Bool {
        [standardOutput, standardError].contains { log in
            log.bytes.last.map { $0 != UInt8(ascii: "\n") } ?? false
        }
    }
}
