internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsReport
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

struct ExtractCommand: Command {
    static let syntax = Syntax(
        command: "extract", summary: "Write a bundle's files into a directory", positionals: [.bundle],
        options: [
            .output(
                "A directory that is empty or doesn't exist; with --fixture, any directory. By default, the bundle's "
                    + "name without .zip, in the working directory.", value: "DIR"),
            .commit, .store,
            Syntax.Option(
                "--fixture",
                help:
                    "Write the store as it was before the transaction that broke it, and the source of a test that "
                    + "starts with it."),
            Syntax.Option(
                "--whole",
                help: "Keep all rows in the fixture, not only those that the failure needs."),
            .json("Print one JSON object per line, with the keys path and bytes."), .timeLimit,
            .noLimits,
        ],
        discussion: """
            Prints the path of each file. Existing files are never overwritten, and nothing is written outside of \
            DIR.

            With --at, only the store is written, in that state, to a file such as ledger.at-2.sqlite.

            With --fixture, a Swift file is written, and a store in the directory Fixtures, as SQL if it is small. DIR \
            can be the directory of a test target. The store contains only the rows that the transaction changed, \
            those that the best finding of 'explain' names, those of the tables that the failing query reads, and \
            those that they refer to. With --at, or without such a finding, it contains all rows. The test runs the \
            recorded statements of the transaction, and fails at what the failed test expected of the query.
            """)

    let arguments: ParsedArguments

    private var isFixture: Bool { arguments.has("--fixture") }

    func run(_ console: Console) throws -> ExitCode {
        let state = try state()
        guard store == nil || state != nil || isFixture else {
            throw Self.syntax.usageError(
                "'--store' goes with '--at' or '--fixture': without them all files are written.")
        }
        guard isFixture || !arguments.has("--whole") else {
            throw Self.syntax.usageError("'--whole' goes with '--fixture'.")
        }
        return try console.withBundle(at: path) { bundle, scratch in
            let directory =
                arguments.value(of: "--output")
                ?? SafeName.make(from: Path.stem(of: bundle.location.name), maximumBytes: 200)
            if isFixture {
                let files = FixtureFiles(
                    store: store, state: state, isWhole: arguments.has("--whole"), console: console)
                try files.write(of: bundle, to: directory, scratch: scratch) { path in
                    try report(path, size: FileSystem.status(of: path)?.size ?? 0, console)
                }
                return .done
            }
            if let state {
                try write(
                    try bundle.store(named: store), at: state, of: bundle, to: directory,
                    scratch: scratch, console)
                return .done
            }
            try bundle.archive.checkTotalSize()
            try prepare(directory)
            for entry in bundle.archive.entries {
                try Self.check(entry, of: bundle.location)
                let file = Path.join(directory, entry.name)
                guard !entry.isDirectory else {
                    try FileSystem.createDirectory(Self.withoutSlash(file), permissions: 0o777)
                    continue
                }
                try FileSystem.createDirectory(Path.directory(of: file), permissions: 0o777)
                try bundle.archive.extract(entry, toNewFile: file)
                try report(file, size: entry.size, console)
            }
            // Missing shared entries are reported after the other files are written. `verify` reports other missing
            // entries.
            for entry in bundle.metadata.entries where bundle.metadata.sharedEntry(named: entry) != nil {
                _ = try bundle.entry(named: entry)
            }
            return .done
        }
    }

    private func write(
        _ choice: StoreChoice, at commit: CommitReference, of bundle: BundleReader, to directory: String,
        scratch: String, _ console: Console
    ) throws {
        let history = try bundle.extractHistory(of: choice, below: scratch)
        let state = try history.state(of: commit)
        try prepare(directory)
        let file = Path.join(directory, history.name(of: state) + ".sqlite")
        try WholeFile.create(file) { _ = try history.rebuild(state, to: $0) }
        try report(file, size: FileSystem.status(of: file)?.size ?? 0, console)
    }

    private func report(_ file: String, size: UInt64, _ console: Console) throws {
        if isJSON {
            try console.output.writeLine(JSONText.line(["path": file, "bytes": size] as JSONObject))
        } else {
            try console.output.writeLine(SafeText.line(file))
        }
    }

    private func prepare(_ directory: String) throws {
        if let status = try FileSystem.status(of: directory) {
            guard status.kind == .directory else {
                throw CommandError(
                    .usage,
                    "'\(directory)' is a file, and the bundle's files need a directory: choose one with -o."
                )
            }
            guard try FileSystem.contents(ofDirectory: directory).isEmpty else {
                throw CommandError(
                    .usage,
                    "'\(directory)' is not empty, and nothing in it is to be written over: empty it, or "
                        + "choose another directory with -o.")
            }
        }
        try WholeFile.createDirectory(directory)
    }

