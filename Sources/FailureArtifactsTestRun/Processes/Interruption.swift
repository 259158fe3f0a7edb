package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Removes temporary directories when a signal ends the tool, and leaves signals to a child that has the terminal.
///
/// The signals are blocked, and a thread waits for them with `sigwait`: a signal handler may not do enough to remove a
/// directory.
package final class Interruption: Sendable {
    private struct State {
        var directories: Set<String> = []
        var child: pid_t?
        /// The signals that arrived for the child while it was being started.
        var pending: [CInt] = []
        /// A closure that takes signals over, and returns true if it did.
        var handler: (@Sendable (ReceivedSignal) -> Bool)?
        /// The last signal that asked the tool to end and that a handler has taken over.
        var signalToEnd: CInt?
        /// The signal mask and dispositions of this process before ``watch()``.
        var inherited: InheritedSignals?
        var watched = sigset_t()
        var cleanUp: (@Sendable () -> Void)?
    }

    private let state = Lock(State())
    /// The number of marks that the thread has received.
    private let marks = Lock(0)

    package init() {}

    /// The signals that end a process by default: requests to end, and those for a process's own purposes.
    private static let signals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]

    /// The signal that this process sends to itself in ``settle()``.
    ///
    /// Linux and macOS deliver pending signals in the order of their numbers. All signals that ask a process to end
    /// have lower numbers.
    private static let mark = SIGVTALRM

    /// The signal mask and dispositions for a child process: those that this process was started with.
    var inherited: InheritedSignals { state.withLock(\.inherited) ?? .current }

    /// Sets the handler for signals from now on.
    ///
    /// - `handler`: a closure that returns true if it has taken a signal over; otherwise the signal ends the
    ///   tool. It must not wait for anything. Nil restores the initial behaviour.
    func setHandler(_ handler: (@Sendable (ReceivedSignal) -> Bool)?) {
        state.withLock { state in state.handler = handler }
    }

    /// The last signal that asked the tool to end, and that the supervisor of a command has taken over.
    package var signalToEnd: CInt? { state.withLock(\.signalToEnd) }

    /// Adds a directory to be removed when a signal ends the tool.
    package func add(directory: String) {
        state.withLock { state in _ = state.directories.insert(directory) }
    }

    package func remove(directory: String) {
        state.withLock { state in _ = state.directories.remove(directory) }
    }

    /// Leaves signals to a child process, which receives the terminal's signals directly.
    ///
    /// - `child`: the child's process number; 0 while it is being started, nil for no child.
    func setChild(_ child: pid_t?) {
        let pending = state.withLock { state in
            state.child = child
            if child == 0 { return [CInt]() }
            defer { state.pending = [] }
            return state.pending
        }
        if let child { for number in pending { kill(child, number) } }
    }

    /// Waits until the signals that this process has received so far are handled.
    ///
    /// A key of the terminal ends a child process too. The thread that waits for signals may receive the key after
    /// another thread has seen the child's end.
    func settle() {
        // Without the thread, or if the process ignores the mark, the wait would never end.
        guard state.withLock({ state in sigismember(&state.watched, Self.mark) == 1 }) else { return }
        let earlier = marks.withLock(\.self)
        kill(getpid(), Self.mark)
        marks.wait { count in count > earlier ? () : nil }
    }

    /// Starts to wait for signals.
    ///
    /// Call it once in a process, on the main thread. Signals that the process was told to ignore, as by `nohup`, are
    /// left alone. `cleanUp` is called before a signal or ``end(with:)`` ends the process.
    package func watch(cleanUp: @escaping @Sendable () -> Void = {}) {
        let inherited = InheritedSignals.current
        // Writing to a closed pipe then fails with an ordinary error.
        signal(SIGPIPE, SIG_IGN)
        var set = sigset_t()
        sigemptyset(&set)
        for signal in Self.signals + [Self.mark] where !InheritedSignals.isIgnored(signal) {
            sigaddset(&set, signal)
        }
        state.withLock { [set] state in
            state.inherited = inherited
            state.watched = set
            state.cleanUp = cleanUp
        }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        // Without the thread, the signals end the tool as usual and leave its temporary directories behind.
        if !Threads.detach({ [self] in waitForSignals() }) {
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            state.withLock { state in _ = sigemptyset(&state.watched) }
        }
    }

    private func waitForSignals() -> Never {
        let watched = state.withLock(\.watched)
        while true {
            guard let signal = ReceivedSignal.next(of: watched) else { continue }
            if signal.number == Self.mark {
                marks.withLock { count in count += 1 }
                continue
            }
            if let handler = state.withLock(\.handler) {
                if handler(signal) {
                    if signal.asksToEnd { state.withLock { $0.signalToEnd = signal.number } }
                    continue
                }
            } else if leaveToChild(signal.number) {
                continue
            }
            end(by: signal.number)
        }
    }

    /// Leaves a signal to the child process; returns false if no child is running.
    private func leaveToChild(_ number: CInt) -> Bool {
        state.withLock { state in
            guard let child = state.child else { return false }
            // The terminal sends SIGINT and SIGQUIT to the child as well.
            if number == SIGINT || number == SIGQUIT { return true }
            if child == 0 { state.pending.append(number) } else { kill(child, number) }
            return true
        }
    }

    /// Ends the process with a status; may be called from any thread.
    package func end(with code: ExitCode) -> Never {
        removeTemporaryFiles()
        _exit(code.rawValue)
    }

    private func removeTemporaryFiles() {
        let (directories, cleanUp) = state.withLock { state in (state.directories, state.cleanUp) }
        cleanUp?()
        for directory in directories {
            // The main thread may just be creating a file in the directory.
            for _ in 0..<10 where (try? FileSystem.remove(directory)) == nil {}
        }
    }

    /// Ends the process in the same way as the signal.
    private func end(by number: CInt) -> Never {
        removeTemporaryFiles()
        signal(number, SIG_DFL)
        var set = state.withLock(\.watched)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), number)
        _exit(128 + number)
    }
}
