internal import FailureArtifactsSQLite
internal import FailureArtifactsAnalysis

extension ReadingLimits {
    /// The limits that a command's options set.
    ///
    /// - Throws: A usage error for a time that is none.
    init(_ arguments: ParsedArguments, _ syntax: Syntax) throws(CommandError) {
        self = arguments.has("--no-limits") ? .none : .standard
        guard let text = arguments.value(of: "--time-limit") else { return }
        guard let seconds = Int32(text), seconds > 0 else {
            throw syntax.usageError("'\(text)' is no number of seconds.")
        }
        store.seconds = Double(seconds)
        // A bundle can have several stores.
        self.seconds = Double(seconds) * 5
    }
}

extension Syntax.Option {
    static let noLimits = Syntax.Option(
        "--no-limits",
        help:
            "For bundles that you trust: lift the limits on unpacked sizes, on SQLite's memory and values, and "
            + "on time.")

    static let timeLimit = Syntax.Option(
        "--time-limit", value: "SECONDS",
        help:
            "How long SQLite may be at work on a store, in seconds of the processor: 60 by default.")
}
