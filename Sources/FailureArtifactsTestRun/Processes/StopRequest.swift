internal import FailureArtifactsSystem

/// A request to stop, made by a signal, for work that keeps what it has found so far.
///
/// The first signal is such a request. The second one ends the tool.
package final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var child: pid_t?
    }

    private let state = Lock(State())
    let interruption: Interruption

    /// Takes over the signals that end the tool, until ``finish()``.
    package init(_ interruption: Interruption) {
        self.interruption = interruption
        interruption.setHandler { [state] signal in
            state.withLock { state in
                defer { state.signal = state.signal ?? signal.number }
                // The terminal sends its signals to the child, too.
                if !signal.isFromTerminal, let child = state.child { kill(child, signal.number) }
                return state.signal == nil
            }
        }
    }

    /// The signal that arrived; nil if none did.
    package var signal: Int32? { state.withLock(\.signal) }

    /// Restores the effect of signals.
    package func finish() { interruption.setHandler(nil) }

    /// Sets the process to which signals are passed on; nil for none.
    func setChild(_ child: pid_t?) {
        let signal = state.withLock { state in
            state.child = child
            return state.signal
        }
        if let child, let signal { kill(child, signal) }
    }
}
