internal import CFailureArtifactsProcesses
package import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

/// The output for the supervisor's own messages.
package protocol SupervisorMessages {
    /// Reports why the command is ended.
    func report(_ failure: CommandError)
    /// Prints a warning; doesn't end anything.
    func warn(_ sentence: String) throws
}

/// Runs a command as if it had been started in place of this process, and supervises it.
///
/// The command stays in the process group of the terminal's foreground: it can read, and receives the signals of keys.
package struct Supervisor {
    /// The time between the signal that asks a process to end and SIGKILL, in seconds.
    private static let grace = 5.0

    private let words: [String]
    private let environment: [String: String]
    private let timeLimit: Double?
    private let interruption: Interruption
    private let messages: any SupervisorMessages
    private let recovery: RunRecovery
    private let mailbox: Mailbox
    private let outputs: CommandOutputs
    private let reaper: ChildReaper
    private var tree: ProcessTree
    private var child: pid_t = 0
    private var commandEnd: EndedProcess?
    private var ended: [EndedProcess] = []
    private var ending = RunReport.Ending.itself
    private var openOutputs: Int

    package init(
        _ words: [String], environment: [String: String], timeLimit: Double?, interruption: Interruption,
        messages: any SupervisorMessages, recovery: RunRecovery, results: RunResults?,
        filter: FailureFilter? = nil
    ) {
        self.words = words
        self.environment = environment
        self.timeLimit = timeLimit
        self.interruption = interruption
        self.messages = messages
        self.recovery = recovery
        let mailbox = Mailbox()
        self.mailbox = mailbox
        reaper = ChildReaper(mailbox: mailbox)
        outputs = CommandOutputs(onLine: results?.lineHooks, filter: filter) {
            mailbox.post(.outputEnded)
        }
        openOutputs = outputs.count
        // If SIGCHLD is ignored, as some job starters do, this process can't learn how a child ends.
        if InheritedSignals.isIgnored(SIGCHLD) { signal(SIGCHLD, SIG_DFL) }
        // Only Linux supports this; elsewhere orphans are lost.
        _ = failure_artifacts_adopt_orphans()
        tree = ProcessTree()
    }

    /// Runs the command to its end; later signals are ignored, except for keys of the terminal, so that the bundles are
    /// still recovered.
    package mutating func run() throws(CommandError) -> RunReport {
        let mailbox = mailbox
        // Set the handler first, so that no signal is lost between the start and the first wait.
        interruption.setHandler { signal in
            mailbox.post(.signal(signal))
            return true
        }
        do throws(CommandError) {
            try start()
        } catch {
            interruption.setHandler(nil)
            throw error
        }
        let deadline = timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        let stopped = waitForCommand(until: deadline)
        if ending == .timeLimit {
            endAfterTimeLimit()
        } else if stopped {
            endAfterSignal()
        }
        finishOutputs(isPatient: ending != .timeLimit && !stopped)
        _ = takePendingSignals()
        interruption.setHandler { !$0.isFromTerminal }
        return RunReport(
            ending: ending, command: commandEnd ?? lost, ended: ended,
            standardOutput: outputs.standardOutput, standardError: outputs.standardError)
    }

    private mutating func start() throws(CommandError) {
        do {
            child = try CommandStart.spawn(
                words, environment: environment, signals: interruption.inherited,
                outputs: outputs.descriptors)
        } catch {
            outputs.commandHasStarted()
            throw error
        }
        outputs.commandHasStarted()
        guard reaper.start() else {
            kill(child, SIGKILL)
            throw CommandError(.inputOutput, "The system gives no more threads.")
        }
    }

    /// Waits until the command has ended, its time is up, or another process has told this one to stop; true if this
    /// process was told to stop.
    private mutating func waitForCommand(until deadline: Instant?) -> Bool {
        while commandEnd == nil {
            guard let event = mailbox.next(until: deadline) else {
                ending = .timeLimit
                return false
            }
            if take(event) { return true }
        }
        return takePendingSignals()
    }

    /// Handles the signals that have arrived so far, such as the key that has ended the command; true if this process
    /// was told to stop.
    private mutating func takePendingSignals() -> Bool {
        interruption.settle()
        var stopped = false
        while let event = mailbox.next(until: .now) {
            if take(event) { stopped = true }
        }
        return stopped
    }

    /// Handles an event; true if this process was told to stop.
    private mutating func take(_ event: Mailbox.Event) -> Bool {
        switch event {
        case .childEnded:
            for process in reaper.reap() {
                if process.identity.number == child, commandEnd == nil { commandEnd = process }
                ended.append(process)
            }
        case .outputEnded: openOutputs -= 1
        case .signal(let signal): return pass(on: signal)
        }
        return false
    }

    /// Passes a signal on to the command, unless the terminal has sent it to the command already; returns true if this
    /// process was told to stop.
    private mutating func pass(on signal: ReceivedSignal) -> Bool {
        if signal.asksToEnd, ending != .timeLimit {
            if ending == .itself { recovery.beforeEnd() }
            ending = .signal(signal.number)
        }
        // A program may continue after a key, as interactive ones do.
        if signal.isFromTerminal { return false }
        // The command's number stays its own until it is reaped.
        if commandEnd == nil { kill(child, signal.number) }
        return signal.asksToEnd
    }

    /// The substitute for a command whose end this process could not see; this doesn't happen in practice.
    private var lost: EndedProcess {
        EndedProcess(
            identity: ProcessIdentity(number: child, start: 0), status: .signalled(SIGKILL))
    }
}

