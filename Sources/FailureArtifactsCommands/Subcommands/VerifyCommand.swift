internal import FailureArtifactsAnalysis
internal import FailureArtifactsReading

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

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        try console.withScratchDirectory { scratch in
            var isBad = false
            let limits = console.limits.store
            let code = try console.readBundles(
                at: arguments.positionals, scratch: scratch, atOnce: 1,
                { location, archive, _ in
                    try BundleCheck(location, archive: archive, scratch: scratch, limits: limits)
                },
                { check in
                    try report(check, console)
                    isBad = isBad || !check.ok
                }, problem: { BundleCheck($0, problem: $1.description) })
            return code == .done && isBad ? .found : code
        }
    }

    private func report(_ check: BundleCheck, _ console: Console) throws {
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
    }
}
