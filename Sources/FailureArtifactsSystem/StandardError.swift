/// The one place this project says things to a person while tests run; standard output belongs to the tests.
package enum StandardError {
    /// Writes one line, in one system call so that lines of several processes do not mix.
    ///
    /// Where nobody reads any more, the process does not die of it (`SIGPIPE`), as it would of a line of its own.
    package static func writeLine(_ line: String) {
        let bytes = Array((line + "\n").utf8)
        bytes.withUnsafeBytes { buffer in
            // Nothing can be done about a closed standard error.
            withoutBrokenPipe { _ = write(STDERR_FILENO, buffer.baseAddress, buffer.count) }
        }
    }

    /// Runs `body` without the signal that writing to a pipe without a reader brings about, which goes to the
    /// thread that writes.
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
