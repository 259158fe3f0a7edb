internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

/// `run`: runs tests, and recovers the bundles of tests that crashed or hung.
struct RunCommand: Command {
    static let syntax = Syntax(
        command: "run", summary: "Run tests, and make bundles for those that crash or hang",
        positionals: [],
        options: [
            Syntax.Option(
                "--timeout", value: "D",
                help:
                    "End the command and all processes that it started after this time: 90 (seconds), 90s, 10m or "
                    + "1h30m. The stores of hanging tests are captured first."),
            Syntax.Option(
                "--until-failure", value: "N",
                help:
                    "Repeat the command until it fails, at most N times. The failure is then compared with the last "
                    + "run in which the test passed."),
            Syntax.Option(
                "--report",
                help:
                    "Write a self-contained page about the new bundles, report.html, beside them. It also shows the "
                    + "earlier attempts of a test that has now passed and left a bundle."),
            Syntax.Option(
                "--junit", value: "FILE",
                help:
                    "Write the results of all tests as JUnit XML, with the bundles as attachments. An existing file "
                    + "is replaced."),
            Syntax.Option(
                "--events", value: "FILE",
                help:
                    "The file to which CMD writes Swift Testing's event stream, if CMD isn't 'swift test' itself. Can "
                    + "be repeated."),
            Syntax.Option(
                "--stop-commands",
                help:
                    "On GitHub, prevent the output of CMD, such as a failure's text, from running workflow commands."
            ),
            .redactions,
        ],
        rest: Syntax.Positional("CMD", help: "The command to run, such as: swift test --parallel"),
        needsRest: true,
        discussion: """
            Tests that fail leave their bundles themselves, if their target links the product FailureArtifacts. 'run' \
            makes those of tests that crash or hang.

            The command runs in this terminal and working directory, with the same input and output. Signals that \
            this process gets are passed on to it. Bundles go to the directory that FAILURE_ARTIFACTS_DIR names, by \
            default failure-artifacts in the working directory; the command gets it as an absolute path. If it can't \
            be written, they go to failure-artifacts in the temporary directory.

            At the end, the causes of the new failures are printed on standard error, or nothing if there are none. \
            On GitHub, they are also in the step's summary, and marked in the source. On GitLab, they are in \
            gl-code-quality-report.json beside the bundles, for the merge request.

            'swift test' gets an additional option to report the results of Swift Testing. Failed tests that left no \
            bundle because they lack the trait are named at the end.

            For --junit, the results of XCTest are read from the command's output. If that is a terminal, the command \
            gets a pseudo-terminal instead. With --parallel, SwiftPM's own report is used too.

            With --until-failure, FAILURE_ARTIFACTS_PASSING is set to 'always' for the command unless it is already \
            set. When a test passes again, its new bundle replaces the previous one. --timeout limits the time of all \
            runs together. --report, --junit and the annotations on GitHub or GitLab cover the last run.

            The exit status is the command's own. It is 128 plus the signal's number if a signal ended the command, \
            124 if the command exceeded --timeout, 126 if it can't be run, and 127 if there is no such program.
            """)

    private let words: [String]
    private let timeLimit: Double?
    private let hasReport: Bool
    private let junit: String?
    private let events: [String]
    private let stopsCommands: Bool
    private let redactions: String?
    /// The maximum number of runs; nil to run the command once, whatever it does.
    private let maximumRuns: Int?

    init(_ arguments: ParsedArguments) throws {
        words = arguments.rest
        redactions = arguments.value(of: "--redactions")
        hasReport = arguments.has("--report")
        junit = arguments.value(of: "--junit")
        events = arguments.values(of: "--events")
        stopsCommands = arguments.has("--stop-commands")
        maximumRuns = try arguments.number(
            of: "--until-failure", in: 1...Int(Int32.max), Self.syntax)
        timeLimit = try arguments.duration(of: "--timeout", Self.syntax)
    }

    func run(_ console: Console) throws -> ExitCode {
        var repetition = Repetition(maximumRuns: maximumRuns ?? 1, timeLimit: timeLimit)
        while true {
            if let code = try run(console, &repetition) { return code }
        }
    }

