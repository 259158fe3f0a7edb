internal import FailureArtifactsAnalysis
internal import FailureArtifactsSystem

extension Supervisor {
    /// Seconds between two looks at processes that are about to end.
    private static let interval = 0.05

    /// The time is up: what hangs is looked at, then all that descends from the command is ended.
    mutating func endAfterTimeLimit() {
        let limit = DurationText.text(command.timeLimit ?? 0)
        messages.report(
            CommandError(
                .found,
                "'\(command.words[0])' is ended: it has taken longer than \(limit)."))
        salvage.beforeEnd()
        salvage.beforeTimeoutKill(tree.members())
        end { supervisor in supervisor.tree.members() }
    }

    /// This process was told to stop, and the command with it.
    ///
    /// What the command leaves behind is ended too, as when a job is cancelled, but for what has got itself a
    /// session of its own, as daemons do.
    mutating func endAfterSignal() {
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
    mutating func finishOutputs(isPatient: Bool) {
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
