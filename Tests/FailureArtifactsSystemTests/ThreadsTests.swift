import Testing

@testable import FailureArtifactsSystem

@Suite struct ThreadsTests {
    @Test func aTimeLimitMayBeInfinite() {
        let start = Instant.now
        #expect(start.advanced(bySeconds: .infinity) > start.advanced(bySeconds: 1))
        #expect(start.advanced(bySeconds: -.infinity) == start)
    }

    /// The process's own threads handle its signals.
    @Test func threadsTakeNoSignals() {
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        let blocked = Lock([Bool]())
        let isStarted = Threads.detach {
            var set = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &set)
            blocked.withLock { $0.append(sigismember(&set, SIGUSR1) == 1) }
        }
        #expect(isStarted && blocked.wait { $0.first })
        var after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &after)
        #expect(sigismember(&after, SIGUSR1) == sigismember(&before, SIGUSR1))
    }
}
