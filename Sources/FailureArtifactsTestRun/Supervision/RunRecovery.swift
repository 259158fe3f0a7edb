internal import FailureArtifactsAnalysis
package import FailureArtifactsBundle
package import FailureArtifactsSQLite
package import FailureArtifactsSystem

/// What `run` does for tests that leave no bundle themselves.
package final class RunRecovery: Sendable {
    private let recovery: CrashRecovery
    private let directory: ArtifactsDirectory
    private let timeLimit: Double?
    private let leftOutBefore = Lock<UInt64>(0)
    /// Copies for tests that hang, made while they did.
    private let held = Lock<[CrashRecovery.Held]>([])
    /// The processes that had died in the middle of a test before the run was ended.
    private let diedBefore = Lock<Set<ProcessIdentity>>([])

    /// - Parameters:
    ///   - directory: Where bundles go, absolute.
    ///   - readers: Who may read them.
    ///   - limits: What it may hold.
    ///   - redactions: What must not get into bundles.
    ///   - timeLimit: Of the command, in seconds; nil for none.
    package init(
        directory: String, readers: BundleReaders, limits: DirectoryLimits, redactions: RedactionRules,
        timeLimit: Double?
    ) {
        self.directory = ArtifactsDirectory(path: directory, readers: readers)
        self.timeLimit = timeLimit
        recovery = CrashRecovery(of: self.directory, limits: limits, redactions: redactions)
    }

    /// How many failures of this run have left no bundle, for want of room.
    package var failuresLeftOut: Int {
        let (now, before) = (directory.failuresLeftOut, leftOutBefore.withLock(\.self))
        return now > before ? Int(clamping: now - before) : 0
    }

    /// Makes the bundles of earlier runs, so that theirs are not taken for this one's.
    package func beforehand() -> CrashRecovery.Result {
        // Whatever was put there or taken away since the last run counts.
        directory.recount()
        let result = directory.hasHiddenFiles ? recovery.sweep() : CrashRecovery.Result()
        leftOutBefore.withLock { $0 = directory.failuresLeftOut }
        return result
    }

    /// Notes which processes have died by themselves; to be called before the run is ended.
    func beforeEnd() {
        let dead = recovery.deadProcesses
        diedBefore.withLock { $0 = dead }
    }

    /// Copies the stores of the tests that hang; to be called while everything still runs.
    ///
    /// - Parameter processes: The command's.
    func beforeTimeoutKill(_ processes: [ProcessIdentity]) {
        let limit = timeLimit.map { " of \(DurationText.text($0))" } ?? ""
        let cause = CrashRecovery.Cause(
            outcome: .timedOut,
            message: "The test was still running when the time limit\(limit) was up.")
        let copies = recovery.hold(Set(processes), cause: cause)
        held.withLock { $0 += copies }
    }

    /// Makes the bundles of the processes that have died.
    package func afterwards(_ report: RunReport) -> CrashRecovery.Result {
        let crashed = report.cause == .itself ? recovery.deadProcesses : diedBefore.withLock(\.self)
        return recovery.sweep(holding: held.withLock(\.self)) { process in
            Self.cause(of: process, among: crashed, report)
        }
    }

    // MARK: Why a process has died

    /// The reason for a process's end.
    ///
    /// - Parameters:
    ///   - process: The process.
    ///   - crashed: The processes that the end of the run did not take along.
    ///   - report: The run.
    /// - Returns: The time limit or the signal that ended the run, or else the crash.
    private static func cause(
        of process: ProcessIdentity, among crashed: Set<ProcessIdentity>, _ report: RunReport
    ) -> CrashRecovery.Cause {
        let crash =
            crashed.contains(process) ? crash(of: process, isOnly: crashed.count == 1, report) : nil
        switch report.cause {
        case .timeLimit where !crashed.contains(process):
            return CrashRecovery.Cause(
                outcome: .timedOut,
                message: "The process was ended in the middle of the test: the time limit was up.")
        // Where the whole group got the signal, a process that it ended may have died first: only the log or
        // another signal tells that it crashed.
        case .signal(let signal) where crash == nil:
            return CrashRecovery.Cause(
                outcome: .terminated,
                message: "The run was stopped by \(SignalName.text(signal)) in the middle of the test.")
        case .timeLimit, .signal, .itself:
            return crash ?? .unknown
        }
    }

    /// The crash that ended a process; nil where neither its exit status nor the log shows one.
    private static func crash(
        of process: ProcessIdentity, isOnly: Bool, _ report: RunReport
    ) -> CrashRecovery.Cause? {
        let lines = report.standardError.lines + report.standardOutput.lines
        var cause = CrashRecovery.Cause.unknown
        var isKnown = false
        if let signal = signal(of: process, isOnly: isOnly, lines, report),
            .signal(signal) != report.cause
        {
            isKnown = true
            cause.message =
                "The process was ended by \(SignalName.text(signal)) in the middle of the test."
        }
        // Of several that died the log does not say whose message it is.
        if isOnly, let fatal = FatalMessage.all(in: lines).last {
            isKnown = true
            cause.message = "\(fatal.message)\n\(cause.message)"
            (cause.file, cause.line) = (fatal.file, fatal.line)
        }
        return isKnown ? cause : nil
    }

    /// The signal that ended a process, if this one has seen it or the log tells.
    private static func signal(
        of process: ProcessIdentity, isOnly: Bool, _ lines: [String], _ report: RunReport
    ) -> Int32? {
        let seen = report.ended.first { $0.identity == process }?.status
        if case .signalled(let signal) = seen { return signal }
        guard isOnly else { return nil }
        // SwiftPM's words.
        let words = "unexpected signal code "
        return lines.lazy.compactMap { line in
            line.firstRange(of: words).flatMap { range in
                Int32(line[range.upperBound...].prefix { $0.isNumber })
            }
        }.last
    }
}

/// A process whose end `run` has seen.
package struct EndedProcess: Equatable, Sendable {
    package let identity: ProcessIdentity
    package let status: ExitStatus
}

/// What is known of a command that has ended.
package struct RunReport: Sendable {
    /// What ended it.
    package enum Cause: Equatable, Sendable {
        /// Itself, or what happened to it.
        case itself
        /// The time limit.
        case timeLimit
        /// `run` was told to stop, by a process or with a key of the terminal.
        case signal(Int32)
    }

    /// Where its bundles go, absolute.
    package let directory: String
    package let cause: Cause
    /// The command itself.
    package let command: EndedProcess
    /// Also those of its descendants that outlived their parents and have ended since; on Linux only.
    package let ended: [EndedProcess]
    /// What its processes wrote last; empty where that went to a terminal.
    package let standardOutput: LogTail
    /// The same log as that of standard output, where both go to the same place.
    package let standardError: LogTail

    /// What `run` exits with: the command's own status, and 124 for the time limit as timeout(1) has it.
    package var exitStatus: Int32 { cause == .timeLimit ? 124 : command.status.code }

    /// Whether the last line of what was written has no end yet.
    package var hasOpenLine: Bool {
        [standardOutput, standardError].contains { log in
            log.bytes.last.map { $0 != UInt8(ascii: "\n") } ?? false
        }
    }
}
