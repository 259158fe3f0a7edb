internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// A signal that this process received.
struct ReceivedSignal: Equatable, Sendable {
    let number: CInt
    /// True if a key such as Ctrl-C caused it. Then all processes in the terminal's foreground received it.
    let isFromTerminal: Bool

    /// Waits for a signal. Nil if the wait was interrupted.
    static func next(of signals: sigset_t) -> ReceivedSignal? {
        var signals = signals
        var isFromTerminal: CInt = 0
        let number = failure_artifacts_wait_for_signal(&signals, &isFromTerminal)
        return number == 0 ? nil : ReceivedSignal(number: number, isFromTerminal: isFromTerminal != 0)
    }
}

/// The signal mask and dispositions of a process, to be passed on unchanged to the programs that it starts.
struct InheritedSignals: Sendable {
    /// The blocked signals.
    let mask: sigset_t
    /// True if SIGPIPE is ignored.
    let ignoresBrokenPipes: Bool

    /// The current values of this thread.
    static var current: InheritedSignals {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        return InheritedSignals(mask: mask, ignoresBrokenPipes: isIgnored(SIGPIPE))
    }

    /// True if the process was told to ignore a signal, as by `nohup`.
    static func isIgnored(_ signal: CInt) -> Bool { failure_artifacts_ignores(signal) != 0 }
}

package enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGQUIT: "SIGQUIT",
        SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP",
        SIGXCPU: "SIGXCPU",
    ]

    /// Formats a signal as `signal 9 (SIGKILL)`.
    package static func text(_ signal: Int32) -> String {
        "signal \(signal)" + (names[signal].map { " (\($0))" } ?? "")
    }
}