    /// Runs the command once.
    ///
    /// Nil if the command has passed and is to be repeated.
    private func run(_ console: Console, _ repetition: inout Repetition) throws -> ExitCode? {
        // Removes the old file first, so that a file that exists afterwards always belongs to this run.
        if let junit { WholeFile.removeOld(junit) }
        let readsEvents =
            !isOff(console) && (!events.isEmpty || RunRecorder.placeOfTest(in: words) != nil)
        guard junit != nil || readsEvents else { return try run(console, nil, &repetition) }
        var hasScratch = false
        do {
            return try console.withScratchDirectory { scratch in
                hasScratch = true
                return try run(
                    console,
                    RunRecorder(words, events: events, scratch: scratch, hasXCTest: junit != nil),
                    &repetition)
            }
        } catch  where junit == nil && !hasScratch {
            // Only the names of failed tests without the trait are lost, so the tests still run.
            return try run(console, nil, &repetition)
        }
    }

    /// True if capturing is off, so that no bundle can be missing.
    private func isOff(_ console: Console) -> Bool { console.environment["FAILURE_ARTIFACTS"] == "off" }

    private func run(
        _ console: Console, _ recorder: RunRecorder?, _ repetition: inout Repetition
    ) throws -> ExitCode? {
        let workingDirectory = Path.currentDirectory
        let output = outputDirectory(in: workingDirectory, console)
        let directory = output.path
        var environment = environment(bundlesIn: directory, console)
        let recovery = try recovery(in: directory, &environment, console)
        try recoverEarlierRuns(recovery, console)
        let bundles = NewBundles(
            in: directory, within: environment[ProcessEnvironment.supervisionVariable])
        environment[ProcessEnvironment.supervisionVariable] = bundles.run
        let isGitHub = WorkflowCommand.isGitHub(console.environment)
        var brackets = stopsCommands && isGitHub ? WorkflowCommand.brackets() : nil
        var supervisor = try Supervisor(
            Supervisor.Command(
                words: recorder?.words ?? words, environment: environment, timeLimit: timeLimit,
                deadline: maximumRuns == nil ? nil : repetition.deadline, directory: directory),
            interruption: console.interruption, messages: console, recovery: recovery, recorder: recorder
        )
        if let brackets { console.command(brackets.start) }
        // Also runs if the command couldn't be started.
        defer { if let brackets { console.command(brackets.end) } }
        let report = try supervisor.run()
        let recovered = recovery.afterwards(report)
        for warning in recovered.warnings { try console.warn(warning) }
        let new = bundles.bundles(and: recovered.bundles)
        guard
            let exitStatus = endRun(
                report, new.filter(bundles.isOwn), in: directory, &repetition, console)
        else { return nil }
        if !new.isEmpty, let warning = output.warning { try console.warn(warning) }
        let failed = new.filter { $0.metadata.map { $0.outcome != .passed } ?? false }.map(\.path)
        let outputs = RunOutputs(
            console: console, bundles: new, earlier: hasReport ? bundles.earlierAttempts(of: new) : [],
            directory: directory, workingDirectory: workingDirectory,
            findings: console.bestFindings(of: failed, comparesPasses: maximumRuns != nil))
        let lines = try write(
            outputs, recorder, recovered: recovered.bundles.count, leftOut: recovery.failuresLeftOut,
            passing: maximumRuns == nil ? [:] : console.passingBundles(besides: failed), console)
        // GitHub recognises a command only at the start of a line.
        if isGitHub, brackets != nil || !lines.isEmpty, report.hasOpenLine { console.say("") }
        if isGitHub, brackets == nil, !lines.isEmpty {
            let own = WorkflowCommand.brackets()
            console.command(own.start)
            brackets = own
        }
        for line in lines { console.say(line) }
        if let end = brackets?.end { console.command(end) }
        brackets = nil
        for line in outputs.annotations { console.command(line) }
        return ExitCode(rawValue: exitStatus)
    }

