package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
package import FailureArtifactsTestRun

/// A command's access to outputs, environment and scratch space.
package struct Console {
    let output: TextOutput
    let error: TextOutput
    let environment: [String: String]
    /// The clean-up that runs when a signal ends the tool.
    package let interruption: Interruption
    /// The limits on resources that a bundle can use.
    private(set) var limits = ReadingLimits.standard
    let time = ReadingTime()
    /// True if the tool owns the process and may set process-wide limits.
    private let ownsProcess: Bool

    init(
        output: TextOutput, error: TextOutput, environment: [String: String],
        interruption: Interruption = Interruption(), ownsProcess: Bool = false
    ) {
        self.output = output
        self.error = error
        self.environment = environment
        self.interruption = interruption
        self.ownsProcess = ownsProcess
    }

    package static func process() -> Console {
        let environment = ProcessEnvironment.variables
        return Console(
            output: TextOutput(descriptor: 1, name: "standard output", environment: environment),
            error: TextOutput(descriptor: 2, name: "standard error", environment: environment),
            environment: environment, ownsProcess: true)
    }

    /// Returns the same console with other limits, which take effect at once.
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

    func startReading() { time.start(seconds: limits.seconds) }

    /// Ends the process with a message and a clean-up when reading a bundle greatly exceeds its time limit.
    private func endWhenTimeIsUp() {
        let interruption = interruption
        time.watch {
            let text =
                "error: Reading the bundle took too long, and was given up. \(CommandError.limitsHint)\n"
            // Written directly, because another thread may be using the buffers.
            try? Array(text.utf8).withBytes { (bytes) throws(SystemError) in
                try writeAll(bytes, to: 2, name: "standard error")
            }
            interruption.end(with: .inputOutput)
        }
    }

    /// Writes a warning to standard error, after the results so far.
    package func warn(_ sentence: String) throws {
        try output.flush()
        say("warning:", .yellow, sentence)
    }

    /// Returns the error that is reported for an error of any subsystem; if the artifacts directory is missing, it says
    /// what creates it.
    func failure(_ error: any Error) -> CommandError {
        guard let error = error as? BundleError, error.reason == .notFound, error.path == artifactsPath
        else { return CommandError(error) }
        return CommandError(
            .noInput,
            "There is no directory '\(error.path)'. The first test that fails creates it, if its target has the "
                + "product FailureArtifacts: run 'swift test', or 'failure-artifacts run -- swift test'. For other "
                + "bundles, give their path.")
    }

    package func report(_ failure: CommandError) {
        try? output.flush()
        say("error:", .red, failure.description)
    }

    /// Writes a sentence, wrapped between words on a terminal.
    private func say(_ label: String, _ style: TextOutput.Style, _ sentence: String) {
        let lines = TextWrap.message(label + " " + SafeText.line(sentence), indent: 0, for: error)
        for (index, line) in lines.enumerated() {
            say(index == 0 ? error.styled(label, style) + line.dropFirst(label.count) : line)
        }
    }

    /// Writes a line to standard error; failures are ignored because they can't be reported.
    func say(_ line: String) {
        try? error.writeLine(line)
        try? error.flush()
    }

    /// Writes a line to standard error that the CI service executes as a command; failures are ignored because they
    /// can't be reported.
    func command(_ line: String) {
        try? error.write(line + "\n")
        try? error.flush()
    }

    /// Runs `body` with a new directory and removes it afterwards, even if a signal ends the tool.
    ///
    /// - `parent`: an existing directory; by default, the one for temporary files.
    func withScratchDirectory<Result>(
        in parent: String? = nil, _ body: (String) throws -> Result
    ) throws -> Result {
        let given = parent ?? environment["TMPDIR", default: ""]
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

/// The limits on resources that reading a bundle can use; `--no-limits` lifts all of them.
struct ReadingLimits: Sendable {
    var archive: ZipLimits
    var store: UntrustedLimits
    /// The maximum memory for SQLite, in bytes; nil for no limit.
    var memoryBytes: Int64?
    /// The maximum processor time for one bundle, in seconds; nil for no limit.
    var seconds: Double?

    static let standard = ReadingLimits(
        archive: .standard, store: .standard, memoryBytes: 1 << 30, seconds: 300)
    static let none = ReadingLimits(archive: .none, store: .none, memoryBytes: nil, seconds: nil)
}

/// The time for reading a bundle.
///
/// Most long operations have their own time limit and end with an error that explains it. This timer covers the others,
/// and all of them together: the process ends.
final class ReadingTime: Sendable {
    private struct State {
        var end: Instant?
        var isWatched = false
    }

    private let state = Lock(State())

    /// Restarts the timer for the next bundle; nil for no limit.
    func start(seconds: Double?) {
        // A single SQLite step may exceed the limit by this much.
        let end = seconds.map { Instant.processorTime.advanced(bySeconds: $0 + max(5, $0 / 5)) }
        state.withLock { state in state.end = end }
    }

    /// Calls `end` if work continues when the time is up.
    func watch(end: @escaping @Sendable () -> Void) {
        let isFirst = state.withLock { state in
            defer { state.isWatched = true }
            return !state.isWatched
        }
        guard isFirst else { return }
        _ = Threads.detach { [self] in
            while true {
                sleep(microseconds: 500_000)
                if let time = state.withLock(\.end), Instant.processorTime > time { end() }
            }
        }
    }
}

// The bundles of tests whose process died.

extension Console {
    /// Returns the recovery of a directory's bundles, with the settings of the environment.
    func recovery(of directory: String) throws -> CrashRecovery {
        var warnings: [String] = []
        let limits = DirectoryLimits(environment, &warnings)
        let readers = BundleAccess(environment, &warnings)
        for warning in warnings { try warn(warning) }
        return CrashRecovery(
            of: ArtifactsDirectory(path: directory, readers: readers), limits: limits,
            redactions: try redactions())
    }

    /// Makes the bundles of tests whose process died, in the directory that a path names, or that it names a bundle of.
    ///
    /// It leaves a directory alone that can't be written, or that wasn't written on this machine, and warns.
    func recoverTests(at path: String) throws {
        let isThere = (try? FileSystem.status(of: path)) ?? nil
        let directory = isThere == nil ? Path.directory(of: path) : path
        guard isThere?.kind ?? .directory == .directory,
            ArtifactsDirectory(path: directory).hasHiddenFiles
        else { return }
        let recovery = try recovery(of: directory)
        guard recovery.hasUnfinishedTests else { return }
        let place = "'\(SafeText.line(directory))'"
        let sweep = SafeText.line(ToolCommand().text("sweep", of: directory))
        let start = "\(place) has a test whose process died. No bundle was made of it, because "
        guard recovery.isOriginal else {
            return try warn(
                start
                    + "the directory may be a copy from elsewhere. If it is of your own runs, use: \(sweep)"
            )
        }
        if let obstacle = FileSystem.obstacle(toWritingInto: directory) {
            return try warn(
                start + "the directory can't be written to: \(obstacle.reason). "
                    + "Make it writable, or copy it, and use: \(sweep)")
        }
        let result = recovery.sweep()
        if result.bundles.count == 1 {
            let bundle = ToolCommand().shortened(result.bundles[0].path)
            say("\(place) had a test whose process died. Its bundle is \(SafeText.line(bundle)).")
        } else if result.bundles.count > 1 {
            say(
                "\(place) had \(result.bundles.count) tests whose process died. Their bundles were made of what it left."
            )
        }
        for warning in result.warnings { try warn(warning) }
    }
}

extension Console {
    /// The absolute path of the redaction file that the environment names; nil for none.
    var redactionFile: String? {
        let file = environment[RedactionRules.variable, default: ""]
        return file.isEmpty ? nil : Path.join(Path.currentDirectory, file)
    }

    func redactions() throws -> RedactionRules {
        try redactionFile.map { try RedactionRules(file: $0) } ?? RedactionRules()
    }

    /// The users who may read bundles, and the pages with their content.
    var bundleReaders: BundleAccess {
        var warnings: [String] = []
        return BundleAccess(environment, &warnings)
    }

    /// The directory of invariants that the environment names; nil for none.
    var invariantsDirectory: String? {
        environment[Invariant.variable].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads a directory of invariants.
    ///
    /// - `given`: the path from the command line; nil if the option wasn't given.
    func invariants(in given: String?) throws -> [Invariant] {
        if let given {
            let invariants: [Invariant]
            do {
                invariants = try Invariant.all(inDirectory: given)
            } catch {
                throw CommandError(
                    error.isNotFound ? .noInput : .inputOutput,
                    "The invariants in '\(given)' cannot be read: \(error.reason). Give a directory of SQL files."
                )
            }
            if invariants.isEmpty {
                try warn("'\(given)' has no .sql files, so no invariants are checked.")
            }
            return invariants
        }
        guard let path = invariantsDirectory else { return [] }
        do {
            return try Invariant.all(inDirectory: path)
        } catch {
            try warn(
                "\(Invariant.variable) is '\(path)', which cannot be read: \(error.reason). No invariants are checked."
            )
            return []
        }
    }
}
