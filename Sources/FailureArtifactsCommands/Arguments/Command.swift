package import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading

/// One subcommand: arguments become a value, which runs and gives an exit code.
package protocol Command {
    /// What it takes.
    static var syntax: Syntax { get }

    /// Reads its arguments.
    ///
    /// - Throws: A ``CommandError`` for values that make no sense.
    init(_ arguments: ParsedArguments) throws

    /// Does it.
    ///
    /// - Throws: Why it could not be done; an error of any part.
    func run(_ console: Console) throws -> ExitCode
}

extension Console {
    /// Opens the one bundle that `path` stands for and runs `body` with it and a scratch directory.
    func withBundle<Result>(
        at path: String, _ body: (BundleReader, _ scratch: String) throws -> Result
    ) throws -> Result {
        try withScratchDirectory { scratch in
            let location = try BundleLocator.single(at: path)
            let bundle = try BundleReader(
                location, scratchDirectory: scratch, limits: limits.archive)
            return try body(bundle, scratch)
        }
    }
}
