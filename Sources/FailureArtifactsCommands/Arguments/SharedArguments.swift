/// Options that several commands take.
extension Syntax.Option {
    static func json(_ help: String) -> Syntax.Option { Syntax.Option("--json", help: help) }

    static let store = Syntax.Option(
        "--store", value: "NAME",
        help:
            "The store, by its name or entry. NAME.committed is the committed state of a store with an open "
            + "transaction. By default, the first store.")

    static let commit = Syntax.Option(
        "--at", value: "N",
        help:
            "The state of the store's history: 0 is the state before the first transaction, N the one after the "
            + "Nth. -1 or 'last' is the state at the failure, -2 the one before the last transaction. "
            + "'failure-artifacts history' lists the transactions.")

    static let noLimits = Syntax.Option(
        "--no-limits",
        help:
            "Lift the limits on unpacked sizes, on SQLite's memory and values, and on time. Use it only for "
            + "bundles that you trust.")

    static let timeLimit = Syntax.Option(
        "--time-limit", value: "SECONDS",
        help:
            "The processor time that SQLite may take for one store, in seconds; five times that for a bundle. By "
            + "default, 60.")
}

/// Positional arguments that several commands take.
extension Syntax.Positional {
    private static let bundleHelp =
        "A bundle, or a directory or zip of bundles. Of several bundles, the newest failure whose test has not passed "
        + "since is taken. To choose another one, add a part of its name: DIR/PART or OUTER.zip/PART."
    private static let defaultHelp =
        " By default, the directory that FAILURE_ARTIFACTS_DIR names, or else failure-artifacts."

    static let bundle = Syntax.Positional("BUNDLE", isArtifacts: true, help: bundleHelp + defaultHelp)

    /// A bundle whose omission would make the other arguments ambiguous.
    static let neededBundle = Syntax.Positional("BUNDLE", help: bundleHelp)

    private static let pathHelp = "A bundle, a directory of bundles, or a zip of bundles."

    static let paths = Syntax.Positional(
        "PATH", isRepeated: true, isArtifacts: true, help: pathHelp + defaultHelp)

    static let neededPaths = Syntax.Positional("PATH", isRepeated: true, help: pathHelp)
}
