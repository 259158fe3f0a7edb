/// Work that is done one piece after the other on a thread of its own, which exists only while there is some.
///
/// May be used from any thread.
package final class BackgroundQueue: Sendable {
    private struct State {
        var waiting: [@Sendable () -> Void] = []
        /// The process whose thread does the work, a child made by `fork` having none; 0 where nothing is done.
        var worker: pid_t = 0

        var isWorking: Bool { worker == getpid() }
    }

    private let state = Monitor(State())
    private let maximumWaiting: Int

    /// - Parameter maximumWaiting: With as many pieces waiting, whoever adds one waits too.
    package init(maximumWaiting: Int) {
        self.maximumWaiting = maximumWaiting
    }

    /// Has a piece of work done later; or now, on this thread, where the system gives no other.
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

    /// Waits until nothing is left to do.
    package func waitUntilEmpty() {
        state.wait { $0.isWorking ? nil : () }
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.update { state in
            if state.waiting.isEmpty {
                state.worker = 0
                return nil
            }
            return state.waiting.removeFirst()
        }
    }
}
