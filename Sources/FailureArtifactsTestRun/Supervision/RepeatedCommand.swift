internal import CFailureArtifactsProcesses
internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// A command that is run again and again, with its output in a file.
package struct RepeatedCommand {
    package enum End: Equatable, Sendable {
        case ended(ExitStatus)
        case timedOut
    }

    /// The time that the command has to end after a request to stop, in seconds.
    private static let grace = 2.0

    private let words: [String]
    private let environment: [String: String]
    private let timeLimit: Double?
    private let stop: StopRequest

    /// Creates a command.
    package init(
        _ words: [String], environment: [String: String], timeLimit: Double?, stop: StopRequest
    ) {
        self.words = words
        self.environment = environment
        self.timeLimit = timeLimit
        self.stop = stop
        // If SIGCHLD is ignored, as some job starters do, this process can't learn how a child ends.
        if InheritedSignals.isIgnored(SIGCHLD) { signal(SIGCHLD, SIG_DFL) }
        // Processes that the command leaves behind can then be ended, on Linux.
        _ = failure_artifacts_adopt_orphans()
    }

    /// Runs the command to its end, without standard input.
    ///
    /// - `output`: the path of a file for both outputs. It is created, and overwritten if it exists.
    package func run(setting variables: [String: String], output: String) throws -> End {
        let input = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard input >= 0 else { throw SystemError("open", "/dev/null", code: errno) }
        let reading = Descriptor(owning: input)
        let file = open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw SystemError("write", output, code: errno) }
        let writing = Descriptor(owning: file)
        var tree = ProcessTree()
        let child = try CommandStart.spawn(
            words, environment: environment.merging(variables) { $1 },
            signals: stop.interruption.inherited,
            outputs: [0: reading.number, 1: writing.number, 2: writing.number])
        stop.setChild(child)
        defer { stop.setChild(nil) }
        var deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        var isStopping = false
        var pause: UInt32 = 1000
        var isLate = false
        while true {
            var status: CInt = 0
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child {
                // What the command started in the background would use the next store.
                for process in tree.members() { process.send(SIGKILL) }
                return isLate ? .timedOut : .ended(ExitStatus(waited: status))
            }
            guard ended == 0 || errno == EINTR else {
                throw SystemError("wait for", words[0], code: errno)
            }
            if !isStopping, stop.signal != nil {
                isStopping = true
                let end = Instant.now.advanced(bySeconds: Self.grace)
                deadline = deadline.map { min($0, end) } ?? end
            }
            if !isLate, let deadline, Instant.now > deadline {
                isLate = true
                for process in tree.members() { process.send(SIGKILL) }
            }
            sleep(microseconds: pause)
            pause = min(pause * 2, 20_000)
        }
    }
}

/// A request to stop, made by a signal, for work that keeps what it has found so far.
///
/// The first signal is such a request. The second one ends the tool.
package final class StopRequest: Sendable {
    private struct State {
        var signal: Int32?
        var child: pid_t?
    }

    private let state = Lock(State())
    let interruption: Interruption

    /// Takes over the signals that end the tool, until ``finish()``.
    package init(_ interruption: Interruption) {
        self.interruption = interruption
        interruption.setHandler { [state] signal in
            state.withLock { state in
                defer { state.signal = state.signal ?? signal.number }
                // The terminal sends its signals to the child, too.
                if !signal.isFromTerminal, let child = state.child { kill(child, signal.number) }
                return state.signal == nil
            }
        }
    }

    package var signal: Int32? { state.withLock(\.signal) }

    /// Restores the effect of signals.
    package func finish() { interruption.setHandler(nil) }

    func setChild(_ child: pid_t?) {
        let signal = state.withLock { state in
            state.child = child
            return state.signal
        }
        if let child, let signal { kill(child, signal) }
    }
}
