internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// `run`: the tests, and what they could not leave themselves.
struct RunCommand: Command {
    static let syntax = Syntax(
        command: "run", summary: "Run tests, and make bundles for what crashed or hung",
        positionals: [],
        options: [
            Syntax.Option(
                "--timeout", value: "D",
                help:
                    "End the command, and all it has started, when it has taken so long: 90, 90s, 10m, "
                    + "1h30m. What hangs is captured before."),
            .redactions,
        ],
        rest: Syntax.Positional("CMD", help: "The command, such as: swift test --parallel"),
        needsRest: true,
        discussion: """
            The command has this terminal, its input and outputs and the working directory, and gets the \
            signals that are sent to this process. FAILURE_ARTIFACTS_DIR says where bundles go, by default \
            to failure-artifacts in the working directory; the command gets it as an absolute path.

            At the end the new bundles are counted on standard error. Nothing is printed where there are none.

            The exit status is the command's own, 128 plus the signal's number where a signal ended it, 124 \
            where it took longer than --timeout, 126 where it cannot be run and 127 where there is no such \
            program.
            """)

    private let words: [String]
    private let timeLimit: Double?
    private let redactions: String?

    init(_ arguments: ParsedArguments) throws {
        words = arguments.rest
        redactions = arguments.value(of: "--redactions")
        guard let text = arguments.value(of: "--timeout") else {
            timeLimit = nil
            return
        }
        guard let seconds = DurationText.seconds(text) else {
            throw Self.syntax.usageError(
                "'\(text)' is no time for '--timeout': it is written 90, 90s, 10m or 1h30m, and is a year "
                    + "at most.")
        }
        timeLimit = seconds
    }

    func run(_ console: Console) throws -> ExitCode {
        let workingDirectory = Path.currentDirectory
        let given = console.environment["FAILURE_ARTIFACTS_DIR", default: ""]
        let directory = Path.join(workingDirectory, given.isEmpty ? "failure-artifacts" : given)
        var environment = console.environment
        environment["FAILURE_ARTIFACTS_DIR"] = directory
        environment[ProcessEnvironment.supervisionVariable] = "1"
        var rules = RedactionRules()
        if let file = console.redactionFile(redactions) {
            rules = try RedactionRules(file: file)
            environment[RedactionRules.variable] = file
        }
        var reader = EnvironmentReader(console.environment)
        let salvage = RunSalvage(
            directory: directory, readers: BundleReaders(&reader), limits: DirectoryLimits(&reader),
            redactions: rules,
            timeLimit: timeLimit)
        for warning in reader.warnings { try console.warn(warning) }
        let earlier = salvage.beforehand()
        if !earlier.bundles.isEmpty {
            let count = Counted.items(Int64(earlier.bundles.count), "bundle")
            console.say("An earlier run had left something: \(count) made of it.")
        }
        for warning in earlier.warnings { try console.warn(warning) }
        let bundles = NewBundles(in: directory)
        var supervisor = try Supervisor(
            Supervisor.Command(
                words: words, environment: environment, timeLimit: timeLimit, directory: directory),
            console: console, salvage: salvage)
        let report = try supervisor.run()
        let result = salvage.afterwards(report)
        for warning in result.warnings { try console.warn(warning) }
        let salvaged = result.bundles
        let lines = RunSummary.lines(
            bundles.bundles(and: salvaged), salvaged: salvaged.count, directory: directory,
            workingDirectory: workingDirectory, for: console.error)
        for line in lines { console.say(line) }
        return ExitCode(rawValue: report.exitStatus)
    }
}
