internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// A signal that this process received.
struct ReceivedSignal: Equatable, Sendable {
    let number: CInt
    /// True if a key such as Ctrl-C caused it; then all processes in the terminal's foreground received it.
    let isFromTerminal: Bool

    /// False for the signals that are for a process's own purposes.
    var asksToEnd: Bool { number != SIGUSR1 && number != SIGUSR2 }

    /// Waits for a signal; nil if the wait was interrupted.
    static func next(of signals: sigset_t) -> ReceivedSignal? {
        var signals = signals
        var isFromTerminal: CInt = 0
        let number = failure_artifacts_wait_for_signal(&signals, &isFromTerminal)
        return number == 0 ? nil : ReceivedSignal(number: number, isFromTerminal: isFromTerminal != 0)
    }
}
