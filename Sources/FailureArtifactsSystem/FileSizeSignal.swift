/// Runs `body` so that writes beyond the process's file size limit (`ulimit -f`) fail with `EFBIG`.
///
/// By default the system sends `SIGXFSZ` to the writing thread, which ends the process (setrlimit(2)).
package func withoutFileSizeSignal<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    try discardingSignal(SIGXFSZ, body)
}

/// Runs `body` with a signal blocked, and discards the signal if a failed write on this thread has raised it.
func discardingSignal<Result, Failure: Error>(
    _ number: CInt, _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
    var (signal, pending, before) = (sigset_t(), sigset_t(), sigset_t())
    sigemptyset(&signal)
    sigaddset(&signal, number)
    sigemptyset(&pending)
    pthread_sigmask(SIG_BLOCK, &signal, &before)
    // A signal can only be pending already if it was blocked already.
    if sigismember(&before, number) == 1 { sigpending(&pending) }
    let wasPending = sigismember(&pending, number) == 1
    defer {
        sigpending(&pending)
        if !wasPending, sigismember(&pending, number) == 1 {
            var taken: CInt = 0
            sigwait(&signal, &taken)
        }
        pthread_sigmask(SIG_SETMASK, &before, nil)
    }
    return try body()
}
