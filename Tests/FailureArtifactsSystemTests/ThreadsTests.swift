import Testing

@testable import FailureArtifactsSystem

@Suite struct ThreadsTests {
    @Test func aTimeLimitMayBeInfinite() {
        let start = Instant.now
        #expect(start.advanced(bySeconds: .infinity) > start.advanced(bySeconds: 1))
        #expect(start.advanced(bySeconds: -.infinity) == start)
    }

    @Test func workersEndWithTheCall() {
        let finished = Lock(0)
        let queue = Lock(0)
        let result = Threads.withWorkers(
            5,
            {
                _ = queue.wait { $0 == 3 ? true : nil }
                finished.withLock { $0 += 1 }
            },
            { count in
                #expect(count == 5)
                for _ in 0..<3 { queue.withLock { $0 += 1 } }
                return "done"
            })
        #expect(result == "done")
        #expect(finished.withLock(\.self) == 5)
    }

    @Test func workersEndWithAnError() {
        struct Failure: Error {}
        let finished = Lock(0)
        let queue = Lock(false)
        let error = #expect(throws: Failure.self) {
            try Threads.withWorkers(
                3,
                {
                    _ = queue.wait { $0 ? true : nil }
                    finished.withLock { $0 += 1 }
                },
                { (_) throws(Failure) in
                    queue.withLock { $0 = true }
                    throw Failure()
                })
        }
        #expect(error != nil)
        #expect(finished.withLock(\.self) == 3)
    }

    /// The process's own threads handle its signals.
    @Test func workersTakeNoSignals() {
        var before = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        let blocked = Lock([Bool]())
        Threads.withWorkers(
            2,
            {
                var set = sigset_t()
                pthread_sigmask(SIG_BLOCK, nil, &set)
                blocked.withLock { $0.append(sigismember(&set, SIGUSR1) == 1) }
            }, { _ in })
        #expect(blocked.withLock(\.self) == [true, true])
        var after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &after)
        #expect(sigismember(&after, SIGUSR1) == sigismember(&before, SIGUSR1))
    }
}
