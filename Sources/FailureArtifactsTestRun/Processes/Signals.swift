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

/// What a process was started with as to signals, which a program started by it is to get as it was.
struct InheritedSignals: Sendable {
    /// The signals that are held back.
    let mask: sigset_t
    /// Whether SIGPIPE is ignored.
    let ignoresBrokenPipes: Bool

    /// What this thread has now.
    static var current: InheritedSignals {
        var mask = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &mask)
        return InheritedSignals(mask: mask, ignoresBrokenPipes: isIgnored(SIGPIPE))
    }

    /// Whether the process was told to ignore a signal, as by `nohup`.
    static func isIgnored(_ signal: CInt) -> Bool { failure_artifacts_ignores(signal) != 0 }
}

/// Signals as people know them.
enum SignalName {
    private static let names: [Int32: String] = [
        SIGABRT: "SIGABRT", SIGALRM: "SIGALRM", SIGBUS: "SIGBUS", SIGFPE: "SIGFPE", SIGHUP: "SIGHUP",
        SIGILL: "SIGILL", SIGINT: "SIGINT", SIGKILL: "SIGKILL", SIGPIPE: "SIGPIPE", SIGQUIT: "SIGQUIT",
        SIGSEGV: "SIGSEGV", SIGSYS: "SIGSYS", SIGTERM: "SIGTERM", SIGTRAP: "SIGTRAP",
        SIGXCPU: "SIGXCPU",
    ]

    /// `signal 9 (SIGKILL)`.
    static func text(_ signal: Int32) -> String {
        "signal \(signal)" + (names[signal].map { " (\($0))" } ?? "")
    }
}
