internal import FailureArtifactsBundle
@testable internal import FailureArtifactsCommands
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

extension FuzzTarget {
    /// An archive, as every command reads it.
    static let bundle = FuzzTarget("bundle", seeds: Seeds.bundles) { bytes, scratch in
        let path = try scratch.write(bytes, to: "a.zip")
        guard (try? ZipArchive(path: path)) != nil else {
            Tool.run(["list", path])
            return
        }
        Tool.runAll(path, scratch)
    }

    /// A `metadata.json`, of a bundle whose other entries are good.
    static let metadata = FuzzTarget("metadata", seeds: Seeds.descriptions) { bytes, scratch in
        let metadata = try BundleMetadata(json: bytes, of: "a.zip")
        let again = try BundleMetadata(json: metadata.json(), of: "a.zip")
        require(again == metadata, "What was read is not what is written.")
        var entries = try Seeds.entries()
        entries[0].bytes = bytes
        Tool.runAll(try Seeds.write(entries, to: scratch.path("a.zip")), scratch)
    }

    /// A log of statements, of a bundle with a history.
    static let statements = FuzzTarget("statements", seeds: Seeds.statements) { bytes, scratch in
        guard StatementRecord.records(in: bytes) != nil else { return }
        var entries = try Seeds.entries()
        for index in entries.indices where entries[index].name.hasPrefix("statements/") {
            entries[index].bytes = bytes
        }
        let path = try Seeds.write(entries, to: scratch.path("a.zip"))
        for command in ["show", "history"] { Tool.run([command, path]) }
        Tool.run(["report", path, "-o", "-"])
    }
}

/// The commands, inside of this process.
enum Tool {
    static func run(_ arguments: [String]) {
        var errors: [UInt8] = []
        let console = Console(
            output: TextOutput(terminal: nil) { (_) throws(SystemError) in },
            error: TextOutput(terminal: nil) { (bytes) throws(SystemError) in
                errors.append(contentsOf: bytes)
            },
            environment: ["TMPDIR": Scratch.current.directory, "PATH": "/nowhere"])
        let code = CommandLineTool.run(arguments, console: console)
        require(
            code == .done || code == .found || !errors.isEmpty,
            "'\(arguments[0])' failed without a word.")
        require(
            !errors.contains { $0 < 0x20 && $0 != 0x0A }, "'\(arguments[0])' printed control characters."
        )
    }

    static func runAll(_ path: String, _ scratch: Scratch) {
        run(["list", path])
        run(["list", path, "--json"])
        run(["show", path])
        run(["show", path, "--json"])
        run(["verify", path])
        run(["history", path])
        run(["diff", path])
        run(["diff", path, "--at", "0", "--sql"])
        run(["query", path, "SELECT * FROM sqlite_master"])
        run(["extract", path, "-o", scratch.path("out/files")])
        run(["extract", path, "--fixture", "--at", "-2", "-o", scratch.path("out/fixture")])
        run(["report", path, "-o", "-"])
        for name in (try? FileSystem.contents(ofDirectory: scratch.directory)) ?? [] {
            require(name == "a.zip" || name == "out", "'\(name)' is outside of the output directory.")
        }
        for name in (try? FileSystem.contents(ofDirectory: scratch.path("out"))) ?? [] {
            require(
                name == "files" || name == "fixture", "'\(name)' is outside of the output directory.")
        }
    }
}
