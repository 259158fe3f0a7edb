/// A value that only one thread at a time can access, and whose changes other threads can wait for.
///
/// `Synchronization.Mutex` needs macOS 15, and this package supports older versions. The lock is not recursive.
package final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private var value: Value

    package init(_ value: sending Value) {
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        changed = .allocate(capacity: 1)
        pthread_cond_init(changed, nil)
        self.value = value
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the value, and wakes the waiting threads.
    package func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Runs `body` like ``withLock(_:)``; returns nil at once if another thread has access.
    package func withLockIfAvailable<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return try body(&value)
    }

    /// Runs `body`, which may take something from the value, now and after each change until its result isn't nil.
    ///
    /// It wakes no other threads.
    package func wait<Result>(_ body: (inout Value) -> Result?) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            pthread_cond_wait(changed, mutex)
        }
    }

    /// Runs `body` like ``wait(_:)``; returns nil if its result is still nil when the time is up.
    package func wait<Result>(until deadline: Instant, _ body: (inout Value) -> Result?) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            let seconds = Instant.now.seconds(until: deadline)
            if seconds == 0 { return nil }
            // The condition's clock is the calendar's, which may be set. So at most a second is waited at once.
            var time = timespec()
            clock_gettime(CLOCK_REALTIME, &time)
            let nanoseconds = Int(min(seconds, 1) * 1_000_000_000) + Int(time.tv_nsec) + 1
            time.tv_sec += time_t(nanoseconds / 1_000_000_000)
            time.tv_nsec = nanoseconds % 1_000_000_000
            pthread_cond_timedwait(changed, mutex, &time)
        }
    }
}
