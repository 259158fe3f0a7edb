internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

struct DiffCommand: Command {
    static let syntax = Syntax(
        command: "diff", summary: "Compare two stores: schema and rows",
        positionals: [
            Syntax.Positional(
                "A", isArtifacts: true,
                help:
                    "The store to compare: a bundle, named and by default chosen as for other commands, or a SQLite "
                    + "database."),
            Syntax.Positional(
                "B", isOptional: true,
                help:
                    "The store to compare it with. Without B, two states of A are compared: those that --store or "
                    + "--at names; else the test's last snapshot and the state at the failure; else the committed "
                    + "state and the test's own inside its transaction; else those before and after the last "
                    + "transaction."
            ),
        ],
        options: [
            Syntax.Option(
                "--store", value: "NAME",
                help:
                    "The store of a bundle, as for 'query'. Given twice, the first is for A and the second for B. "
                    + "By default, the first store of A, and the store of the same name in B."),
            Syntax.Option(
                "--at", value: "N",
                help:
                    "A state of the store's history, as for 'query'. Given twice, the first is for A and the second "
                    + "for B. Without B, two states of one store are compared; the second is by default the one at "
                    + "the failure."),
            Syntax.Option(
                "--baseline",
                help:
                    "List the statements of a failed test, A, that differ from those of its last passing run, which is "
                    + "in its bundle, or from those of the bundle B."),
            Syntax.Option("--all", help: "Show all rows. By default, the first 100 of each table."),
            .json(
                "Print a JSON object: a, b, schema, tables (with the changes of all rows), equal; with --baseline: "
                    + "differences, which are like the findings of 'explain', and equal."),
            .timeLimit, .noLimits,
        ],
        discussion: """
            Rows are matched by primary key, or by rowid if there is no key or it contains NULL. A line begins \
            with + for a row that only B has, - for one that only A has, and ~ for one that differs. 1, 1.0 and \
            '1' are different values. The statistics of ANALYZE are not compared.

            The rows of a Core Data store are shown as objects, such as Fruit with its attributes, references such \
            as Basket/p2, and dates in UTC. Z_OPT, which counts the changes of an object, is left out.

            In JSON, texts and BLOBs of more than 4096 bytes are cut; "bytes" is their full size.

            The exit status is 0 if there is no difference, and 1 if there is one.
            """)

    let arguments: ParsedArguments

    func run(_ console: Console) throws -> ExitCode {
        if arguments.has("--baseline") { return try compareWithBaseline(console) }
        return try console.withScratchDirectory { scratch in
            let (a, b, note) = try Self.sides(
                arguments.positionals, stores: arguments.values(of: "--store"), commits: try states(),
                scratch: scratch, console)
            if let note { try console.warn(note) }
            let comparison = try StoreComparison(a: a.file, b: b.file, limits: console.limits.store)
            let coreData = CoreDataChanges(from: a.file, to: b.file, limits: console.limits.store)
            let isEqual =
                isJSON
                ? try DiffJSON(output: console.output, coreData: coreData).write(comparison, a, b)
                : try DiffText(
                    output: console.output, rowLimit: arguments.has("--all") ? nil : 100,
                    coreData: coreData
                ).write(comparison, a, b)
            return isEqual ? .done : .found
        }
    }
}

extension DiffCommand {
    /// Lists the differences of a failing test's statements from those of a passing run.
    private func compareWithBaseline(_ console: Console) throws -> ExitCode {
        if let option = ["--store", "--at"].first(where: { arguments.value(of: $0) != nil }) {
            throw Self.syntax.usageError(
                "'\(option)' doesn't go with '--baseline', which is about all stores.")
        }
        let (path, other) = (arguments.positionals[0], arguments.positionals.dropFirst().first)
        return try console.withBundle(at: path, listingOthersFor: Self.syntax.command) {
            bundle, scratch in
            let evidence = FailureEvidence(bundle, scratch: scratch, limits: console.limits.store)
            if let other {
                let location = try console.choose(
                    at: other, scratch: scratch, passOf: bundle.metadata.test
                ).location
                let passing = try BundleReader(
                    location, scratchDirectory: scratch, limits: console.limits.archive)
                let directory = Path.join(scratch, "passing")
                try FileSystem.createDirectory(directory)
                evidence.passing = FailureEvidence(
                    passing, scratch: directory, limits: console.limits.store)
            }
            guard
                let differences = Explanation(evidence, bundle: bundle.location.description).differences
            else {
                throw CommandError(
                    .usage,
                    "'\(bundle.location)' has no statements of a passing run. Pass a bundle of one as B."
                )
            }
            if isJSON {
                let document = BaselineDocument(differences: differences)
                try console.output.writeLine(JSONText.pretty(document))
            } else {
                let text = FindingText(isAll: true, output: console.output)
                for (index, difference) in differences.enumerated() {
                    let lines = text.lines(difference, number: index + 1)
                    for line in lines { try console.output.writeLine(line) }
                }
            }
            return differences.isEmpty ? .done : .found
        }
    }
}

