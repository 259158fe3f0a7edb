/// The one place that prints messages while tests run.
///
/// Standard output belongs to the tests.
package enum StandardError {
    /// Writes one line with one system call, so that lines of several processes don't mix.
    ///
    /// If the pipe's reader is gone, the process doesn't receive `SIGPIPE`.
    package static func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        bytes.withUnsafeBytes { buffer in
            // An error is ignored: there is no other place to report it.
            withoutBrokenPipe { _ = write(STDERR_FILENO, buffer.baseAddress, buffer.count) }
        }
    }

    /// Runs `body` with `SIGPIPE` blocked, and discards a signal that it raised on this thread.
    private static func withoutBrokenPipe(_ body: () -> Void) {
        var (signal, pending, before) = (sigset_t(), sigset_t(), sigset_t())
        sigemptyset(&signal)
        sigaddset(&signal, SIGPIPE)
        sigpending(&pending)
        pthread_sigmask(SIG_BLOCK, &signal, &before)
        body()
        let wasPending = sigismember(&pending, SIGPIPE) == 1
        sigpending(&pending)
        if !wasPending, sigismember(&pending, SIGPIPE) == 1 {
            var taken: CInt = 0
            sigwait(&signal, &taken)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
}
