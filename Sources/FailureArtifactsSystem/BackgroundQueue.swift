/// A queue that runs closures one after the other on its own thread.
///
/// The thread exists only while there is work.
///
/// Any thread may use it.
package final class BackgroundQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// The process whose thread does the work; 0 if no thread runs.
        ///
        /// After `fork`, the child has no such thread.
        var worker: pid_t = 0

        var isWorking: Bool { worker == getpid() }
    }

    private let state = Lock(State())
    private let maximumWaiting: Int

    /// With this number of waiting closures, ``add(_:)`` blocks until there are fewer.
    package init(maximumWaiting: Int) {
        self.maximumWaiting = maximumWaiting
    }

    /// Adds a closure to the queue.
    ///
    /// If the system refuses a thread, runs it on this thread instead.
    package func add(_ work: @escaping @Sendable () -> Void) {
        let isFirst = state.wait { [maximumWaiting] state -> Bool? in
            guard state.isWorking else {
                state.waiting = [work]
                state.worker = getpid()
                return true
            }
            guard state.waiting.count < maximumWaiting else { return nil }
            state.waiting.append(work)
            return false
        }
        if isFirst, !Threads.detach({ [self] in run() }) { run() }
    }

    /// Waits until the queue is empty.
    package func waitUntilEmpty() {
        state.wait { $0.isWorking ? nil : () }
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.worker = 0
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
