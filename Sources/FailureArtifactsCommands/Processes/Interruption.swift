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
    }

    private let state = Lock(State())

    package init() {}

    /// The signals that are asked to end a process, from the terminal or from another process.
    private static let signals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP]

    private static var signalSet: sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }

    /// Has a directory removed when a signal ends the tool.
    func add(directory: String) {
        state.withLock { state in _ = state.directories.insert(directory) }
    }

    func remove(directory: String) {
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

    /// Starts to wait for signals, once in a process, from its main thread.
    package func watch() {
        // A closed pipe is an error of write(2), like others.
        signal(SIGPIPE, SIG_IGN)
        var set = Self.signalSet
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
        if code != 0 { pthread_sigmask(SIG_UNBLOCK, &set, nil) }
    }

    fileprivate func waitForSignals() {
        var set = Self.signalSet
        while true {
            var number: CInt = 0
            guard sigwait(&set, &number) == 0 else { continue }
            if !leaveToChild(number) { end(by: number) }
        }
    }

    /// Passes a signal on to the child process; false where there is none.
    private func leaveToChild(_ number: CInt) -> Bool {
        state.withLock { state in
            guard let child = state.child else { return false }
            // SIGINT and SIGQUIT come from the terminal, to the child as well.
            guard number == SIGTERM || number == SIGHUP else { return true }
            if child == 0 { state.pending.append(number) } else { kill(child, number) }
            return true
        }
    }

    /// Ends the process the way the signal would have.
    private func end(by number: CInt) -> Never {
        let directories = state.withLock { state in state.directories }
        for directory in directories {
            // The main thread may just be creating a file in it.
            for _ in 0..<10 where (try? FileSystem.remove(directory)) == nil {}
        }
        signal(number, SIG_DFL)
        var set = Self.signalSet
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
