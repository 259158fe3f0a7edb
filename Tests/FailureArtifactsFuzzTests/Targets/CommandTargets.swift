internal import FailureArtifactsAnalysis
internal import FailureArtifactsBundle
@testable internal import FailureArtifactsCommands
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem
internal import FailureArtifactsZip

extension FuzzTarget {
    /// Reads an archive with every command.
    static let bundle = FuzzTarget("bundle", seeds: Seeds.bundles) { bytes, scratch in
        let path = try scratch.write(bytes, to: "a.zip")
        guard (try? ZipArchive(path: path)) != nil else {
            Tool.run(["list", path])
            return
        }
        Tool.runAll(path, scratch)
        guard let locations = try? BundleLocation.all(inFile: path), locations.count > 1 else {
            return
        }
        try? FileSystem.remove(scratch.path("out"))
        Tool.runAll(locations[locations.count - 1].description, scratch)
    }

    /// Reads the `metadata.json` of a bundle whose other entries are valid.
    static let metadata = FuzzTarget("metadata", seeds: Seeds.descriptions) { bytes, scratch in
        let metadata = try BundleMetadata(json: bytes, of: "a.zip")
        let again = try BundleMetadata(json: metadata.json(), of: "a.zip")
        require(again == metadata, "The metadata differs after writing and reading it again.")
        let entries = try Seeds.entries(described: bytes)
        Tool.runAll(try Seeds.write(entries, to: scratch.path("a.zip")), scratch)
    }

    /// Reads a statement log of a bundle with a history.
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

    /// Reads the last passing runs of a bundle's test, and compares them with the failing one.
    static let baseline = FuzzTarget("baseline", seeds: Seeds.baselines) { bytes, scratch in
        guard let versions = Baseline.versions(in: bytes) else { return }
        require(
            Baseline.versions(in: Baseline.lines(of: versions)) == versions,
            "The runs differ after writing and reading them again.")
        let entries = try Seeds.entries() + [Seeds.Entry(name: Baseline.entry, bytes: bytes)]
        let path = try Seeds.write(entries, to: scratch.path("a.zip"))
        Tool.run(["verify", path])
        Tool.run(["explain", path, "--all"])
        Tool.run(["diff", "--baseline", "--json", path])
        for command in ["report", "summary"] { Tool.run([command, path, "-o", "-"]) }
        Tool.run(["junit", path])
    }
}

/// Runs the commands in this process.
enum Tool {
    @discardableResult static func run(_ arguments: [String]) -> ExitCode {
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
        return code
    }

    static func runAll(_ path: String, _ scratch: Scratch) {
        run(["list", path])
        run(["list", path, "--json"])
        run(["show", path])
        run(["show", path, "--json"])
        let isGood = run(["verify", path]) == .done
        run(["history", path])
        run(["diff", path])
        run(["diff", path, "--at", "0", "--sql"])
        run(["query", path, "SELECT * FROM sqlite_master"])
        run(["extract", path, "-o", scratch.path("out/files")])
        run(["extract", path, "--fixture", "--at", "-2", "-o", scratch.path("out/fixture")])
        run(["report", path, "-o", "-"])
        run(["junit", path])
        run(["summary", path, "-o", "-"])
        let merged = scratch.path("out/merged")
        if run(["merge", path, "-o", merged]) == .done, isGood {
            require(run(["verify", merged]) == .done, "'merge' makes a good bundle unreadable.")
        }
        for name in (try? FileSystem.contents(ofDirectory: scratch.directory)) ?? [] {
            require(
                ["a.zip", "out"].contains(name),
                "'\(name)' is outside of the output directory.")
        }
        for name in (try? FileSystem.contents(ofDirectory: scratch.path("out"))) ?? [] {
            require(
                ["files", "fixture", "merged"].contains(name),
                "'\(name)' is outside of the output directory.")
        }
    }
}
