/// Runs `body` with writes beyond the process's file size limit (`ulimit -f`) failing with `EFBIG`.
///
/// Without it the system sends `SIGXFSZ` to the thread that writes, which ends the process (setrlimit(2)).
///
/// - Parameter body: Writes files on this thread.
/// - Returns: The result of `body`.
/// - Throws: What `body` throws.
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
            // A write that failed has left the signal pending.
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