private struct BaselineDocument: JSONDocument {
    let differences: [Finding]

    var json: JSONObject { ["differences": differences, "equal": differences.isEmpty] }
}

extension Console {
    fileprivate func comparedSource(at path: String, scratch: String) throws -> ComparedSource {
        if let database = try ComparedSource(databaseAt: path) { return database }
        let location = try choose(at: path, scratch: scratch).location
        return .bundle(
            try BundleReader(location, scratchDirectory: scratch, limits: limits.archive))
    }
}

extension DiffCommand {
    private static func sides(
        _ paths: [String], stores: [String], commits: [CommitReference], scratch: String,
        _ console: Console
    ) throws -> (a: ComparedSide, b: ComparedSide, note: String?) {
        for (option, count) in [("--at", commits.count), ("--store", stores.count)] where count > 2 {
            throw syntax.usageError("'\(option)' was given \(count) times, and there are two stores.")
        }
        let first = try console.comparedSource(at: paths[0], scratch: scratch)
        guard paths.count > 1 else {
            return try sides(
                within: first, stores: stores, commits: commits, scratch: scratch, console)
        }
        let second = try console.comparedSource(at: paths[1], scratch: scratch)
        let bundles = [first, second].count(where: \.isBundle)
        for (option, noun, count) in [
            ("--store", "store", stores.count), ("--at", "state of a store", commits.count),
        ] where count > bundles {
            throw syntax.usageError(
                "'\(option)' names a \(noun) of a bundle, and '\(option)' was given more often than bundles."
            )
        }
        let a = try first.side(
            stores.first, at: first.isBundle ? commits.first : nil, scratch: scratch)
        // Two bundles usually have stores with the same names.
        let name =
            stores.count > 1
            ? stores[1] : a.store.flatMap { second.counterpart(of: $0, in: first) } ?? stores.first
        let isSecond = commits.count == 2 || !first.isBundle
        return (a, try second.side(name, at: isSecond ? commits.last : nil, scratch: scratch), nil)
    }

    /// Returns two stores or two states of one bundle.
    private static func sides(
        within source: ComparedSource, stores: [String], commits: [CommitReference], scratch: String,
        _ console: Console
    ) throws -> (a: ComparedSide, b: ComparedSide, note: String?) {
        guard case .bundle(let bundle) = source else {
            throw syntax.usageError("'\(source.path)' is a database: B is missing.")
        }
        if let first = commits.first {
            return (
                try source.side(stores.first, at: first, scratch: scratch),
                try source.side(
                    stores.last, at: commits.count == 2 ? commits[1] : .last, scratch: scratch),
                nil
            )
        }
        if stores.count == 2 {
            return (
                try source.side(stores[0], at: nil, scratch: scratch),
                try source.side(stores[1], at: nil, scratch: scratch), nil
            )
        }
        return try defaultSides(
            of: bundle, source, store: stores.first, scratch: scratch, console)
    }

    /// Returns the two states of a store that say most about the failure.
    ///
    /// - `name`: the name of the store; nil for the first one with two states.
    private static func defaultSides(
        of bundle: BundleReader, _ source: ComparedSource, store name: String?, scratch: String,
        _ console: Console
    ) throws -> (a: ComparedSide, b: ComparedSide, note: String?) {
        let (metadata, choices) = (bundle.metadata, bundle.metadata.storeChoices)
        let candidates = try name.map { [try bundle.store(named: $0)] } ?? choices
        func side(_ name: String, at state: CommitReference? = nil) throws -> ComparedSide {
            try source.side(name, at: state, scratch: scratch)
        }
        for store in candidates {
            guard let (snapshot, earlier) = store.snapshot(in: metadata) else { continue }
            console.say(
                SafeText.line(
                    "Compared with the test's last snapshot of \(store.name), '\(snapshot.label)' at "
                        + "\(LocalTime.text(snapshot.at))."))
            return (try side(earlier.name), try side(store.name), nil)
        }
        for store in candidates {
            guard let committed = store.committed(among: choices) else { continue }
            return (try side(committed.name), try side(store.name), nil)
        }
        let last = candidates.first { $0.store.history?.entry != nil }
        if let last, let before = CommitReference("-2"), let a = try? side(last.name, at: before) {
            return (
                a, try side(last.name, at: .last),
                "There is nothing else to compare, so this is the last transaction of \(last.name)."
            )
        }
        throw CommandError(
            .usage,
            "'\(source.path)' has nothing to compare: no transaction was open in "
                + (name.map { "the store '\($0)'" } ?? "any store")
                + ", the test asked for no snapshot, and there is no history. Name two stores with --store, or a second bundle."
        )
    }
}
