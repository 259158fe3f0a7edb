/// The threads of this process.
package enum Threads {
    /// The system's IDs of this package's threads, which never use other code's connections.
    private static let own = Lock<Set<String>>([])

    /// Runs the body of one of this package's threads.
    fileprivate static func runOwn(_ body: () -> Void) {
        let name = current
        if let name { _ = own.withLock { $0.insert(name) } }
        body()
        if let name { _ = own.withLock { $0.remove(name) } }
    }

    /// This thread's ID in the system's directory of threads; nil if unknown.
    private static var current: String? {
        (try? FileSystem.destination(ofLink: "/proc/thread-self"))
            .flatMap { $0.split(separator: "/").last.map(String.init) }
    }

    /// Returns true if every other thread, except this package's, is asleep when it is checked.
    ///
    /// The answer comes from Linux's `/proc` (`man 5 proc_pid_stat`). It is false on other systems.
    package static func othersSleep() -> Bool {
        #if os(Linux)
        guard let threads = try? FileSystem.contents(ofDirectory: "/proc/self/task"), let current
        else { return false }
        let passedOver = own.withLock(\.self).union([current])
        return threads.allSatisfy { passedOver.contains($0) || sleeps($0) }
        #else
        return false
        #endif
    }

    /// Returns true if the thread with this ID of the system sleeps or has ended; false if unknown.
    package static func sleeps(number: Int) -> Bool {
        #if os(Linux)
        return number != 0 && sleeps(String(number))
        #else
        return false
        #endif
    }

    #if os(Linux)
    private static func sleeps(_ thread: String) -> Bool {
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileSystem.contents(ofFile: "/proc/self/task/\(thread)/stat")
        } catch {
            // A thread that has ended in the meantime counts as asleep.
            return error.isNotFound || error.code == ESRCH
        }
        // The format is "PID (NAME) STATE …". The name may contain parentheses.
        guard let close = bytes.lastIndex(of: UInt8(ascii: ")")), close + 2 < bytes.count else {
            return false
        }
        return bytes[close + 2] == UInt8(ascii: "S")
    }
    #endif
}

// MARK: Working threads

extension Threads {
    /// Runs `body` on a new thread; returns false, without running it, if the system refused a thread.
    ///
    /// All signals are blocked on that thread, so that the process's signal handlers run on its own threads.
    package static func detach(_ body: @escaping @Sendable () -> Void) -> Bool {
        // A thread inherits the mask of the thread that creates it.
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        let work = Unmanaged.passRetained(Work(body))
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let code = pthread_create(
            &thread, nil,
            { context in
                pthread_detach(pthread_self())
                Work.run(context)
                return nil
            }, work.toOpaque())
        if code != 0 { work.release() }
        return code == 0
    }
}

private final class Work: Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
    }

    static func run(_ context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        Threads.runOwn(Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body)
    }
}

/// A queue that runs closures one after the other on its own thread, which exists only while there is work.
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
