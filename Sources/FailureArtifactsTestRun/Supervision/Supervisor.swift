internal import CFailureArtifactsProcesses
package import FailureArtifactsAnalysis
package import FailureArtifactsSystem

/// The output for the supervisor's own messages.
package protocol SupervisorMessages {
    /// Reports why the command is ended.
    func report(_ failure: CommandError)
    /// Warns, without ending anything.
    func warn(_ sentence: String) throws
}

/// Runs a command as if it had been started in this process's place, and watches over it.
///
/// The command stays in the process group of the terminal's foreground: it can read, and gets what keys send.
package struct Supervisor {
    /// What is run.
    package struct Command {
        /// The program, then its arguments.
        var words: [String]
        /// All of its environment.
        var environment: [String: String]
        /// Seconds; nil for as long as it takes.
        var timeLimit: Double?
        /// Where its bundles go, absolute.
        var directory: String

        package init(
            words: [String], environment: [String: String], timeLimit: Double? = nil, directory: String
        ) {
            self.words = words
            self.environment = environment
            self.timeLimit = timeLimit
            self.directory = directory
        }
    }

    /// Seconds between the signal that asks a process to end and the one that ends it.
    private static let grace = 5.0

    private let command: Command
    private let interruption: Interruption
    private let messages: any SupervisorMessages
    private let recovery: RunRecovery
    private let mailbox: Mailbox
    private let outputs: CommandOutputs
    private let reaper: ChildReaper
    private var tree: ProcessTree
    /// The command's number.
    private var child: pid_t = 0
    /// The command, when it has ended.
    private var commandEnd: EndedProcess?
    private var ended: [EndedProcess] = []
    private var cause = RunReport.Cause.itself
    private var openOutputs: Int

    /// - Parameters:
    ///   - command: What is run.
    ///   - interruption: Hands over the signals that this process gets.
    ///   - messages: Receives the tool's own messages.
    ///   - recovery: Makes the bundles of what hangs, before it is ended.
    ///   - recorder: Reads what the command writes; nil where nobody does.
    /// - Throws: That the system gives no pipe.
    package init(
        _ command: Command, interruption: Interruption, messages: any SupervisorMessages,
        recovery: RunRecovery, recorder: RunRecorder? = nil
    ) throws(SystemError) {
        self.command = command
        self.interruption = interruption
        self.messages = messages
        self.recovery = recovery
        let mailbox = try Mailbox()
        self.mailbox = mailbox
        reaper = try ChildReaper(mailbox: mailbox)
        outputs = CommandOutputs(onLine: recorder?.lineHooks) { mailbox.post(.outputEnded) }
        openOutputs = outputs.count
        // Whoever ignores it, as some that start jobs do, is not told how a child ends.
        if InheritedSignals.isIgnored(SIGCHLD) { signal(SIGCHLD, SIG_DFL) }
        // Elsewhere orphans are lost sight of.
        _ = failure_artifacts_adopt_orphans()
        tree = ProcessTree()
    }

    /// Runs the command to its end.
    ///
    /// Signals that come afterwards are ignored, so that bundles are salvaged in spite of them, except for keys
    /// of the terminal.
    ///
    /// - Throws: That the command cannot be started.
    package mutating func run() throws(CommandError) -> RunReport {
        let mailbox = mailbox
        // From here on, so that none is lost between the start and the first look.
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
        let deadline = command.timeLimit.map { Instant.now.advanced(bySeconds: $0) }
        let stopped = waitForCommand(until: deadline)
        if cause == .timeLimit {
            endAfterTimeLimit()
        } else if stopped {
            endAfterSignal()
        }
        finishOutputs(isPatient: cause != .timeLimit && !stopped)
        _ = takePendingSignals()
        interruption.setHandler { !$0.isFromTerminal }
        return RunReport(
            directory: command.directory, cause: cause, command: commandEnd ?? lost, ended: ended,
            standardOutput: outputs.standardOutput, standardError: outputs.standardError)
    }

    private mutating func start() throws(CommandError) {
        do {
            child = try CommandStart.spawn(
                command.words, environment: command.environment,
                signals: interruption.inherited, outputs: outputs.descriptors)
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

    /// Waits until the command has ended, its time is up, or a process has told this one to stop.
    ///
    /// - Returns: True if a process has told this one to stop.
    private mutating func waitForCommand(until deadline: Instant?) -> Bool {
        while commandEnd == nil {
            guard let event = mailbox.next(until: deadline) else {
                cause = .timeLimit
                return false
            }
            if take(event) { return true }
        }
        return takePendingSignals()
    }

    /// Deals with the signals that have come so far, such as the key that has ended the command.
    ///
    /// - Returns: True if a process has told this one to stop.
    private mutating func takePendingSignals() -> Bool {
        interruption.settle()
        var stopped = false
        while let event = mailbox.next(until: .now) {
            if take(event) { stopped = true }
        }
        return stopped
    }

    /// Deals with what has happened.
    ///
    /// - Returns: Whether this process was told to stop.
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

    /// Passes a signal on to the command, unless it has got it from the terminal already.
    private mutating func pass(on signal: ReceivedSignal) -> Bool {
        let isForOwnPurposes = signal.number == SIGUSR1 || signal.number == SIGUSR2
        if !isForOwnPurposes, cause != .timeLimit {
            if cause == .itself { recovery.beforeEnd() }
            cause = .signal(signal.number)
        }
        // A program may well go on after a key, as an interactive one does.
        if signal.isFromTerminal { return false }
        // Until it is reaped, its number is its own.
        if commandEnd == nil { kill(child, signal.number) }
        return !isForOwnPurposes
    }

    /// The end of a command that somebody else has waited for, which nobody does.
    private var lost: EndedProcess {
        EndedProcess(
            identity: ProcessIdentity(number: child, start: 0), status: .signalled(SIGKILL))
    }
}

extension Supervisor {
    /// Seconds between two looks at processes that are about to end.
    private static let interval = 0.05

    /// The time is up: what hangs is looked at, then all that descends from the command is ended.
    private mutating func endAfterTimeLimit() {
        let limit = DurationText.text(command.timeLimit ?? 0)
        messages.report(
            CommandError(
                .found,
                "'\(command.words[0])' is ended: it has taken longer than \(limit)."))
        recovery.beforeEnd()
        recovery.beforeTimeoutKill(tree.members())
        end { supervisor in supervisor.tree.members() }
    }

    /// This process was told to stop, and the command with it.
    ///
    /// What the command leaves behind is ended too, as when a job is cancelled, but for what has got itself a
    /// session of its own, as daemons do.
    private mutating func endAfterSignal() {
        let deadline = Instant.now.advanced(bySeconds: Self.grace)
        // Until it is reaped, its number is its own.
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

    /// Asks processes to end, and ends those that are left when the time of grace is over.
    private mutating func end(
        by deadline: Instant = Instant.now.advanced(bySeconds: Supervisor.grace),
        _ remaining: (inout Supervisor) -> [ProcessIdentity]
    ) {
        // Who cannot be ended by SIGKILL waits for a device, or belongs to somebody else.
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
            // Parents first: one that sees a child end may start another.
            for process in processes where asked.insert(process).inserted {
                process.send(SIGTERM)
                // One that is stopped would not learn of it.
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

    /// Has what the command has written passed on.
    ///
    /// - Parameter isPatient: Whether to wait for as long as nobody reads it, as the command would have.
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
