internal import FailureArtifactsAnalysis
package import FailureArtifactsBundle
internal import FailureArtifactsReading
package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// Makes bundles for the tests of a run that left none themselves.
package final class RunRecovery {
    private let recovery: CrashRecovery
    private let directory: ArtifactsDirectory
    private let timeLimit: Double?
    private let sources: CrashSources?
    private var leftOutBefore: UInt64 = 0
    /// The processes that were in the middle of a test when the time limit was up.
    private var hung: Set<ProcessIdentity> = []
    /// The processes that had died in the middle of a test before the run was ended.
    private var diedBefore: Set<ProcessIdentity> = []

    package init(
        directory: String, readers: BundleAccess, limits: DirectoryLimits, redactions: RedactionRules,
        timeLimit: Double?, sources: CrashSources? = nil
    ) {
        self.directory = ArtifactsDirectory(path: directory, readers: readers)
        self.timeLimit = timeLimit
        self.sources = sources
        recovery = CrashRecovery(
            of: self.directory, limits: limits, redactions: redactions)
    }

    /// The number of failures of this run that a limit left without a bundle.
    package var failuresLeftOut: Int {
        let now = directory.failuresLeftOut
        return now > leftOutBefore ? Int(clamping: now - leftOutBefore) : 0
    }

    /// Makes the bundles of earlier runs, so that they aren't attributed to this one.
    package func beforehand() -> CrashRecovery.Result {
        let result = directory.hasHiddenFiles ? recovery.sweep() : CrashRecovery.Result()
        leftOutBefore = directory.failuresLeftOut
        return result
    }

    /// Records the processes that have died by themselves; call it before the run is ended.
    func beforeEnd() { diedBefore = recovery.deadProcesses }

    /// Kills the processes that are in the middle of a test, so that their stores stay as they are.
    ///
    /// Code that handles SIGTERM could close or remove the stores.
    func killTests(of processes: [ProcessIdentity]) {
        hung = recovery.processesInTests.intersection(processes)
        for process in hung { process.send(SIGKILL) }
    }

    /// Makes the bundles of the processes that have died.
    package func afterwards(_ report: RunReport) -> CrashRecovery.Result {
        let crashed = report.ending == .itself ? recovery.deadProcesses : diedBefore
        let log = CrashLog(
            standardError: report.standardError.lines, standardOutput: report.standardOutput.lines,
            tests: recovery.testsOfDeadProcesses)
        return recovery.sweep { process in
            self.cause(of: process, among: crashed, report, log)
        }
    }

    // MARK: Why a process has died

    /// Determines why a process ended.
    private func cause(
        of process: ProcessIdentity, among crashed: Set<ProcessIdentity>, _ report: RunReport,
        _ log: CrashLog
    ) -> CrashRecovery.Cause {
        let crash =
            crashed.contains(process)
            ? crash(of: process, isOnly: crashed.count == 1, report, log) : nil
        switch report.ending {
        case .timeLimit where !crashed.contains(process):
            return CrashRecovery.Cause(
                outcome: .timedOut,
                message: hung.contains(process)
                    ? "The test was still running when \(RunReport.text(ofTimeLimit: timeLimit)) was up."
                    : "The process was ended in the middle of the test, when the time limit was up.")
        // If the whole process group got the signal, a process that it ended may have died first. Only the log, or
        // another signal, shows that it crashed.
        case .signal(let signal) where crash == nil:
            return CrashRecovery.Cause(
                outcome: .terminated,
                message: "The run was stopped by \(SignalName.text(signal)) in the middle of the test.")
        case .timeLimit, .signal, .itself:
            return crash ?? .unknown
        }
    }

    /// Describes the crash that ended a process; nil if neither its exit status nor the log shows one.
    private func crash(
        of process: ProcessIdentity, isOnly: Bool, _ report: RunReport, _ log: CrashLog
    ) -> CrashRecovery.Cause? {
        var cause = CrashRecovery.Cause.unknown
        var isKnown = false
        if let signal = Self.signal(of: process, isOnly: isOnly, log.lines, report),
            .signal(signal) != report.ending
        {
            isKnown = true
            cause.message =
                "The process was ended by \(SignalName.text(signal)) in the middle of the test."
        }
        // If several processes died, only a backtrace that names a test says which one wrote the message.
        let backtrace = isOnly ? log.backtraces.last : log.backtrace(of: process)
        if let fatal = isOnly ? FatalMessage.all(in: log.lines).last : backtrace?.fatal {
            isKnown = true
            cause.message = "\(fatal.message)\n\(cause.message)"
            (cause.file, cause.line) = (fatal.file, fatal.line)
        }
        if let backtrace { cause.frames = backtrace.frames }
        sources?.resolvePlace(of: &cause)
        return isKnown ? cause : nil
    }

    /// Finds the signal that ended a process, if this process or the log has it; nil otherwise.
    private static func signal(
        of process: ProcessIdentity, isOnly: Bool, _ lines: [String], _ report: RunReport
    ) -> Int32? {
        let seen = report.ended.first { $0.identity == process }?.status
        if case .signalled(let signal) = seen { return signal }
        guard isOnly else { return nil }
        // SwiftPM's text.
        let words = "unexpected signal code "
        return lines.lazy.compactMap { line in
            line.firstRange(of: words).flatMap { range in
                Int32(line[range.upperBound...].prefix { $0.isNumber })
            }
        }.last
    }
}

