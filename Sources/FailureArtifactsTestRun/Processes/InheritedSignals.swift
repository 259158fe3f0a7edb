internal import CFailureArtifactsProcesses
internal import FailureArtifactsSystem

/// The signal mask and dispositions of a process, to be passed on unchanged to the programs that it starts.
struct InheritedSignals: Sendable {
    let mask: sigset_t
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
