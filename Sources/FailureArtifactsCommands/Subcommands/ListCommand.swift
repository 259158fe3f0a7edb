internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

struct ListCommand: Command {
    static let syntax = Syntax(
        command: "list", summary: "List bundles, one per line", positionals: [.paths],
        options: [
            .json(
                "Print one JSON object per line, sorted by path, with the keys bundle, bytes, metadata and, if a later "
                    + "run in this directory recorded that the test passed, passedSince."),
            .noLimits,
        ],
        discussion: """
            A line has the outcome, the time of the failure in the local time zone, the test with its arguments \
            and the number of its attempt if it isn't the first, the failure, and the bundle's name. On a terminal, \
            lines are cut to fit. The eight digits at the end of a name identify a bundle: failure-artifacts show \
            DIR/1a2b3c4d

            Failures of tests that have passed since come first, and then the others, the newest last.

            In a directory, a zip that contains neither a metadata.json nor bundles is skipped with a warning.
            """)

    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var lines: [BundleLine] = []
            let isJSON = isJSON
            let passes = PassRecords()
            let code = try console.readBundles(
                at: paths, scratch: scratch,
                { location, archive, bytes -> Item in
                    let metadata = try BundleReader(location, archive: archive).metadata
                    let known = KnownBundle(metadata, at: location, passes: passes)
                    guard isJSON else { return .line(BundleLine(known, metadata)) }
                    let entry = Entry(
                        bundle: location.description, bytes: bytes,
                        passedSince: known.hasPassedSince ? true : nil, metadata: metadata)
                    return .json(try JSONText.line(entry))
                },
                { item in
                    switch item {
                    case .line(let line): lines.append(line)
                    case .json(let text): try console.output.writeLine(text)
                    }
                })
            for line in BundleLine.text(of: lines, for: console.output) {
                try console.output.writeLine(line)
            }
            return code
        }
    }

    /// A bundle's data; JSON isn't kept until the end, so that a list of any length needs little memory.
    private enum Item: Sendable {
        case line(BundleLine)
        case json(String)
    }

    private struct Entry: Encodable {
        var bundle: String
        var bytes: UInt64
        var passedSince: Bool?
        var metadata: BundleMetadata
    }
}

struct VerifyCommand: Command {
    static let syntax = Syntax(
        command: "verify", summary: "Check archives, checksums, metadata and the integrity of stores",
        positionals: [.paths],
        options: [
            .json("Print one JSON object per line, with the keys bundle, ok, problems and notes."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Prints one line per bundle: 'ok', or 'bad' and the problems.

            The exit status is 1 if a bundle is bad, 66 if a PATH doesn't exist, and 65 if a PATH is a file that \
            is not a zip or not a bundle. In a directory, such a zip counts as a bad bundle. Only a zip that \
            contains neither a metadata.json nor bundles is skipped, with a warning.
            """)

    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var failure: ExitCode?
            var isBad = false
            func fail(_ error: any Error) throws {
                if let error = error as? OutputError { throw error }
                let report = console.failure(error)
                console.report(report)
                failure = failure ?? report.exitCode
            }
            for path in paths {
                let findings: [BundleLocator.Finding]
                do {
                    try console.recoverTests(at: path)
                    findings = try BundleLocator.findings(at: path)
                } catch {
                    try fail(error)
                    continue
                }
                for finding in findings {
                    do {
                        let isGood = try check(finding, scratch: scratch, console)
                        isBad = isBad || !isGood
                    } catch {
                        try fail(error)
                    }
                }
            }
            return failure ?? (isBad ? .found : .done)
        }
    }

    /// Checks one zip and prints the result; false if it is a bad bundle.
    private func check(
        _ finding: BundleLocator.Finding, scratch: String, _ console: Console
    ) throws -> Bool {
        console.startReading()
        let location = finding.location
        if let problem = finding.problem {
            guard problem.reason != .noMetadata else {
                try console.warn("'\(location)' is passed over: it is a zip, but no bundle.")
                return true
            }
            return try report(BundleCheck(location, problem: problem.description), console)
        }
        let archive = try location.openArchive(
            scratchDirectory: scratch, limits: console.limits.archive)
        return try report(
            BundleCheck(
                location, archive: archive, scratch: scratch, limits: console.limits.store), console)
    }

    private func report(_ check: BundleCheck, _ console: Console) throws -> Bool {
        let output = console.output
        if isJSON {
            try output.writeLine(JSONText.line(check))
        } else {
            let place = SafeText.line(check.bundle)
            if check.ok {
                try output.writeLine(output.styled("ok ", .green) + "  " + place)
            } else {
                let problems = SafeText.line(check.problems.joined(separator: " "))
                try output.writeLine(output.styled("bad", .red) + "  \(place): \(problems)")
            }
            for note in check.notes { try console.warn("\(check.bundle): \(note)") }
        }
        return check.ok
    }
}