extension Supervisor {
    /// The time between two checks of processes that are about to end, in seconds.
    private static let interval = 0.05

    /// Handles the time limit: kills hanging tests, then ends all descendants of the command.
    private mutating func endAfterTimeLimit() {
        messages.report(
            CommandError(
                .found,
                "'\(words[0])' is ended: \(RunReport.text(ofTimeLimit: timeLimit)) is up."
            ))
        recovery.beforeEnd()
        recovery.killTests(of: tree.members())
        end { supervisor in supervisor.tree.members() }
    }

    /// Handles a request to stop: ends the command and the processes that it leaves behind.
    ///
    /// Processes with a session of their own, such as daemons, are left running. A cancelled job ends in the same way.
    private mutating func endAfterSignal() {
        let deadline = Instant.now.advanced(bySeconds: Self.grace)
        // The command's number stays its own until it is reaped.
        if commandEnd == nil { kill(child, SIGCONT) }
        while commandEnd == nil, let event = mailbox.next(until: deadline) { _ = take(event) }
        let session = getsid(0)
        let child = child
        func remaining(_ supervisor: inout Supervisor) -> [ProcessIdentity] {
            supervisor.tree.members().filter { process in
                process.number == child || [session, child].contains(getsid(process.number))
            }
        }
        end(by: deadline, remaining)
    }

    /// Asks processes to end, and kills those that remain after the deadline.
    private mutating func end(
        by deadline: Instant = Instant.now.advanced(bySeconds: Supervisor.grace),
        _ remaining: (inout Supervisor) -> [ProcessIdentity]
    ) {
        // A process that survives SIGKILL waits for a device, or belongs to another user.
        let limit = deadline.advanced(bySeconds: Self.grace)
        var asked: Set<ProcessIdentity> = []
        while true {
            let processes = remaining(&self)
            if processes.isEmpty && commandEnd != nil { return }
            let now = Instant.now
            if now >= limit {
                let numbers = processes.map { String($0.number) }.joined(separator: ", ")
                try? messages.warn("These processes could not be ended: \(numbers).")
                return
            }
            // Signal parents first: a parent that sees a child end may start another.
            for process in processes where asked.insert(process).inserted {
                process.send(SIGTERM)
                // A stopped process would not handle SIGTERM.
                process.send(SIGCONT)
            }
            if now >= deadline {
                for process in processes { process.send(SIGKILL) }
            }
            let next = now.advanced(bySeconds: Self.interval)
            while let event = mailbox.next(until: now < deadline ? min(next, deadline) : next) {
                _ = take(event)
            }
        }
    }

    /// Waits until the command's output is passed on.
    ///
    /// - `isPatient`: true to wait without a time limit for a slow receiver, as the command would have.
    private mutating func finishOutputs(isPatient: Bool) {
        outputs.commandHasEnded()
        var deadline = isPatient ? nil : Instant.now.advanced(bySeconds: 2)
        while openOutputs > 0, let event = mailbox.next(until: deadline) {
            if case .signal = event, deadline == nil {
                deadline = Instant.now.advanced(bySeconds: 2)
            }
            _ = take(event)
        }
        if let failure = outputs.failure {
            try? messages.warn(
                CommandError.sentence("\(failure)") + " The end of what it wrote is lost.")
        }
    }
}

/// Starts a command the way a shell does.
enum CommandStart {
    static func spawn(
        _ words: [String], environment: [String: String], signals: InheritedSignals,
        outputs: [CInt: CInt]
    ) throws(CommandError) -> pid_t {
        let name = words[0]
        let arguments = Array(words.dropFirst())
        do throws(SystemError) {
            return try ChildProcess.spawn(
                name, arguments: arguments, environment: environment, signals: signals,
                outputs: outputs)
        } catch {
            throw commandError(name, error)
        }
    }

    private static func commandError(_ name: String, _ error: SystemError) -> CommandError {
        guard error.code == ENOENT else {
            return CommandError(
                ExitCode(rawValue: 126), "'\(name)' cannot be run: \(error.reason).")
        }
        let code = ExitCode(rawValue: 127)
        guard name.contains("/") else {
            return CommandError(code, "There is no program '\(name)' in PATH.")
        }
        if access(name, F_OK) == 0 {
            return CommandError(
                code, "'\(name)' cannot be run: the interpreter that it names does not exist.")
        }
        return CommandError(code, "There is no program '\(name)'.")
    }
}
