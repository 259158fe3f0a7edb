/// Work that is done one piece after the other on a thread of its own, which exists only while there is some.
///
/// May be used from any thread.
package final class BackgroundQueue: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let changed: UnsafeMutablePointer<pthread_cond_t>
    private let maximumWaiting: Int
    private var waiting: [@Sendable () -> Void] = []
    private var isRunning = false
    /// The process that has the thread: a child made by `fork` has none.
    private var owner: pid_t = 0

    /// - Parameter maximumWaiting: With as many pieces waiting, whoever adds one waits too.
    package init(maximumWaiting: Int) {
        self.maximumWaiting = maximumWaiting
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
        changed = .allocate(capacity: 1)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        changed.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Has a piece of work done later; or now, on this thread, where the system gives no other.
    package func add(_ work: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(mutex)
        while isRunning && owner == getpid() && waiting.count >= maximumWaiting {
            pthread_cond_wait(changed, mutex)
        }
        if isRunning && owner == getpid() {
            waiting.append(work)
            pthread_mutex_unlock(mutex)
            return
        }
        waiting = [work]
        isRunning = true
        owner = getpid()
        pthread_mutex_unlock(mutex)
        if !Threads.detach({ [self] in run() }) { run() }
    }

    /// Waits until nothing is left to do.
    package func waitUntilEmpty() {
        pthread_mutex_lock(mutex)
        while isRunning && owner == getpid() { pthread_cond_wait(changed, mutex) }
        pthread_mutex_unlock(mutex)
    }

    private func run() {
        pthread_mutex_lock(mutex)
        while !waiting.isEmpty {
            let work = waiting.removeFirst()
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
            work()
            pthread_mutex_lock(mutex)
        }
        isRunning = false
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(mutex)
    }
}
