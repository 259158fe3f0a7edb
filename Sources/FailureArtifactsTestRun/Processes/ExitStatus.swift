internal import FailureArtifactsSystem

/// How a process ended.
package enum ExitStatus: Equatable, Sendable {
    /// By itself, with a status from 0 to 255.
    case exited(Int32)
    /// By a signal.
    case signalled(Int32)

    /// - Parameter status: What `waitpid` gives for a process that has ended.
    init(waited status: CInt) {
        // The macros WIFEXITED and so on are the same everywhere; 0x80 stands for a core that was written.
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// The status, and 128 plus the signal's number for what a signal ended, as shells have it.
    package var code: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let signal): 128 + signal
        }
    }
}