/// The sources of the package whose tests run, for the places of crashes.
package struct CrashSources: Sendable {
    private let root: String
    private let path: @Sendable (String) -> String?

    /// - `path`: returns the path of a file such as `Shop/Cart.swift` (the module and the file's name), relative to
    ///   the root; nil if the package has no such file, or several.
    package init(root: String, path: @escaping @Sendable (String) -> String?) {
        self.root = root
        self.path = path
    }

    /// Replaces a place in terms of modules by the place of a file of the package.
    ///
    /// A check in Swift's standard library reports the library's own line. Then the innermost frame in the package
    /// counts, if its line is known.
    func resolvePlace(of cause: inout CrashRecovery.Cause) {
        guard let file = cause.file, !file.hasPrefix("/") else { return }
        if let path = path(file) {
            cause.file = root + "/" + path
        } else if file.hasPrefix("Swift/") {
            let place = CrashBacktrace(frames: cause.frames).place(below: root)
            (cause.file, cause.line) = (place?.file, place?.line)
        }
    }
}

package struct RunReport: Sendable {
    package enum Ending: Equatable, Sendable {
        /// The command ended by itself or crashed.
        case itself
        case timeLimit
        /// A process or a key of the terminal told `run` to stop.
        case signal(Int32)
    }

    package let ending: Ending
    package let command: EndedProcess
    /// The processes that have ended; on Linux only, this includes descendants that outlived their parents.
    package let ended: [EndedProcess]
    /// The end of standard output; empty if it went to a terminal that was not read.
    package let standardOutput: LogTail
    /// The end of standard error; the same log as ``standardOutput`` if both go to the same place.
    package let standardError: LogTail

    /// The exit status of `run`: the command's own status, or ``timeLimitStatus``.
    package var exitStatus: Int32 { ending == .timeLimit ? Self.timeLimitStatus : command.status.code }

    /// The exit status when the time limit is up, as in timeout(1).
    package static let timeLimitStatus: Int32 = 124

    /// Returns the words for a time limit in seconds, such as "the time limit of 10m".
    package static func text(ofTimeLimit limit: Double?) -> String {
        "the time limit" + (limit.map { " of \(DurationText.text($0))" } ?? "")
    }

    /// True if the output ends in the middle of a line.
    package var hasOpenLine: Bool {
        [standardOutput, standardError].contains { log in
            log.bytes.last.map { $0 != UInt8(ascii: "\n") } ?? false
        }
    }
}

/// The bundles that a run adds to a directory.
package struct NewBundles {
    /// The maximum number of bundles whose metadata is read.
    private static let limit = 5000

    /// The identifier of the run, which its bundles have in their metadata.
    package let run: String
    private let directory: String
    private let before: Set<String>

    /// Records the bundles that exist now, and gives the run an identifier.
    package init(in directory: String, within outer: String? = nil) {
        let number = String(UInt64.random(in: 0 ... .max), radix: 16)
        run = outer.map { "\($0).\(number)" } ?? number
        self.directory = directory
        before = Set(Self.names(in: directory))
    }

    /// Returns true if the run, or another one that it has started, made a bundle; other processes may use the same
    /// directory at the same time.
    private func isOwn(_ bundle: (path: String, metadata: BundleMetadata?)) -> Bool {
        guard let other = bundle.metadata?.environment.run else { return false }
        return other == run || other.hasPrefix(run + ".")
    }

    /// Returns the bundles that were added, except for those of other runs.
    ///
    /// A process that doesn't know its run, such as one in a container, may belong to it.
    package func bundles(and others: [String] = []) -> [(path: String, metadata: BundleMetadata?)] {
        var paths = Self.names(in: directory).filter { !before.contains($0) }
            .map { Path.join(directory, $0) }
        for path in others where !paths.contains(path) { paths.append(path) }
        let bundles = paths.enumerated().map { index, path in
            let location = BundleLocation(path: path)
            let bundle = index < Self.limit ? try? BundleReader(location, scratchDirectory: "") : nil
            return (path: path, metadata: bundle?.metadata)
        }.filter { $0.metadata?.environment.run == nil || isOwn($0) || others.contains($0.path) }
        // Sort by time in UTC. Bundles without metadata come last.
        func pointInTime(_ metadata: BundleMetadata?) -> String {
            metadata.map { $0.failures.first?.at ?? $0.capture.at } ?? "~"
        }
        return bundles.sorted { left, right in
            (pointInTime(left.metadata), left.path) < (pointInTime(right.metadata), right.path)
        }
    }

    private static func names(in directory: String) -> [String] {
        let names = (try? FileSystem.contents(ofDirectory: directory)) ?? []
        return names.filter { $0.hasSuffix(".zip") && !$0.hasPrefix(".") }
    }
}
