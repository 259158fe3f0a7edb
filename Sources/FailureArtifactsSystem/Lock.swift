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
        #if canImport(Darwin)
        pthread_cond_init(changed, nil)
        #else
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        #endif
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
            let now = Instant.now
            if now >= deadline { return nil }
            // A wait on the calendar's clock, the default, takes longer if that clock is set back.
            #if canImport(Darwin)
            var time = timespec(Instant(nanoseconds: deadline.nanoseconds - now.nanoseconds))
            pthread_cond_timedwait_relative_np(changed, mutex, &time)
            #else
            var time = timespec(deadline)
            pthread_cond_timedwait(changed, mutex, &time)
            #endif
        }
    }
}

extension timespec {
    fileprivate init(_ instant: Instant) {
        let second: UInt64 = 1_000_000_000
        self.init(tv_sec: Int(instant.nanoseconds / second), tv_nsec: Int(instant.nanoseconds % second))
    }
}

/// Delays `fork` while another thread of this package holds a library's locks.
///
/// A forked child has only the thread that forked, but all locks as they were. A lock that another thread
/// held is never released in the child. Without this package's threads, a test and its child could both use a
/// library such as SQLite.
package enum ForkGuard {
    private struct Shared: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        /// The number of threads inside ``withForksDelayed(_:)``.
        let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    }

    /// The number of attempts before a fork goes on anyway, and the wait between them, in microseconds: 5
    /// seconds in total.
    private static let (attempts, interval) = (10_000, useconds_t(500))

    private static let shared: Shared = {
        let shared = Shared()
        pthread_mutex_init(shared.mutex, nil)
        shared.count.initialize(to: 0)
        pthread_atfork({ prepare() }, { pthread_mutex_unlock(ForkGuard.shared.mutex) }, { startChild() })
        return shared
    }()

    /// Runs `body`, which takes a library's locks, on a thread of this package.
    ///
    /// A fork on another thread waits until it returns. So `body` takes a few seconds at most, and doesn't fork.
    package static func withForksDelayed<Result, Failure>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        add(1)
        defer { add(-1) }
        return try body()
    }

    private static func add(_ number: Int) {
        pthread_mutex_lock(shared.mutex)
        shared.count.pointee += number
        pthread_mutex_unlock(shared.mutex)
    }

    /// Waits until the parent may fork or the time limit passes, and leaves the mutex locked.
    private static func prepare() {
        for _ in 0..<attempts {
            pthread_mutex_lock(shared.mutex)
            if shared.count.pointee == 0 { return }
            pthread_mutex_unlock(shared.mutex)
            usleep(interval)
        }
        pthread_mutex_lock(shared.mutex)
    }

    private static func startChild() {
        shared.count.pointee = 0
        pthread_mutex_init(shared.mutex, nil)
    }
}
