internal import CFailureArtifactsProcesses

package enum ExitStatus: Equatable, Sendable {
    /// The process ended by itself, with a status from 0 to 255.
    case exited(Int32)
    /// A signal ended the process.
    case signalled(Int32)

    init(waited status: CInt) {
        // The macros WIFEXITED and so on are the same everywhere. 0x80 means that a core file was written.
        let signal = status & 0x7F
        self = signal == 0 ? .exited((status >> 8) & 0xFF) : .signalled(signal)
    }

    /// The status; for a process that a signal ended, 128 plus the signal's number, as in shells.
    package var code: Int32 {
        switch self {
        case .exited(let status): status
        case .signalled(let signal): 128 + signal
        }
    }
}
