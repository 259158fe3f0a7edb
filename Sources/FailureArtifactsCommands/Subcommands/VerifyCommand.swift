internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// `verify`: checks the integrity of bundles.
struct VerifyCommand: Command {
    static let syntax = Syntax(
        command: "verify", summary: "Check archives, checksums, metadata and the integrity of stores",
        positionals: [.paths],
        options: [.json("One object a line: bundle, ok, problems, notes."), .timeLimit, .noLimits],
        discussion: """
            A line a bundle: ok, or bad with what is wrong with it.

            The exit status is 1 where a bundle is bad. A path that does not exist gives 66, and a file, \
            named as PATH, that is no zip or no bundle at all 65; such a zip that is found in a directory \
            is a bad bundle. A zip in a directory that has no metadata.json and no bundles in it is passed \
            over with a warning.
            """)

    private let paths: [String]
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) {
        paths = arguments.positionals
        isJSON = arguments.has("--json")
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            try console.forEachBundle(
                at: paths, scratch: scratch,
                damaged: { location, error in
                    try report(BundleCheck(location, problem: error.description), console)
                },
                { location, archive in
                    try report(
                        BundleCheck.check(
                            location, archive: archive(), scratch: scratch,
                            limits: console.limits.store), console)
                })
        }
    }

    private func report(_ check: BundleCheck, _ console: Console) throws -> ExitCode {
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
        return check.ok ? .done : .found
    }
}
