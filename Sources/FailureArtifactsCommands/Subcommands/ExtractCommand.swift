internal import FailureArtifactsBundle
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

/// `extract`: the files of a bundle.
struct ExtractCommand: Command {
    static let syntax = Syntax(
        command: "extract", summary: "Write a bundle's files into a directory", positionals: [.bundle],
        options: [
            Syntax.Option(
                "--output", short: "-o", value: "DIR",
                help:
                    "A directory that is empty or does not exist. By default the bundle's name without "
                    + ".zip, in the working directory."),
            .commit, .store, .json("One object a line: path, bytes."),
        ],
        discussion: """
            Prints the path of each file. Nothing is ever written over or outside of DIR.

            With --at the only file is the store as it was at that commit, such as ledger.at-2.sqlite.
            """)

    private let path: String
    private let output: String?
    private let commit: CommitReference?
    private let store: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        path = arguments.positionals[0]
        output = arguments.value(of: "--output")
        isJSON = arguments.has("--json")
        guard output != "" else { throw Self.syntax.usageError("'-o' needs a directory.") }
        commit = try arguments.commit(Self.syntax)
        store = arguments.value(of: "--store")
        guard store == nil || commit != nil else {
            throw Self.syntax.usageError("'--store' goes with '--at': without it all files are written.")
        }
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, scratch in
            let directory = output ?? Path.stem(of: bundle.location.name)
            if let commit {
                try write(
                    try bundle.store(named: store), at: commit, of: bundle, to: directory,
                    scratch: scratch, console)
                return .done
            }
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
            return .done
        }
    }

    /// Writes one store as it was.
    private func write(
        _ choice: StoreChoice, at commit: CommitReference, of bundle: BundleReader, to directory: String,
        scratch: String, _ console: Console
    ) throws {
        let history = try bundle.extractHistory(of: choice, below: scratch)
        let state = try history.state(of: commit)
        try prepare(directory)
        let file = Path.join(directory, history.name(of: state) + ".sqlite")
        let size = try FileSystem.status(of: history.rebuild(state, to: file))?.size ?? 0
        try report(file, size: size, console)
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

    /// Makes sure that there is an empty directory.
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
        try FileSystem.createDirectory(directory, permissions: 0o777)
    }

    /// The archive's reader refuses such names already; here is where they would do harm.
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
