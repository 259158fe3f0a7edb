internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// A signal that this process got.
struct ReceivedSignal: Equatable, Sendable {
    let number: CInt
    /// Whether it was a key such as Ctrl-C: all processes in the terminal's foreground have got it.
    let isFromTerminal: Bool

    /// Waits for one.
    ///
    /// - Parameter signals: Those to wait for, which this thread has blocked.
    /// - Returns: The first that comes; nil where the wait was interrupted.
    static func next(of signals: sigset_t) -> ReceivedSignal? {
        var signals = signals
        var isFromTerminal: CInt = 0
        let number = failure_artifacts_wait_for_signal(&signals, &isFromTerminal)
        return number == 0 ? nil : ReceivedSignal(number: number, isFromTerminal: isFromTerminal != 0)
    }
}
