package import FailureArtifactsAnalysis
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
package import FailureArtifactsTestRun

/// What a command has to do with the world outside: outputs, environment, scratch space.
package struct Console {
    /// Results, and nothing else.
    let output: TextOutput
    /// Errors, warnings, headers.
    let error: TextOutput
    let environment: [String: String]
    /// What is undone when a signal ends the tool.
    package let interruption: Interruption
    /// Seen on a terminal only.
    let progress: ProgressBar
    /// How much a bundle can ask for.
    private(set) var limits = ReadingLimits.standard
    /// How long the reading of a bundle has taken.
    let time = ReadingTime()
    /// Whether the process is the tool's own, and has nothing else to do.
    private let ownsProcess: Bool

    init(
        output: TextOutput, error: TextOutput, environment: [String: String],
        interruption: Interruption = Interruption(), ownsProcess: Bool = false
    ) {
        self.output = output
        self.error = error
        self.environment = environment
        self.interruption = interruption
        progress = ProgressBar(output: error)
        self.ownsProcess = ownsProcess
    }

    /// That of this process.
    package static func process() -> Console {
        let environment = ProcessEnvironment.variables
        return Console(
            output: TextOutput(descriptor: 1, name: "standard output", environment: environment),
            error: TextOutput(descriptor: 2, name: "standard error", environment: environment),
            environment: environment, ownsProcess: true)
    }

    /// The same console with other limits, which hold from now on.
    func limited(to limits: ReadingLimits) -> Console {
        var console = self
        console.limits = limits
        if ownsProcess {
            Connection.limitMemory(toBytes: limits.memoryBytes)
            if limits.seconds != nil { console.endWhenTimeIsUp() }
        }
        console.startReading()
        return console
    }

    /// Starts to count the time for another bundle.
    func startReading() { time.start(seconds: limits.seconds) }

    /// Says so, tidies up and ends the process when a bundle takes much longer than it may, whatever it does.
    private func endWhenTimeIsUp() {
        let interruption = interruption
        time.watch {
            let text =
                "error: Reading the bundle took too long, and was given up. \(CommandError.limitsHint)\n"
            // Past the buffers, which belong to the thread that is at work.
            try? Array(text.utf8).withBytes { (bytes) throws(SystemError) in
                try writeAll(bytes, to: 2, name: "standard error")
            }
            interruption.end(with: .inputOutput)
        }
    }

    /// Says that something is not as it should be, on standard error and after the results so far.
    package func warn(_ sentence: String) throws {
        try output.flush()
        say("warning:", .yellow, sentence)
    }

    /// Says why the command ends.
    package func report(_ failure: CommandError) {
        try? output.flush()
        say("error:", .red, failure.description)
    }

    /// A sentence, on a terminal broken between its words.
    private func say(_ label: String, _ style: TextOutput.Style, _ sentence: String) {
        let lines = TextWrap.message(label + " " + SafeText.line(sentence), indent: 0, for: error)
        for (index, line) in lines.enumerated() {
            say(index == 0 ? error.styled(label, style) + line.dropFirst(label.count) : line)
        }
    }

    /// Writes a line to standard error; nothing can be done where nobody listens.
    func say(_ line: String) {
        progress.clear()
        try? error.writeLine(line)
        try? error.flush()
    }

    /// Runs `body` with a new directory that is removed afterwards, even where a signal ends the tool.
    func withScratchDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
        let given = environment["TMPDIR", default: ""]
        let directory: String
        do {
            directory = try FileSystem.createUniqueDirectory(
                in: Path.absolute(given.isEmpty ? "/tmp" : given), prefix: "failure-artifacts-")
        } catch {
            throw CommandError(
                .inputOutput,
                CommandError.sentence("\(error)") + " Set TMPDIR to a directory that can be written to.")
        }
        interruption.add(directory: directory)
        defer {
            try? FileSystem.remove(directory)
            interruption.remove(directory: directory)
        }
        return try body(directory)
    }
}

extension Console: SupervisorMessages {}
