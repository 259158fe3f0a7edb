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
    static let grace = 5.0

    let command: Command
    let interruption: Interruption
    let messages: any SupervisorMessages
    let salvage: RunSalvage
    let mailbox: Mailbox
    let outputs: CommandOutputs
    let reaper: ChildReaper
    var tree: ProcessTree
    /// The command's number.
    var child: pid_t = 0
    /// The command, when it has ended.
    var commandEnd: EndedProcess?
    var ended: [EndedProcess] = []
    var cause = RunReport.Cause.itself
    var openOutputs: Int

    /// - Parameters:
    ///   - command: What is run.
    ///   - interruption: Hands over the signals that this process gets.
    ///   - messages: Receives the tool's own messages.
    ///   - salvage: Makes the bundles of what hangs, before it is ended.
    ///   - recorder: Reads what the command writes; nil where nobody does.
    /// - Throws: That the system gives no pipe.
    package init(
        _ command: Command, interruption: Interruption, messages: any SupervisorMessages,
        salvage: RunSalvage, recorder: RunRecorder? = nil
    ) throws(SystemError) {
        self.command = command
        self.interruption = interruption
        self.messages = messages
        self.salvage = salvage
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
    mutating func take(_ event: Mailbox.Event) -> Bool {
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
            if cause == .itself { salvage.beforeEnd() }
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
