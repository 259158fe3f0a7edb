internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

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
