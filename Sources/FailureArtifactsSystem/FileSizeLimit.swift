/// Runs `body` so that writes beyond the process's file size limit (`ulimit -f`) fail with `EFBIG`.
///
/// By default the system sends `SIGXFSZ` to the writing thread, which ends the process (setrlimit(2)).
///
/// - Parameter body: A closure that writes files on this thread.
/// - Returns: The result of `body`.
/// - Throws: The error that `body` throws.
package func withoutFileSizeSignal<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    var signal = sigset_t()
    var before = sigset_t()
    sigemptyset(&signal)
    sigaddset(&signal, SIGXFSZ)
    pthread_sigmask(SIG_BLOCK, &signal, &before)
    defer {
        if sigismember(&before, SIGXFSZ) == 0 {
            // A failed write leaves the signal pending.
            var pending = sigset_t()
            var number: CInt = 0
            if sigpending(&pending) == 0, sigismember(&pending, SIGXFSZ) == 1 {
                sigwait(&signal, &number)
            }
            pthread_sigmask(SIG_SETMASK, &before, nil)
        }
    }
    return try body()
}
