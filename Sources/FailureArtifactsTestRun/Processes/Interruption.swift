package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// Tidies up when a signal ends the tool, and stands back while a child process has the terminal.
///
/// The signals are blocked, and a thread waits for them with `sigwait`: what may be done in a signal handler
/// would not be enough to remove a directory.
package final class Interruption: Sendable {
    private struct State {
        var directories: Set<String> = []
        var child: pid_t?
        /// What came for the child while it was being started.
        var pending: [CInt] = []
        /// Takes signals over, and says whether it did.
        var handler: (@Sendable (ReceivedSignal) -> Bool)?
        /// What the process was started with, before ``watch()``.
        var inherited: InheritedSignals?
        /// The signals that are waited for.
        var watched = sigset_t()
    }

    private let state = Lock(State())
    /// The number of marks that the thread has got.
    private let marks = ConditionLock(0)

    package init() {}

    /// The signals that end a process unless it does something about them: those that ask it to end, from the
    /// terminal or from another process, and those that a process may use for its own purposes.
    private static let signals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2]

    /// The signal that this process sends itself in ``settle()``.
    ///
    /// Linux and macOS hand out pending signals in the order of their numbers. All signals that ask a process to
    /// end have lower numbers.
    private static let mark = SIGVTALRM

    /// What a child process is to be given: what this one was.
    var inherited: InheritedSignals { state.withLock(\.inherited) ?? .current }

    /// Hands signals to somebody else from now on.
    ///
    /// - Parameter handler: Says whether it has taken a signal over; else that ends the tool. It must not wait
    ///   for anything. Nil for what there was at first.
    func setHandler(_ handler: (@Sendable (ReceivedSignal) -> Bool)?) {
        state.withLock { state in state.handler = handler }
    }

    /// Has a directory removed when a signal ends the tool.
    package func add(directory: String) {
        state.withLock { state in _ = state.directories.insert(directory) }
    }

    package func remove(directory: String) {
        state.withLock { state in _ = state.directories.remove(directory) }
    }

    /// Leaves signals to a child process: what the terminal sends it gets anyway.
    ///
    /// - Parameter child: 0 stands for one that is just being started, nil for none.
    func setChild(_ child: pid_t?) {
        let pending = state.withLock { state in
            state.child = child
            if child == 0 { return [CInt]() }
            defer { state.pending = [] }
            return state.pending
        }
        if let child { for number in pending { kill(child, number) } }
    }

    /// Waits until the signals that this process has got so far are dealt with.
    ///
    /// A key of the terminal ends a child process too, and the thread that waits for signals may get the key
    /// later than another one sees the child's end.
    func settle() {
        // Without the thread, or where the process was told to ignore the mark, the wait would have no end.
        guard state.withLock({ state in sigismember(&state.watched, Self.mark) == 1 }) else { return }
        let earlier = marks.withLock(\.self)
        kill(getpid(), Self.mark)
        marks.wait { count in count > earlier ? () : nil }
    }

    /// Starts to wait for signals, once in a process, from its main thread.
    ///
    /// Those that the process was told to ignore, as by `nohup`, are left alone.
    package func watch() {
        let inherited = InheritedSignals.current
        // A closed pipe is an error of write(2), like others.
        signal(SIGPIPE, SIG_IGN)
        var set = sigset_t()
        sigemptyset(&set)
        for signal in Self.signals + [Self.mark] where !InheritedSignals.isIgnored(signal) {
            sigaddset(&set, signal)
        }
        state.withLock { [set] state in
            state.inherited = inherited
            state.watched = set
        }
        pthread_sigmask(SIG_BLOCK, &set, nil)
        let context = Unmanaged.passRetained(self).toOpaque()
        #if canImport(Darwin)
        var thread: pthread_t?
        let code = pthread_create(&thread, nil, { interruptionThread($0) }, context)
        #else
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, { interruptionThread($0) }, context)
        #endif
        // Without the thread the signals end the tool as ever, and leave its scratch behind.
        if code != 0 {
            pthread_sigmask(SIG_UNBLOCK, &set, nil)
            state.withLock { state in _ = sigemptyset(&state.watched) }
        }
    }

    fileprivate func waitForSignals() {
        let watched = state.withLock(\.watched)
        while true {
            guard let signal = ReceivedSignal.next(of: watched) else { continue }
            if signal.number == Self.mark {
                marks.update { count in count += 1 }
                continue
            }
            if let handler = state.withLock(\.handler) {
                if handler(signal) { continue }
            } else if leaveToChild(signal.number) {
                continue
            }
            end(by: signal.number)
        }
    }

    /// Passes a signal on to the child process; false where there is none.
    private func leaveToChild(_ number: CInt) -> Bool {
        state.withLock { state in
            guard let child = state.child else { return false }
            // SIGINT and SIGQUIT come from the terminal, to the child as well.
            if number == SIGINT || number == SIGQUIT { return true }
            if child == 0 { state.pending.append(number) } else { kill(child, number) }
            return true
        }
    }

    /// Ends the process with a status, from any thread.
    package func end(with code: ExitCode) -> Never {
        removeDirectories()
        _exit(code.rawValue)
    }

    private func removeDirectories() {
        let directories = state.withLock { state in state.directories }
        for directory in directories {
            // The main thread may just be creating a file in it.
            for _ in 0..<10 where (try? FileSystem.remove(directory)) == nil {}
        }
    }

    /// Ends the process the way the signal would have.
    private func end(by number: CInt) -> Never {
        removeDirectories()
        signal(number, SIG_DFL)
        var set = state.withLock(\.watched)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        kill(getpid(), number)
        _exit(128 + number)
    }
}

/// The body of the thread.
#if canImport(Darwin)
private func interruptionThread(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<Interruption>.fromOpaque(context).takeRetainedValue().waitForSignals()
    return nil
}
#else
private func interruptionThread(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<Interruption>.fromOpaque(context).takeRetainedValue().waitForSignals()
    return nil
}
#endif
