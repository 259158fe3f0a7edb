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
