/// What keeps a child that is made by `fork` usable.
///
/// Such a child has the thread that forked, and the locks of all threads as they were: one that another thread held
/// is never given back. In a library such as SQLite, which a test and its child may both use, that would not happen
/// to them without the threads of ours.
package enum Forks {
    private struct Shared: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        /// How many threads are where no fork may be.
        let count = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    }

    /// How often a fork looks whether it may go on, and how long it waits in between, in microseconds: 5 seconds.
    private static let (attempts, interval) = (10_000, useconds_t(500))

    private static let shared: Shared = {
        let shared = Shared()
        pthread_mutex_init(shared.mutex, nil)
        shared.count.initialize(to: 0)
        pthread_atfork({ prepare() }, { pthread_mutex_unlock(Forks.shared.mutex) }, { startChild() })
        return shared
    }()

    /// Runs `body`, which takes locks of others, on a thread of ours; a fork on another thread waits for its end.
    ///
    /// - Parameter body: Takes some seconds at most, and does not fork.
    /// - Returns: What it returns.
    /// - Throws: What it throws.
    package static func heldOff<Result, Failure>(
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

    /// Waits until the parent may fork, or for as long as it should wait, and leaves the mutex locked.
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
