internal import FailureArtifactsBundle
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
            .json("One object a line: path, bytes."),
        ],
        discussion: "Prints the path of each file. Nothing is ever written over or outside of DIR.")

    private let path: String
    private let output: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws {
        path = arguments.positionals[0]
        output = arguments.value(of: "--output")
        isJSON = arguments.has("--json")
        guard output != "" else { throw Self.syntax.usageError("'-o' needs a directory.") }
    }

    func run(_ console: Console) throws -> ExitCode {
        try console.withBundle(at: path) { bundle, _ in
            let directory = output ?? Path.stem(of: bundle.location.name)
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
                if isJSON {
                    try console.output.writeLine(JSONText.line(Written(path: file, bytes: entry.size)))
                } else {
                    try console.output.writeLine(SafeText.line(file))
                }
            }
            return .done
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
