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
            Syntax.Option(
                "--output", short: "-o", value: "DIR",
                help:
                    "A directory that is empty or doesn't exist; with --fixture, any directory. By default, the "
                    + "bundle's name without .zip, in the working directory."),
            .commit, .store,
            Syntax.Option(
                "--fixture",
                help:
                    "Write the store as it was before the transaction that broke it, and the source of a test that "
                    + "starts with it."),
            Syntax.Option(
                "--framework", value: "NAME",
                help:
                    "The test framework of the fixture: xctest or testing. By default, the framework of the failed test."
            ),
            Syntax.Option(
                "--store-type", value: "TYPE",
                help:
                    "The type that opens the fixture's store: SQLiteTestStore, DatabaseQueue, DatabasePool, or your "
                    + "own type that conforms to TestStore. By default, the one that the failed test used."
            ),
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
            those that the best finding of 'explain' names, and those that they refer to. With --at, or without such \
            a finding, it contains all rows. The test fails until you complete it.
            """)

    private let path: String
    private let output: String?
    private let commit: CommitReference?
    private let store: String?
    private let isFixture: Bool
    private var fixture = FixtureFiles.Options()
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        path = arguments.positionals[0]
        output = arguments.value(of: "--output")
        isJSON = arguments.has("--json")
        commit = try arguments.commit(Self.syntax)
        store = arguments.value(of: "--store")
        isFixture = arguments.has("--fixture")
        guard store == nil || commit != nil || isFixture else {
            throw Self.syntax.usageError(
                "'--store' goes with '--at' or '--fixture': without them all files are written.")
        }
        fixture.store = store
        fixture.commit = commit
        fixture.isWhole = arguments.has("--whole")
        fixture.framework = try arguments.value(of: "--framework").map { name in
            if let framework = FixtureTest.Framework(rawValue: name) { return framework }
            throw Self.syntax.valueError("--framework", name, needs: "'xctest' or 'testing'")
        }
        fixture.storeType = try arguments.value(of: "--store-type").map { name in
            if let type = FixtureStoreType(named: name) { return type }
            throw Self.syntax.valueError("--store-type", name, needs: "the name of a type")
        }
        for option in ["--framework", "--store-type", "--whole"]
        where arguments.has(option) && !isFixture {
            throw Self.syntax.usageError("'\(option)' goes with '--fixture'.")
        }
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let directory = output ?? Path.stem(of: bundle.location.name)
            if isFixture {
                let files = FixtureFiles(options: fixture, console: console)
                try files.write(of: bundle, to: directory, scratch: scratch) { path in
                    try report(path, size: FileSystem.status(of: path)?.size ?? 0, console)
                }
                return .done
            }
            if let commit {
                try write(
                    try bundle.store(named: store), at: commit, of: bundle, to: directory,
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
            try console.output.writeLine(JSONText.line(Written(path: file, bytes: size)))
        } else {
            try console.output.writeLine(SafeText.line(file))
        }
    }

    private struct Written: Encodable {
        var path: String
        var bytes: UInt64
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
        let parts = withoutSlash(entry.name).split(separator: "/", omittingEmptySubsequences: false)
        guard !parts.contains(where: { $0.isEmpty || $0 == "." || $0 == ".." }) else {
            throw BundleError(
                bundle.description,
                .archive(ZipError(archive: bundle.description, entry: entry.name, reason: .unsafeName)))
        }
    }

    private static func withoutSlash(_ name: String) -> String {
        name.hasSuffix("/") ? String(name.dropLast()) : name
    }
}