    /// Rejects unsafe names that the archive reader should already have rejected; the second check is here because the
    /// names become paths of written files.
    private static func check(_ entry: ZipEntry, of bundle: BundleLocation) throws {
        let parts = withoutSlash(entry.name).utf8.split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard !parts.contains(where: { ["", ".", ".."].contains(Substring($0)) }) else {
            throw BundleError(
                bundle.description,
                .archive(ZipError(archive: bundle.description, entry: entry.name, reason: .unsafeName)))
        }
    }

    private static func withoutSlash(_ name: String) -> String {
        name.hasSuffix("/") ? String(name.dropLast()) : name
    }
}

/// Writes a store, and the source of a test that starts with it.
struct FixtureFiles {
    /// The maximum size of a script, in bytes; a larger store is written as a database.
    private static let scriptLimit = 64 << 10

    let store: String?
    /// The state; nil for the one before the transaction that broke the store.
    let state: CommitReference?
    let isWhole: Bool
    let console: Console

    func write(
        of bundle: BundleReader, to directory: String, scratch: String,
        report: (String) throws -> Void
    ) throws {
        let metadata = bundle.metadata
        var plan = self.state == nil ? try plan(bundle, scratch: scratch) : nil
        let choice = try bundle.store(named: plan?.store.name ?? store)
        let copy: String
        var notes: [String] = []
        var state = metadata.outcome == .passed ? "at the test's end" : "at the failure"
        if var found = plan {
            (copy, notes, state) = try prepare(&found, in: bundle, scratch: scratch)
            plan = found
        } else {
            let file = try bundle.extract(choice, at: self.state, below: scratch)
            copy = file.path
            if let number = file.state { state = number.description }
        }
        if let redactions = choice.store.redactions, !redactions.isEmpty {
            let note = "The store was redacted: \(redactions.joined(separator: ", "))."
            notes.append(note)
            try console.warn(note)
        }
        let log = (try? bundle.statements(of: choice.store)) ?? []
        var test = FixtureTest(
            storeType: FixtureStoreType(of: choice.store.inspected(copyAt: copy) ?? choice.store, log),
            test: metadata.test, failure: metadata.failures.first, state: state,
            outcome: metadata.outcome, plan: plan, notes: notes)

        let script = try StoreScript.bytes(
            of: copy, limits: console.limits.store, maximum: Self.scriptLimit, checksForeignKeys: true)
        if script != nil { test.fileExtension = "sql" }
        let resources = Path.join(directory, FixtureTest.directory)
        let file = Path.join(resources, test.storeFile)
        let source = Path.join(directory, test.fileName)
        for path in [file, source] { try WholeFile.checkNew(path, choice: "directory") }
        try WholeFile.create(file) { part in
            if let script {
                try FileSystem.write(script, toNewFile: part)
            } else {
                try FileSystem.copy(copy, toNewFile: part)
            }
        }
        try report(file)
        try WholeFile.create(source) { try FileSystem.write(Array(test.source.utf8), toNewFile: $0) }
        try report(source)
        explain(plan)
    }

    private func plan(_ bundle: BundleReader, scratch: String) throws -> FixturePlan? {
        let invariants = try console.invariants(in: nil)
        let evidence = FailureEvidence(
            bundle, scratch: scratch, checking: invariants, limits: console.limits.store)
        let explanation = Explanation(evidence, bundle: bundle.location.description)
        return FixturePlan(evidence, explanation, store: store)
    }

    /// Extracts the store before the transaction, and leaves out rows.
    private func prepare(
        _ plan: inout FixturePlan, in bundle: BundleReader, scratch: String
    ) throws -> (path: String, notes: [String], state: String) {
        let limits = console.limits.store
        let (before, after) = try plan.states(in: bundle, below: scratch)
        let total = try StoreReduction.size(of: before, limits: limits).rowCount
        var notes: [String] = []
        plan.verify(before, after: after, limits: limits)
        if !isWhole, total > 0, plan.culprit.changeCount > 0 {
            if try plan.slice(before, after: after, limits: limits) {
                let count = try StoreReduction.size(of: before, limits: limits).rowCount
                if count < total {
                    notes.append(
                        "It has \(count) of \(Counted.items(Int64(total), "row")): those that the test needs. "
                            + "'extract --fixture --whole' keeps all.")
                }
            } else {
                try console.warn("All rows are kept, because some can't be left out safely.")
            }
        }
        return (before, notes, plan.state)
    }

    private func explain(_ plan: FixturePlan?) {
        if let plan {
            console.say(plan.summary)
        } else if state == nil {
            console.say(
                "The transaction that broke the store is unknown, so the test starts with the store at the failure."
            )
        }
        console.say("Move the files into a test target, and add these lines to it in Package.swift:")
        console.say(
            "    dependencies: [.product(name: \"FailureArtifactsTestKit\", package: \"failure-artifacts\")],"
        )
        console.say("    resources: [.copy(\"\(FixtureTest.directory)\")]")
        console.say(
            plan?.run == nil
                ? "The test fails until it is completed; its comments say how."
                : "The test fails because of the bug; its comments say where to call your code.")
    }
}
