internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsTestRun

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
                "--report",
                help:
                    "Write a self-contained page about the new bundles, report.html, beside them."),
            Syntax.Option(
                "--junit", value: "FILE",
                help:
                    "Write the results of all tests as JUnit XML, with the bundles as attachments. An existing file "
                    + "is replaced."),
            Syntax.Option(
                "--failures-only",
                help:
                    "Print nothing of passing tests: each failing test with what it printed and its explanation, and "
                    + "one line of totals, on standard output. The default if AI_AGENT is set."),
            Syntax.Option(
                "--until-failure", value: "N",
                help:
                    "Run the command again until a test fails, at most N times. --timeout is the time of each run, and the "
                    + "report and the results are those of the last one."),
            Syntax.Option(
                "--stop-commands",
                help:
                    "On GitHub, prevent the output of CMD, such as a failure's text, from running workflow commands."
            ),
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
            On GitHub, they are also in the step's summary, and marked in the source.

            For --junit and --failures-only, the results of XCTest are read from the command's output, which is a pipe \
            then. 'swift test' gets additional options to report the results of Swift Testing and of parallel tests, also in the script of \
            a shell: bash -c 'cd App && swift test'.

            With --failures-only, the output before the tests, such as a build's errors, is passed on at once. What \
            passing tests print is dropped. Other lines, such as what tests of Swift Testing print, are printed if the \
            command fails: the last 30 of them, or all if no test is known to have failed.

            The exit status is the command's own. It is 128 plus the signal's number if a signal ended the command, \
            124 if the command exceeded --timeout, 126 if it can't be run, and 127 if there is no such program. With \
            --until-failure, it is that of the last run.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        let limit = try number(of: "--until-failure", in: 1...Int(Int32.max))
        guard let limit else { return try runOnce(console).status }
        for number in 1...limit {
            let (status, hasFailed) = try runOnce(console, isLast: number == limit)
            // A command that handles the signal may end with the status 0.
            if let signal = console.interruption.signalToEnd {
                say("stopped in run \(number) of up to \(limit)", console)
                return status == .done ? ExitCode(rawValue: ExitStatus.signalled(signal).code) : status
            }
            if hasFailed {
                say("failed in run \(number) of up to \(limit)", console)
                return status
            }
        }
        say("no test failed in " + Counted.items(Int64(limit), "run"), console)
        return .done
    }

    private func say(_ text: String, _ console: Console) {
        console.say(console.error.styled("failure-artifacts:", .heading) + " " + text)
    }

    /// Runs the command to its end, and writes all outputs; those of `--failures-only` if it fails or is the last one.
    private func runOnce(
        _ console: Console, isLast: Bool = true
    ) throws -> (status: ExitCode, hasFailed: Bool) {
        let junit = arguments.value(of: "--junit")
        let isFiltered =
            arguments.has("--failures-only") || !console.environment["AI_AGENT", default: ""].isEmpty
        guard junit != nil || isFiltered else { return try run(console, nil, nil, isLast: isLast) }
        // Removes the old file first, so that a file that exists afterwards always belongs to this run.
        if let junit { WholeFile.removeOld(junit) }
        return try console.withScratchDirectory { scratch in
            let results = RunResults(arguments.rest, scratch: scratch)
            let filter = isFiltered ? FailureFilter(passesTotals: !results.readsEvents) : nil
            return try run(console, results, filter, isLast: isLast)
        }
    }

    private func run(
        _ console: Console, _ results: RunResults?, _ filter: FailureFilter?, isLast: Bool
    ) throws -> (status: ExitCode, hasFailed: Bool) {
        let timeLimit = try duration(of: "--timeout")
        let workingDirectory = Path.currentDirectory
        let output = OutputDirectory(
            Path.absolute(Path.join(workingDirectory, console.artifactsPath)))
        output.choose()
        let directory = output.path
        let recovery = try recovery(in: directory, timeLimit, console)
        try recoverEarlierRuns(recovery, console)
        var environment = console.environment
        let bundles = NewBundles(
            in: directory, within: environment[ProcessEnvironment.supervisionVariable])
        environment[ProcessEnvironment.supervisionVariable] = bundles.run
        environment[ArtifactsDirectory.variable] = directory
        environment[RedactionRules.variable] = console.redactionFile
        // The command may run tests in another directory.
        if let path = environment[BaselineDirectory.variable], !["", "on", "off"].contains(path) {
            environment[BaselineDirectory.variable] = Path.join(workingDirectory, path)
        }
        let isGitHub = WorkflowCommand.isGitHub(console.environment)
        var brackets = arguments.has("--stop-commands") && isGitHub ? WorkflowCommand.brackets() : nil
        var supervisor = Supervisor(
            results?.words ?? arguments.rest, environment: environment, timeLimit: timeLimit,
            interruption: console.interruption, messages: console, recovery: recovery,
            results: results, filter: filter)
        if let brackets { console.command(brackets.start) }
        // Also runs if the command couldn't be started.
        defer { if let brackets { console.command(brackets.end) } }
        let report = try supervisor.run()
        let recovered = recovery.afterwards(report)
        for warning in recovered.warnings { try console.warn(warning) }
        // The command may have created the build directory.
        BaselineDirectory.ofCommand(workingDirectory: workingDirectory, variables: environment)?
            .completeLines(workingDirectory: workingDirectory, by: .shared)
        let new = bundles.bundles(and: recovered.bundles.map(\.path))
        if !new.isEmpty, let warning = output.warning { try console.warn(warning) }
        let failed = new.filter { $0.metadata.map { $0.outcome != .passed } ?? false }.map(\.path)
        let hasFailed = report.exitStatus != 0 || !failed.isEmpty
        let outputs = RunOutputs(
            console: console, bundles: new, directory: directory, workingDirectory: workingDirectory,
            findings: filter == nil ? console.bestFindings(of: failed) : [:])
        let page = arguments.has("--report") ? try outputs.writeReport() : nil
        if let results, let file = arguments.value(of: "--junit") {
            try outputs.writeResults(of: results, to: file)
        }
        try outputs.writeStepSummary(report: page)
        var lines: [String] = []
        if let results, let filter {
            let (failures, others) = filter.finish(hasFailed: report.exitStatus != 0)
            if !others.isEmpty { try console.output.writeLine(others) }
            if isLast || hasFailed {
                try outputs.writeFailures(
                    failures, of: results, leftOut: recovery.failuresLeftOut, report: page)
            }
        } else {
            lines = outputs.summary(
                recovered: recovered.bundles.count, leftOut: recovery.failuresLeftOut, report: page)
        }
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
        return (ExitCode(rawValue: report.exitStatus), hasFailed)
    }

    private func recovery(
        in directory: String, _ timeLimit: Double?, _ console: Console
    ) throws -> RunRecovery {
        var warnings: [String] = []
        let recovery = RunRecovery(
            directory: directory, readers: BundleAccess(console.environment, &warnings),
            limits: DirectoryLimits(console.environment, &warnings),
            redactions: try console.redactions(), timeLimit: timeLimit,
            sources: PackageSources.root(around: Path.currentDirectory).map { root in
                CrashSources(root: root) { RepositoryFiles(root: root, package: root).path(of: $0) }
            })
        for warning in warnings { try console.warn(warning) }
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
}