    /// Chooses the directory of the bundles.
    private func outputDirectory(in workingDirectory: String, _ console: Console) -> OutputDirectory {
        let output = OutputDirectory(
            Path.absolute(Path.join(workingDirectory, console.artifactsPath)))
        output.choose()
        return output
    }

    /// Returns the command's environment variables.
    private func environment(bundlesIn directory: String, _ console: Console) -> [String: String] {
        var environment = console.environment
        environment["FAILURE_ARTIFACTS_DIR"] = directory
        let passing = "FAILURE_ARTIFACTS_PASSING"
        if maximumRuns != nil, environment[passing, default: ""].isEmpty {
            environment[passing] = "always"
        }
        return environment
    }

    /// Prepares the recovery of bundles from dead processes, with the redactions that the command's processes get.
    private func recovery(
        in directory: String, _ environment: inout [String: String], _ console: Console
    ) throws -> RunRecovery {
        var rules = RedactionRules()
        if let file = console.redactionFile(redactions) {
            rules = try RedactionRules(file: file)
            environment[RedactionRules.variable] = file
        }
        var reader = EnvironmentReader(console.environment)
        let recovery = RunRecovery(
            directory: directory, readers: BundleReaders(&reader), limits: DirectoryLimits(&reader),
            redactions: rules, timeLimit: timeLimit,
            sources: PackageSources.root(around: Path.currentDirectory).map { root in
                CrashSources(root: root) { RepositoryFiles(root: root, package: root).path(of: $0) }
            })
        for warning in reader.warnings { try console.warn(warning) }
        return recovery
    }

    /// Makes the bundles of processes that had died before this run.
    private func recoverEarlierRuns(_ recovery: RunRecovery, _ console: Console) throws {
        let earlier = recovery.beforehand()
        if !earlier.bundles.isEmpty {
            let count = Counted.items(Int64(earlier.bundles.count), "bundle")
            console.say("An earlier run had left something: \(count) made of it.")
        }
        for warning in earlier.warnings { try console.warn(warning) }
    }

    /// Determines whether the command is to be run again.
    ///
    /// Nil if the command is to be run again.
    private func endRun(
        _ report: RunReport, _ own: [(path: String, metadata: BundleMetadata?)], in directory: String,
        _ repetition: inout Repetition, _ console: Console
    ) -> Int32? {
        guard maximumRuns != nil else { return report.exitStatus }
        let (step, message) = repetition.endRun(
            report.cause, exitStatus: report.exitStatus, own, in: directory)
        if report.hasOpenLine { console.say("") }
        console.say(message)
        switch step {
        case .again: return nil
        case .end: return report.exitStatus
        case .timeIsUp:
            let limit = RunReport.text(ofTimeLimit: timeLimit)
            console.report(CommandError(.found, "'\(words[0])' is not run again: \(limit) is up."))
            return RunReport.timeLimitStatus
        }
    }

    /// Writes the report, the results and the host's files.
    ///
    /// - `recorder`: the recorder of the tests' results; nil if none was needed.
    private func write(
        _ outputs: RunOutputs, _ recorder: RunRecorder?, recovered: Int, leftOut: Int,
        passing: [String: String], _ console: Console
    ) throws -> [String] {
        let page = hasReport ? try outputs.writeReport() : nil
        let results = recorder.map(outputs.results)
        if results != nil { try warnOfMissingEvents(console) }
        if let results, let junit { try outputs.writeResults(results, to: junit) }
        let hint = isOff(console) ? nil : results.flatMap { outputs.hint($0, leftOut: leftOut) }
        try outputs.writeStepSummary(report: page, hint: hint)
        try outputs.writeCodeQuality()
        return RunSummary.lines(
            outputs.bundles, recovered: recovered, leftOut: leftOut, hint: hint,
            directory: outputs.directory, workingDirectory: outputs.workingDirectory, report: page,
            findings: outputs.findings, passing: passing, for: console.error)
    }

    private func warnOfMissingEvents(_ console: Console) throws {
        for file in events where FileSystem.regularFile(file) == nil {
            try console.warn(
                "The command has written no events to '\(file)', so results of Swift Testing are missing. Check "
                    + "the path that '--events' gives.")
        }
    }
}
