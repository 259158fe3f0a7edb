/// A value that one thread at a time may touch.
///
/// `Synchronization.Mutex` is the same thing, but needs macOS 15; this one goes back as far as the package does.
/// The lock is not recursive.
package final class Lock<Value>: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ value: sending Value) {
        // One piece of memory for both: there are several locks for each test.
        let alignment = max(MemoryLayout<pthread_mutex_t>.alignment, MemoryLayout<Value>.alignment)
        let offset = (MemoryLayout<pthread_mutex_t>.size + alignment - 1) / alignment * alignment
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: offset + MemoryLayout<Value>.size, alignment: alignment)
        mutex = memory.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        self.value = (memory + offset).bindMemory(to: Value.self, capacity: 1)
        pthread_mutex_init(mutex, nil)
        self.value.initialize(to: value)
    }

    deinit {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(mutex)
        UnsafeMutableRawPointer(mutex).deallocate()
    }

    /// Runs `body` while no other thread is in such a call, and returns what it returns.
    package func withLock<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Runs `body` unless another thread is in such a call, in which case it returns nil at once.
    package func withLockIfAvailable<Result, Failure>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard pthread_mutex_trylock(mutex) == 0 else { return nil }
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }

    /// Begins what ``withLock(_:)`` does around its closure, for what is done for each test and each store.
    ///
    /// In a debug build, which is what `swift test` makes of a dependency, a closure that is handed to a generic
    /// function costs several hundred instructions, and this a few.
    ///
    /// - Returns: Where the value is; not to be used after ``leave()``, which the same thread has to call.
    package func enter() -> UnsafeMutablePointer<Value> {
        pthread_mutex_lock(mutex)
        return value
    }

    /// Ends what ``enter()`` has begun.
    package func leave() {
        pthread_mutex_unlock(mutex)
    }
}
